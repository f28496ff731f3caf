/**
 * Gets: which replica is read, and whether what came is what was asked for.
 *
 * <p>How bytes come from a replica is that tier's. Stateless; on the caller's thread, which blocks.
 */
package io.kvtier.store.client.read;
