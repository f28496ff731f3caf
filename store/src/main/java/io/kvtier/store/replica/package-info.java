/**
 * Replicas: their kinds with stable numbers, their life cycle, the descriptors that say how to reach one, and the one
 * function that decides which is read.
 *
 * <p>Immutable data and pure functions; nothing here reads a byte of a value.
 */
package io.kvtier.store.replica;
