/**
 * Benches: what this library does on this machine, beside the tool or the loop that anybody would compare it with.
 *
 * <p>A {@link io.kvtier.store.cli.bench.Bench} is a list of rows. A row names what is measured and against whom, and
 * opens the two sides when its turn comes; {@link io.kvtier.store.cli.bench.BenchRun} lets them take turns and keeps
 * the medians. The command that parses options and prints is above this package, which knows nothing of it.
 *
 * <p><b>Threading:</b> one thread, unless a class says otherwise.
 */
package io.kvtier.store.cli.bench;
