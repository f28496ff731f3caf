/**
 * The disk that all clients mount, as one of them uses it: it says so to the master, reads by itself, and writes what
 * it is given pages for.
 *
 * <p>Files and file systems are those of {@code store.storage.shared}; who calls for a write is in {@code work}. Reads
 * from any thread, on the caller's.
 */
package io.kvtier.store.client.shared;
