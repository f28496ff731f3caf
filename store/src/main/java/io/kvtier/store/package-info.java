/**
 * What a user of the store sees: {@link io.kvtier.store.Store}, keys, options, outcomes, statistics and errors.
 *
 * <p>Nothing here moves a byte or knows a thread. Expected outcomes (a miss, a full store) are values; broken things
 * are {@link io.kvtier.store.StoreException}s. Every type is immutable, or says otherwise.
 */
package io.kvtier.store;
