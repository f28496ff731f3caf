/**
 * io_uring from raw system calls: {@link io.kvtier.bindings.uring.Uring} says whether this kernel gives it, and
 * {@link io.kvtier.bindings.uring.UringRing} owns one instance.
 *
 * <p>What belongs here is the protocol with the kernel: queues, tokens, registered files and buffers, and what to do
 * when a submission fails half way. What does not: cutting large transfers, going on after a short one, bouncing
 * unaligned tails, threads. Numeric offsets live in one class ({@code UringLayout}) and the boundary to the kernel in
 * one interface ({@code UringKernel}), so that a test can be the kernel.
 *
 * <p>A ring belongs to the platform thread that opened it; only {@link io.kvtier.bindings.uring.UringRing#wakeup()}
 * may be called by others.
 */
package io.kvtier.bindings.uring;
