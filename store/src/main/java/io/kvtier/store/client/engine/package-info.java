/**
 * What a client opens by its settings and by what it finds on this host: engines with their transports, shared memory,
 * the server of its memory.
 *
 * <p>Nothing here knows a value or the master. Thread-safe; an engine belongs to whoever asked for it, and is closed
 * there.
 */
package io.kvtier.store.client.engine;
