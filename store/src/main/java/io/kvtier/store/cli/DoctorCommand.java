package io.kvtier.store.cli;

import java.nio.file.Path;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code kvtier doctor}. */
@Command(name = "doctor", mixinStandardHelpOptions = true, sortOptions = false,
    description = {"Says what this machine can do for a store, and what to do about what it cannot: JVM flags, kernel, "
        + "io_uring, limits, the disk of a directory, GPUs and GPUDirect Storage, GDS offload.",
        "Exit status: 0 when a store of memory and SSD can run here, 1 when not."})
final class DoctorCommand extends ReportCommand {
    @Option(names = "--dir", paramLabel = "DIR",
        description = "Directory of the SSD tier (default: the system's place for temporary files). Files that are "
            + "made in it are gone afterwards.")
    private Path dir;

    private final Machine machine;
    private final Probes probes;

    DoctorCommand(final Console console, final StoreOpener opener, final Machine machine, final Probes probes) {
        super(console, opener);
        this.machine = machine;
        this.probes = probes;
    }

    @Override
    Report report(final Console where) throws InterruptedException {
        final Path directory = dir == null ? Path.of(System.getProperty("java.io.tmpdir")) : dir;
        final List<Finding> findings = new Doctor(machine, probes, opener(), where, directory).examine();
        final Report report = new Report("doctor");
        findings.forEach(report::finding);
        final Finding verdict = findings.getLast();
        return verdict.state() == Finding.State.OK ? report
            : report.failed("a store of memory and SSD cannot run here: " + verdict.found() + "; " + verdict.remedy());
    }
}
