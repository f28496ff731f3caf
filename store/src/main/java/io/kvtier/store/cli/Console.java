package io.kvtier.store.cli;

import java.io.PrintStream;

/**
 * Where a command writes.
 *
 * @param out      results.
 * @param err      errors and progress.
 * @param terminal whether somebody watches {@code err}: only then progress is painted.
 */
record Console(PrintStream out, PrintStream err, boolean terminal) {
}
