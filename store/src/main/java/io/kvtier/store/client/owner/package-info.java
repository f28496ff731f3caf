/**
 * Reads through the client that has a value on its disk or in its file: both sides, and the protocol between them.
 *
 * <p>How the owner reads is behind {@link io.kvtier.store.client.owner.OwnerEndpoint.Values}. Thread-safe; one virtual
 * thread a call on the owner's side.
 */
package io.kvtier.store.client.owner;
