package io.kvtier.bindings.posix;

/** Asks whether a standard stream is a terminal. */
public final class Terminal {
    private static final int STDERR = 2;

    private Terminal() {
    }

    /**
     * Whether standard error is shown on a terminal, and not written to a file or a pipe.
     *
     * @return true on a terminal.
     */
    public static boolean onStandardError() {
        return Libc.isatty(STDERR) == 1;
    }
}
