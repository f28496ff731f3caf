package io.kvtier.store.cli;

import io.kvtier.bindings.Availability;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The kernel, what it allows this process, and io_uring. */
final class KernelChecks {
    private static final Pattern RELEASE = Pattern.compile("(\\d{1,4})\\.(\\d{1,4}).*", Pattern.DOTALL);
    private static final Set<String> ARCHITECTURES = Set.of("amd64", "x86_64", "aarch64");
    /** The first kernel whose io_uring is used. */
    private static final int LEAST_MAJOR = 5;
    private static final int LEAST_MINOR = 11;
    private static final long LEAST_FILES = 1024;
    /** Enough for registered buffers of a usual depth: 64 of 1 MiB. */
    private static final long ENOUGH_LOCKED = 64L << 20;
    /** CAP_IPC_LOCK of linux/capability.h: whoever has it may lock without a limit. */
    private static final int CAP_IPC_LOCK = 14;
    private static final int HEXADECIMAL = 16;
    private static final String CAPABILITIES = "CapEff:";

    private final Machine machine;
    private final Probes probes;

    KernelChecks(final Machine machine, final Probes probes) {
        this.machine = machine;
        this.probes = probes;
    }

    List<Finding> findings() {
        return List.of(kernel(System.getProperty("os.name"), System.getProperty("os.arch")), uring(), lockedMemory(),
            openFiles());
    }

    Finding kernel(final String system, final String architecture) {
        final String name = "kernel";
        final String release = machine.text("/proc/sys/kernel/osrelease");
        if (!system.equals("Linux") || !ARCHITECTURES.contains(architecture)) {
            return Finding.broken(name, system + " on " + architecture + "; kvtier knows Linux on x86-64 and AArch64",
                "run on such a machine");
        }
        final Matcher matcher = RELEASE.matcher(release);
        if (!matcher.matches()) {
            return Finding.limited(name, "Linux of a version that /proc/sys/kernel/osrelease does not tell",
                "mount /proc");
        }
        final int major = Integer.parseInt(matcher.group(1));
        final int minor = Integer.parseInt(matcher.group(2));
        return major > LEAST_MAJOR || major == LEAST_MAJOR && minor >= LEAST_MINOR
            ? Finding.ok(name, "Linux " + release + ", " + architecture)
            : Finding.limited(name, "Linux " + release + ", " + architecture + ": too old for io_uring",
                "use Linux 5.11 or newer");
    }

    private Finding uring() {
        final Availability availability = probes.uring();
        return Finding.of("io_uring", availability);
    }

    Finding lockedMemory() {
        final String name = "locked_memory";
        final long limit = machine.limit("Max locked memory");
        if (limit < 0) {
            return Finding.limited(name, "/proc/self/limits does not tell the limit on locked memory", "mount /proc");
        } else if (limit == Long.MAX_VALUE) {
            return Finding.ok(name, "no limit on locked memory");
        }
        final String found = "locked memory is limited to " + ByteSize.shown(limit);
        if (mayLockAnyway()) {
            return Finding.ok(name, found + ", which does not bind this process (CAP_IPC_LOCK)");
        }
        return limit >= ENOUGH_LOCKED ? Finding.ok(name, found)
            : Finding.limited(name, found + ": registered io_uring buffers and locked memory beyond it are refused",
                "raise it: ulimit -l, LimitMEMLOCK= of a systemd service, --ulimit memlock= of a container");
    }

    private boolean mayLockAnyway() {
        return machine.text("/proc/self/status").lines().filter(line -> line.startsWith(CAPABILITIES))
            .map(line -> line.substring(CAPABILITIES.length()).strip())
            .anyMatch(bits -> bits.matches("[0-9a-f]{1,16}")
                && (Long.parseUnsignedLong(bits, HEXADECIMAL) >>> CAP_IPC_LOCK & 1) != 0);
    }

    Finding openFiles() {
        final String name = "open_files";
        final long limit = machine.limit("Max open files");
        if (limit < 0) {
            return Finding.limited(name, "/proc/self/limits does not tell the limit on open files", "mount /proc");
        } else if (limit == Long.MAX_VALUE) {
            return Finding.ok(name, "no limit on open files");
        }
        return limit >= LEAST_FILES ? Finding.ok(name, limit + " files may be open")
            : Finding.limited(name, "only " + limit + " files may be open, connections of the host service included",
                "raise it: ulimit -n " + LEAST_FILES + " or more, LimitNOFILE= of a systemd service, --ulimit nofile="
                    + " of a container");
    }
}
