/**
 * The transfer engine's public shape, and the contract of a transport.
 *
 * <p>{@link io.kvtier.transport.TransferEngine} opens segments and accepts requests; a
 * {@link io.kvtier.transport.Transport} moves slices between memory and the segments it serves. Transports live in
 * packages of their own, are handed to the engine when it is opened, and see nothing but this package. Everything
 * public is thread-safe. Blocking system calls run on platform threads that the engine owns
 * ({@link io.kvtier.transport.IoThreads}), so that virtual threads may call and park.
 */
package io.kvtier.transport;
