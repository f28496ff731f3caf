/**
 * Copies between memory regions of this process: of host memory on the calling thread, without blocking; to, from and
 * within memory of a GPU on threads of the transport, each with a stream.
 */
package io.kvtier.transport.memory;
