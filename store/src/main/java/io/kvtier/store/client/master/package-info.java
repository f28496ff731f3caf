/**
 * The conversation with the master: the connection, the pings, the starts of puts and their waiting for room.
 *
 * <p>What the master answers about is done elsewhere. Thread-safe; calls block on the master. {@code kvtier-ping} is
 * here.
 */
package io.kvtier.store.client.master;
