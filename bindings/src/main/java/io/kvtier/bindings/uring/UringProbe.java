package io.kvtier.bindings.uring;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import io.kvtier.bindings.Availability;
import io.kvtier.bindings.posix.Errno;
import io.kvtier.bindings.posix.ErrnoException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Supplier;

/**
 * Finds out by doing it whether io_uring works here: opens a ring of two entries, asks which operations there are, and
 * sends a NOP through.
 *
 * @param availability whether, and if not, why and what to do.
 * @param features     what was found; nothing where not available.
 */
record UringProbe(Availability availability, UringFeatures features) {
    /** From the best to what every kernel takes; an older one answers EINVAL to a bit that it does not know. */
    static final int[] SETUP_FLAGS = {
        UringLayout.SETUP_SUBMIT_ALL | UringLayout.SETUP_SINGLE_ISSUER | UringLayout.SETUP_DEFER_TASKRUN
            | UringLayout.SETUP_TASKRUN_FLAG,
        UringLayout.SETUP_SUBMIT_ALL | UringLayout.SETUP_COOP_TASKRUN | UringLayout.SETUP_TASKRUN_FLAG,
        UringLayout.SETUP_SUBMIT_ALL,
        0
    };

    private static final long NOP_TOKEN = 0x5eed_0000_0000_0001L;
    private static final String OTHERWISE = "; files are read and written with system calls of their own meanwhile";
    private static final String NEWER = "use Linux 5.11 or newer" + OTHERWISE;
    private static final String SECCOMP = "let the container's seccomp profile allow io_uring_setup, io_uring_enter"
        + " and io_uring_register (Docker: --security-opt seccomp=PROFILE)" + OTHERWISE;

    /**
     * Probes.
     *
     * @param kernel   the boundary.
     * @param disabled gives the text of {@code /proc/sys/kernel/io_uring_disabled}, empty when there is none.
     * @return what was found.
     */
    static UringProbe run(final UringKernel kernel, final Supplier<String> disabled) {
        for (final int flags : SETUP_FLAGS) {
            final KernelRing ring;
            try {
                ring = KernelRing.open(kernel, 2, flags);
            } catch (final UnsupportedOperationException e) {
                return no(e.getMessage(), NEWER);
            } catch (final ErrnoException e) {
                if (e.errno() == Errno.EINVAL && flags != 0) {
                    continue;
                }
                return refused(e, disabled);
            }
            try {
                return examine(kernel, ring, flags);
            } catch (final ErrnoException e) {
                return refused(e, disabled);
            } finally {
                ring.close();
            }
        }
        throw new AssertionError("the last set of flags returns");
    }

    private static UringProbe examine(final UringKernel kernel, final KernelRing ring, final int flags) {
        final UringFeatures features = new UringFeatures(flags, ring.features(), operations(kernel, ring));
        final String missing = missing(features);
        if (!missing.isEmpty()) {
            return no("this kernel's io_uring lacks " + missing, NEWER);
        }
        ring.entry(UringLayout.OP_NOP, 0, -1, NOP_TOKEN);
        final int result = ring.enter(1, Long.MAX_VALUE);
        if (result < 0) {
            throw new ErrnoException("io_uring_enter", -result, "a NOP");
        }
        if (ring.available() != 1 || ring.token(0) != NOP_TOKEN || ring.result(0) != 0) {
            return no("a NOP sent through io_uring did not come back as it should", "report the kernel's version"
                + OTHERWISE);
        }
        return new UringProbe(Availability.yes("io_uring works" + (features.deferredCompletion()
            ? ", completions in the waiting thread" : "")
            + (features.bufferUpdates() ? "" : ", without registered buffers (Linux 5.13)")), features);
    }

    private static String missing(final UringFeatures features) {
        final Map<String, Boolean> needed = new LinkedHashMap<>();
        needed.put("completions that survive a full queue (Linux 5.5)", features.keepsOverflow());
        needed.put("waits with a time limit (Linux 5.11)", features.timedWait());
        needed.put("the operation READ (Linux 5.6)", features.supports(UringLayout.OP_READ));
        needed.put("the operation WRITE (Linux 5.6)", features.supports(UringLayout.OP_WRITE));
        needed.put("the operation READV", features.supports(UringLayout.OP_READV));
        needed.put("the operation WRITEV", features.supports(UringLayout.OP_WRITEV));
        needed.put("the operation READ_FIXED", features.supports(UringLayout.OP_READ_FIXED));
        needed.put("the operation WRITE_FIXED", features.supports(UringLayout.OP_WRITE_FIXED));
        needed.put("the operation FSYNC", features.supports(UringLayout.OP_FSYNC));
        needed.put("the operation ASYNC_CANCEL", features.supports(UringLayout.OP_ASYNC_CANCEL));
        return String.join(", ", needed.entrySet().stream().filter(one -> !one.getValue()).map(Map.Entry::getKey)
            .toList());
    }

    /** A kernel that cannot be asked is older than 5.6 and lacks READ and WRITE anyway. */
    private static long operations(final UringKernel kernel, final KernelRing ring) {
        try (Arena arena = Arena.ofConfined()) {
            final int count = Long.SIZE;
            final MemorySegment probe = arena.allocate(UringLayout.PROBE_BYTES + count * UringLayout.PROBE_OP_BYTES,
                Long.BYTES);
            final int result = kernel.register(ring.descriptor(), UringLayout.REGISTER_PROBE, probe, count);
            if (result == -Errno.EINVAL) {
                return 0;
            }
            if (result < 0) {
                throw new ErrnoException("io_uring_register", -result, "probe");
            }
            long operations = 0;
            final int known = Math.min(count, Byte.toUnsignedInt(probe.get(JAVA_BYTE, UringLayout.PROBE_LENGTH)));
            for (int i = 0; i < known; i++) {
                final long at = UringLayout.PROBE_BYTES + i * UringLayout.PROBE_OP_BYTES;
                if ((probe.get(JAVA_SHORT, at + UringLayout.PROBE_OP_FLAGS) & UringLayout.PROBE_OP_SUPPORTED) != 0) {
                    operations |= 1L << i;
                }
            }
            return operations;
        }
    }

    private static UringProbe refused(final ErrnoException e, final Supplier<String> disabled) {
        final String failed = e.call() + ": " + Errno.name(e.errno());
        return switch (e.errno()) {
            case Errno.ENOSYS -> no("the kernel or a seccomp filter says that there is no io_uring (" + failed + ")",
                "use Linux 5.11 or newer, built with io_uring; in a container, " + SECCOMP);
            case Errno.EPERM, Errno.EACCES -> forbidden(failed, disabled.get().strip());
            case Errno.ENOMEM -> no("io_uring may not lock the memory it needs (" + failed + ")",
                "raise the limit on locked memory (ulimit -l, LimitMEMLOCK= of a systemd service, --ulimit memlock= of"
                    + " a container)" + OTHERWISE);
            case Errno.EMFILE -> no("no descriptor is left for io_uring (" + failed + ")",
                "raise the process's limit on open files (ulimit -n)" + OTHERWISE);
            default -> no("io_uring fails here: " + e.getMessage(), NEWER);
        };
    }

    private static UringProbe forbidden(final String failed, final String disabled) {
        return switch (disabled) {
            case "2" -> no("kernel.io_uring_disabled is 2: nobody may use io_uring (" + failed + ")",
                "sysctl kernel.io_uring_disabled=0" + OTHERWISE);
            case "1" -> no("kernel.io_uring_disabled is 1: only CAP_SYS_ADMIN and the group of"
                    + " kernel.io_uring_group may use io_uring (" + failed + ")",
                "sysctl kernel.io_uring_disabled=0, or add the user to that group" + OTHERWISE);
            default -> no("a seccomp filter or security module forbids io_uring (" + failed + ")", SECCOMP);
        };
    }

    private static UringProbe no(final String reason, final String remedy) {
        return new UringProbe(Availability.no(reason, remedy), UringFeatures.NONE);
    }
}
