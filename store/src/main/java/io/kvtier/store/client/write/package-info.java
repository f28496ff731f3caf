/**
 * Puts: room from the master, the bytes to all of their places at the same time, and how it ended.
 *
 * <p>How bytes get to a place is that tier's. Thread-safe; on the caller's thread, which blocks.
 */
package io.kvtier.store.client.write;
