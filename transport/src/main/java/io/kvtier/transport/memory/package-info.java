/**
 * Copies between memory regions of this process, on the calling thread. Nothing here blocks.
 */
package io.kvtier.transport.memory;
