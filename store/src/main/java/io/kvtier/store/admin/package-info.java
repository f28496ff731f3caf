/**
 * What an operator asks of a master over HTTP: metrics, health, objects, segments, tenants, drains. JSON in and out,
 * but for metrics.
 *
 * <p>Everything is a command to a {@link io.kvtier.store.protocol.Master} like any other; nothing here knows how the
 * master does it. Queries renew no lease and count as no use. Long listings are fetched and written a part at a time.
 * Runs on a few platform threads of its own, so that a client that does not read holds up neither the master nor calls.
 */
package io.kvtier.store.admin;
