package io.kvtier.transport;

import java.util.List;

/** Closes several things, all of them, whatever one of them throws. */
final class Closing {
    private Closing() {
    }

    /** Runs all of it; the first exception is thrown at the end and carries the others. */
    static void all(final List<Runnable> closings) {
        Throwable first = null;
        for (final Runnable closing : closings) {
            try {
                closing.run();
            } catch (final RuntimeException | Error e) {
                if (first == null) {
                    first = e;
                } else if (first != e) {
                    first.addSuppressed(e);
                }
            }
        }
        if (first instanceof Error error) {
            throw error;
        }
        if (first != null) {
            throw (RuntimeException) first;
        }
    }
}
