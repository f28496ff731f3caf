/**
 * What the master gives a client to do: waiting for it, copying down, copying up, copying to others.
 *
 * <p>A tier's own housekeeping is in its package. {@code kvtier-work} and {@code kvtier-offloader} are here; copies run
 * on a thread of whoever calls.
 */
package io.kvtier.store.client.work;
