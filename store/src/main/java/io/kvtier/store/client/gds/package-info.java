/**
 * A client's own file for GDS replicas: room, puts into it, reads out of it, and what is told to the master about it.
 *
 * <p>What is in the file is the storage manager's, in {@code store.storage}. Thread-safe, but a read or write is of one
 * thread; {@code kvtier-gds} frees, asks and tells.
 */
package io.kvtier.store.client.gds;
