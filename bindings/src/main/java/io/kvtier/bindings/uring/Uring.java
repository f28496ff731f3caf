package io.kvtier.bindings.uring;

import io.kvtier.bindings.Availability;
import io.kvtier.bindings.NativeAccess;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.atomic.LongAdder;

/**
 * Whether io_uring can be used in this process, and what the kernel's one can do. The answer is found once, when first
 * asked for, by using it; it does not change while the process runs.
 *
 * <p><b>Threading:</b> thread-safe. <b>Blocking:</b> the first call makes some ten system calls.
 */
public final class Uring {
    private static final Path DISABLED = Path.of("/proc/sys/kernel/io_uring_disabled");
    private static final Path LIMITS = Path.of("/proc/self/limits");
    private static final String LOCKED_MEMORY = "Max locked memory";
    private static final LongAdder ABANDONED = new LongAdder();

    private Uring() {
    }

    /** Holds the answer; made when first touched. */
    private static final class Probed {
        static final UringProbe PROBE = probe();

        private static UringProbe probe() {
            if (!System.getProperty("os.name").equals("Linux")) {
                return new UringProbe(Availability.no("io_uring exists on Linux only", "run on Linux"),
                    UringFeatures.NONE);
            }
            try {
                return UringProbe.run(LinuxKernel.INSTANCE, () -> text(DISABLED));
            } catch (final LinkageError e) {
                // The class of the downcalls could not be made, for want of a permission or a symbol.
                final Throwable cause = e.getCause() == null ? e : e.getCause();
                return new UringProbe(Availability.no("the C library cannot be called: " + cause,
                    String.join(" ", NativeAccess.missingFlags(null))), UringFeatures.NONE);
            }
        }
    }

    /**
     * Whether rings can be opened.
     *
     * @return yes, or why not and what an operator does about it.
     */
    public static Availability availability() {
        return Probed.PROBE.availability();
    }

    /**
     * What this kernel's io_uring can do.
     *
     * @return what the probe found; nothing when not available.
     */
    public static UringFeatures features() {
        return Probed.PROBE.features();
    }

    /**
     * Rings that were closed while operations of theirs did not end, so that their memory was leaked on purpose, since
     * the process started.
     *
     * @return how many; more than 0 means that some file or device does not answer.
     */
    public static long abandonedRings() {
        return ABANDONED.sum();
    }

    /**
     * How much memory this process may lock ({@code RLIMIT_MEMLOCK}, the soft limit): registered buffers count against
     * it, unless the process has CAP_IPC_LOCK.
     *
     * @return bytes; {@link Long#MAX_VALUE} when unlimited, -1 when the system does not say.
     */
    public static long lockedMemoryLimitBytes() {
        return lockedMemoryLimit(text(LIMITS).lines().toList());
    }

    static long lockedMemoryLimit(final List<String> limits) {
        for (final String line : limits) {
            if (line.startsWith(LOCKED_MEMORY)) {
                final String soft = line.substring(LOCKED_MEMORY.length()).strip().split("\\s+")[0];
                return soft.equals("unlimited") ? Long.MAX_VALUE : Long.parseLong(soft);
            }
        }
        return -1;
    }

    static void countAbandoned() {
        ABANDONED.increment();
    }

    private static String text(final Path path) {
        try {
            return Files.readString(path);
        } catch (final IOException e) {
            return "";
        }
    }
}
