package io.kvtier.store.cli;

import java.io.PrintStream;

/** What a command has to say when it is done. */
interface Outcome {
    /** For programs: one JSON object on one line. */
    String json();

    /** For people. */
    void print(PrintStream out);

    /** Why the command did not do what it should, although it has something to report; empty when it did. */
    String failure();
}
