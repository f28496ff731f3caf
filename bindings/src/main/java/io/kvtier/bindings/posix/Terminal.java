package io.kvtier.bindings.posix;

import java.lang.foreign.Arena;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;

/**
 * Asks whether a standard stream is a terminal, and how wide it is.
 *
 * <p><b>Threading:</b> stateless. <b>Blocking:</b> never.
 */
public final class Terminal {
    private static final int STDERR = 2;
    /** {@code struct winsize} (asm-generic/termios.h). */
    private static final StructLayout WINSIZE = MemoryLayout.structLayout(
        ValueLayout.JAVA_SHORT.withName("ws_row"), ValueLayout.JAVA_SHORT.withName("ws_col"),
        ValueLayout.JAVA_SHORT.withName("ws_xpixel"), ValueLayout.JAVA_SHORT.withName("ws_ypixel"));
    private static final VarHandle COLUMNS = WINSIZE.varHandle(MemoryLayout.PathElement.groupElement("ws_col"));

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

    /**
     * Columns of the terminal that standard error is shown on, now: a user may change them at any time.
     *
     * @return how many; 0 when there is no terminal, or it does not know.
     */
    public static int columnsOnStandardError() {
        try (Arena arena = Arena.ofConfined()) {
            final MemorySegment size = arena.allocate(WINSIZE);
            if (Libc.ioctl(STDERR, Libc.TIOCGWINSZ, size) != 0) {
                return 0;
            }
            return Short.toUnsignedInt((short) COLUMNS.get(size, 0L));
        }
    }
}
