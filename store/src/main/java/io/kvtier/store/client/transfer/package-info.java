/**
 * Bytes on their way: between a caller's memory and replicas, over segments that others lend, through staging memory
 * where a transfer cannot take the memory as it is.
 *
 * <p>What a value is, where it lies and whether it is the right one is decided above. A
 * {@link io.kvtier.store.client.transfer.Move} is of the thread that began it; what hands out memory or segments is
 * thread-safe.
 */
package io.kvtier.store.client.transfer;
