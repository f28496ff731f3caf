/**
 * What every call of a store needs, whatever it moves: counting, batching, waiting, refusing.
 *
 * <p>No bytes, no replicas, no threads. Thread-safe throughout; only {@link io.kvtier.store.client.call.Pressure} and
 * {@link io.kvtier.store.client.call.WorkSignal} block, and say so.
 */
package io.kvtier.store.client.call;
