/**
 * Files to and from GPU memory by GPUDirect Storage: batches of cuFile, or its synchronous calls on some threads.
 *
 * <p>The transport owns the driver's share, the files' registrations, the registrations of memory, and the threads that
 * call the library: each has its CUDA context entered for its life, and a batch never leaves the thread that made it.
 * What cuFile's calls mean and how they fail is known in {@code io.kvtier.bindings.cufile}; what is policy (how many
 * entries, which thread, when to cancel) is here.
 */
package io.kvtier.transport.gds;
