package io.kvtier.store.cli;

import io.kvtier.store.cli.bench.Bench;
import io.kvtier.store.cli.bench.BenchReport;
import io.kvtier.store.cli.bench.BenchRun;
import io.kvtier.store.cli.bench.BenchSettings;
import io.kvtier.store.cli.bench.MasterHost;
import io.kvtier.store.cli.bench.SegmentHost;
import io.kvtier.store.cli.bench.Workspace;
import java.io.File;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.io.PrintStream;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;
import picocli.CommandLine.TypeConversionException;

/** {@code kvtier bench NAME}: one command for each bench there is, all with the same options. */
@Command(mixinStandardHelpOptions = true, sortOptions = false,
    footer = {"", "Exit status: 0 also when goals are missed, 1 when a row failed, 2 wrong use."})
final class BenchCommand extends ReportCommand {
    private static final double MAX_SECONDS = 3600;
    private static final int MAX_RUNS = 99;
    private static final long LEAST_FILE = 64L << 20;
    private static final long FILE_UNIT = 16L << 20;
    private static final int MAX_OBJECTS = 100_000_000;
    private static final double QUICK_SECONDS = 0.2;
    private static final int QUICK_RUNS = 3;
    private static final Set<String> IN_MEMORY = Set.of("tmpfs", "ramfs");

    @Option(names = "--dir", paramLabel = "DIR",
        description = "Make the temporary directory for files in DIR, which picks the disk (default: the working "
            + "directory). They are gone afterwards, also after an interrupt.")
    private Path dir;

    @Option(names = "--owner-dir", paramLabel = "DIR",
        description = "Make the directory of the other side's own disk in DIR, which bench shared-disk compares with: "
            + "a local disk where that of --dir is a shared mount (default: as --dir).")
    private Path ownerDir;

    @Option(names = "--size", paramLabel = "BYTES", defaultValue = "1G", converter = ByteSize.class,
        description = "Size of the file that is read and written, whole units of 16 MiB (default: ${DEFAULT-VALUE}).")
    private long size;

    @Option(names = "--objects", paramLabel = "N", defaultValue = "1000000",
        description = "Objects in the rows of a master that knows many (default: ${DEFAULT-VALUE}).")
    private int objects;

    @Option(names = "--seconds", paramLabel = "N", defaultValue = "2",
        description = "Length of a measurement (default: ${DEFAULT-VALUE}).")
    private double seconds;

    @Option(names = "--runs", paramLabel = "N", defaultValue = "5",
        description = "Measurements of each side of a row, in turns; the median counts (default: ${DEFAULT-VALUE}).")
    private int runs;

    @Option(names = "--rows", paramLabel = "REGEX", defaultValue = "", converter = RowPattern.class,
        description = "Only the rows in whose name this is found.")
    private Pattern rows;

    @Option(names = "--quick",
        description = "Three runs of 0.2 seconds: enough to see that it works, not to trust a figure.")
    private boolean quick;

    private final Bench bench;
    private final Machine machine;
    private final Probes probes;

    private BenchCommand(final Console console, final StoreOpener opener, final Bench bench, final Machine machine,
        final Probes probes) {
        super(console, opener);
        this.bench = bench;
        this.machine = machine;
        this.probes = probes;
    }

    /** A regular expression, refused in the words of an option. */
    private static final class RowPattern implements ITypeConverter<Pattern> {
        RowPattern() {
        }

        @Override
        public Pattern convert(final String value) {
            try {
                return Pattern.compile(value);
            } catch (final PatternSyntaxException e) {
                throw new TypeConversionException("'" + value + "' is not a regular expression: "
                    + e.getDescription() + " near character " + e.getIndex());
            }
        }
    }

    /** What is run when no bench is named. */
    @Command(name = "bench", mixinStandardHelpOptions = true, synopsisSubcommandLabel = "NAME",
        description = "Measures this library on this machine, beside what it would be compared with.")
    private static final class Group implements Runnable {
        @Spec
        private CommandSpec spec;

        @Override
        public void run() {
            throw new ParameterException(spec.commandLine(), "name a bench");
        }
    }

    /** What a bench starts as the other process. */
    @Command(name = "serve", hidden = true, description = "Serves memory to a bench until standard input ends.")
    private static final class Serve implements Callable<Integer> {
        @Parameters(paramLabel = "BYTES")
        private long bytes;

        private final Console console;

        Serve(final Console console) {
            this.console = console;
        }

        @Override
        public Integer call() throws IOException {
            SegmentHost.serve(bytes, PatternBytes::fill, System.in, console.out());
            return Main.DONE;
        }
    }

    /** What a bench starts as the process of the master. */
    @Command(name = "master", hidden = true, description = "Runs a master for a bench until standard input ends.")
    private static final class MasterServe implements Callable<Integer> {
        private final Console console;

        MasterServe(final Console console) {
            this.console = console;
        }

        @Override
        public Integer call() throws IOException {
            MasterHost.serve(System.in, console.out());
            return Main.DONE;
        }
    }

    /** The outcome as a command has it. */
    private record Finished(BenchReport report) implements Outcome {
        @Override
        public String json() {
            return report.json();
        }

        @Override
        public void print(final PrintStream out) {
            report.print(out);
        }

        @Override
        public String failure() {
            return report.failure();
        }
    }

    /** The command {@code bench} with all benches. */
    static CommandLine all(final Console console, final StoreOpener opener, final Machine machine,
        final Probes probes) {
        final CommandLine group = new CommandLine(new Group()).addSubcommand(new Serve(console))
            .addSubcommand(new MasterServe(console));
        for (final Bench bench : Bench.all()) {
            final CommandLine line = new CommandLine(new BenchCommand(console, opener, bench, machine, probes));
            line.getCommandSpec().usageMessage().description(bench.description());
            group.addSubcommand(bench.name(), line);
        }
        return group;
    }

    @Override
    Outcome report(final Console where) throws IOException, InterruptedException {
        validate();
        final List<String> missing = probes.missingFlags();
        if (!missing.isEmpty()) {
            throw new CommandFailure("the JVM was started without " + String.join(" ", missing)
                + "; add it, or run the launcher 'kvtier'");
        }
        final BenchSettings settings = quick ? new BenchSettings(QUICK_SECONDS, QUICK_RUNS, rows)
            : new BenchSettings(seconds, runs, rows);
        try (WorkDirectory directory = WorkDirectory.temporary("--dir", dir == null ? Path.of("") : dir);
             WorkDirectory owner = ownerDir == null ? null : WorkDirectory.temporary("--owner-dir", ownerDir)) {
            final Probes.Volume volume = probes.volume(directory.path());
            if (IN_MEMORY.contains(volume.type())) {
                where.err().println("note: " + directory.path().toAbsolutePath() + " is on " + volume.type()
                    + ", which is memory: file rows measure no disk; name a directory on one with --dir");
            }
            final Workspace workspace = new Workspace(directory.path(),
                owner == null ? directory.path() : owner.path(), size, objects, PatternBytes::fill, self());
            return new Finished(new BenchRun(bench, settings, workspace, new MachineFacts(machine, volume).facts(),
                where.err()::println).run());
        }
    }

    private void validate() {
        allow(seconds > 0 && seconds <= MAX_SECONDS, "--seconds is " + seconds + "; allowed is more than 0, at most "
            + MAX_SECONDS);
        allow(runs >= 1 && runs <= MAX_RUNS, "--runs is " + runs + "; allowed is 1 to " + MAX_RUNS);
        allow(objects >= 1 && objects <= MAX_OBJECTS, "--objects is " + objects + "; allowed is 1 to " + MAX_OBJECTS);
        allow(size >= LEAST_FILE && size % FILE_UNIT == 0, "--size is " + size + "; allowed is " + LEAST_FILE
            + " or more, a multiple of " + FILE_UNIT);
    }

    /** The command line of this program in a process of its own, with this one's options of the JVM (-X, -XX). */
    private static List<String> self() {
        final List<String> words = new ArrayList<>(List.of(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "--enable-native-access=ALL-UNNAMED", "--add-exports", "java.base/jdk.internal.misc=ALL-UNNAMED",
            "-XX:+IgnoreUnrecognizedVMOptions", "--sun-misc-unsafe-memory-access=allow"));
        ManagementFactory.getRuntimeMXBean().getInputArguments().stream().filter(word -> word.startsWith("-X"))
            .forEach(words::add);
        words.addAll(List.of("-cp", absolute(System.getProperty("java.class.path")), Main.class.getName()));
        return words;
    }

    private static String absolute(final String classPath) {
        return String.join(File.pathSeparator, Pattern.compile(File.pathSeparator, Pattern.LITERAL)
            .splitAsStream(classPath).map(part -> Path.of(part).toAbsolutePath().toString()).toList());
    }
}
