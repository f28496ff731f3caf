package io.kvtier.store.cli;

import java.util.ArrayList;
import java.util.List;

/** The JVM and the flags that it needs, each with the exact words to add. */
final class JvmChecks {
    private static final String UNSAFE = "--sun-misc-unsafe-memory-access=allow";
    /** The JDK that introduced that flag; an older one does not start with it. */
    private static final int UNSAFE_SINCE = 23;
    private static final String ADD = "add to the java command line: ";

    private final Machine machine;
    private final Probes probes;
    private final Runtime.Version version;

    JvmChecks(final Machine machine, final Probes probes, final Runtime.Version version) {
        this.machine = machine;
        this.probes = probes;
        this.version = version;
    }

    List<Finding> findings() {
        final List<String> missing = probes.missingFlags();
        final List<Finding> findings = new ArrayList<>();
        findings.add(Finding.ok("jdk", "Java " + version + ", " + System.getProperty("java.vendor") + ", "
            + System.getProperty("java.home")));
        findings.add(needed("flag_native_access", "--enable-native-access", missing,
            "calls of the C library"));
        findings.add(needed("flag_add_exports", "--add-exports", missing, "the allocators' buffers"));
        findings.add(unsafe());
        return findings;
    }

    private static Finding needed(final String name, final String flag, final List<String> missing,
        final String what) {
        return missing.stream().filter(one -> one.startsWith(flag)).findFirst()
            .map(one -> Finding.broken(name, flag + " is not set, and " + what + " need it", ADD + one))
            .orElseGet(() -> Finding.ok(name, flag + " is set"));
    }

    private Finding unsafe() {
        final String name = "flag_unsafe_memory";
        if (version.feature() < UNSAFE_SINCE) {
            return Finding.ok(name, "not needed before JDK " + UNSAFE_SINCE);
        }
        final String given = machine.text("/proc/self/cmdline") + machine.variable("JDK_JAVA_OPTIONS")
            + machine.variable("JAVA_TOOL_OPTIONS");
        return given.contains(UNSAFE) ? Finding.ok(name, UNSAFE + " is set")
            : Finding.limited(name, "not seen on the command line; the store works, and a JDK 24 or newer warns that"
                + " the hashing library uses sun.misc.Unsafe", ADD + UNSAFE);
    }
}
