/**
 * Copies by a GPU, for the transports that need them: its streams, the threads that wait for them, and which memory is
 * of which GPU. A simulation stands behind the same interfaces.
 */
package io.kvtier.transport.device;
