package io.kvtier.store.cli;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Looks at everything that decides what a store can do on this machine. The last finding is a store that was really
 * opened, filled beyond its memory and read back; whether it worked is the verdict, and the others say why not.
 *
 * <p><b>Threading:</b> one thread. <b>Blocking:</b> a second or two, longer with GPUs.
 */
final class Doctor {
    /** The finding that is the verdict. */
    static final String STORE = "store";

    private static final long MEMORY_BYTES = 1L << 20;
    private static final long DISK_BYTES = 16L << 20;
    private static final long VALUE_BYTES = 64L << 10;
    private static final int VALUES = 64;

    private final Machine machine;
    private final Probes probes;
    private final StoreOpener opener;
    private final Console console;
    private final Path directory;

    Doctor(final Machine machine, final Probes probes, final StoreOpener opener, final Console console,
        final Path directory) {
        this.machine = machine;
        this.probes = probes;
        this.opener = opener;
        this.console = console;
        this.directory = directory;
    }

    /**
     * Looks.
     *
     * @return what was found; the verdict is last.
     * @throws InterruptedException when the thread was interrupted.
     */
    List<Finding> examine() throws InterruptedException {
        final List<Finding> findings = new ArrayList<>();
        findings.addAll(new JvmChecks(machine, probes, Runtime.version()).findings());
        findings.addAll(new KernelChecks(machine, probes).findings());
        findings.addAll(new MemoryChecks(machine).findings());
        final DirectoryChecks directoryChecks = new DirectoryChecks(probes, directory);
        final Finding usable = directoryChecks.directory();
        final boolean writable = usable.state() == Finding.State.OK;
        findings.add(usable);
        if (writable) {
            findings.addAll(directoryChecks.disk());
            findings.addAll(new DiskBackendCheck(machine, directory).findings());
        }
        findings.addAll(new GpuChecks(machine, probes.graphics()).findings());
        findings.addAll(new CuFileChecks(machine, writable ? volume() : null,
            probes.gpuFiles(writable ? directory : null)).findings());
        findings.add(new GdsOffloadCheck(machine, probes).finding());
        findings.addAll(new SharedDiskCheck(machine, probes).findings());
        findings.add(writable ? store() : Finding.broken(STORE, usable.found(), usable.remedy()));
        return findings;
    }

    private Probes.Volume volume() {
        try {
            return probes.volume(directory);
        } catch (final IOException | RuntimeException e) {
            // The directory's own findings have told that.
            return null;
        }
    }

    private Finding store() throws InterruptedException {
        final List<String> missing = probes.missingFlags();
        if (!missing.isEmpty()) {
            return Finding.broken(STORE, "not opened: this JVM lacks " + missing.size() + " flag(s)",
                "add to the java command line: " + String.join(" ", missing));
        }
        final DemoPlan plan = new DemoPlan(MEMORY_BYTES, DISK_BYTES, List.of(new DemoPlan.Group(VALUE_BYTES, VALUES)),
            1, 1, directory);
        try {
            new DemoRun(plan, new Console(console.out(), console.err(), false), opener, remark -> { }).run();
            return Finding.ok(STORE, "a store of memory and SSD was opened in " + directory + "; " + VALUES
                + " values came back as they were put, from both");
        } catch (final IOException | RuntimeException | LinkageError e) {
            return Finding.broken(STORE, "it was tried and fails: " + (e.getMessage() == null ? e : e.getMessage()),
                "see the findings above that are broken or limited");
        }
    }
}
