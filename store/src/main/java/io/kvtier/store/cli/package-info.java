/**
 * The command line {@code kvtier}: commands that use the store through its public API, as any service would.
 *
 * <p>A command parses its options, hands a plain record to a class that does the work ({@code DemoRun},
 * {@code Replayer}) and prints the {@code Report} that comes back. Nothing outside this package depends on it, and its
 * libraries are absent from a service that embeds the store.
 *
 * <p><b>Threading:</b> one thread, unless a class says otherwise.
 */
package io.kvtier.store.cli;
