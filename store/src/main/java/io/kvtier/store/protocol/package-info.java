/**
 * What a client asks of the master and what it answers, as immutable records.
 *
 * <p>Everything that happens to the master's state is a {@link io.kvtier.store.protocol.Command}; today a command is
 * applied in the same process, and the records are what a wire will carry. No behaviour here.
 */
package io.kvtier.store.protocol;
