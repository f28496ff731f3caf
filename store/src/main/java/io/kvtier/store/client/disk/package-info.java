/**
 * A client's own disk: offered to the master, read, copied down to, and kept in step with what the master says.
 *
 * <p>What lies where on it is the backend's, in {@code store.storage}. Thread-safe; a read is of one thread and blocks
 * on the disk at its end.
 */
package io.kvtier.store.client.disk;
