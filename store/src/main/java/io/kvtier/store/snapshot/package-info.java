/**
 * What a snapshot of a master consists of: immutable records, which the state hands out and is restored from.
 * {@code io.kvtier.store.snapshot.files} writes and reads them.
 */
package io.kvtier.store.snapshot;
