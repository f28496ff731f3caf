/**
 * Memory of other processes of this host, by mapping it: copies on the calling thread. Nothing here blocks.
 */
package io.kvtier.transport.shm;
