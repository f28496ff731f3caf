package io.kvtier.store.cli;

import io.kvtier.store.StoreConfig;
import io.kvtier.store.StoreException;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code kvtier demo}. */
@Command(name = "demo", mixinStandardHelpOptions = true, sortOptions = false,
    description = {"Puts a few thousand values of 1 byte to 16 MiB into a store whose memory tier is too small for "
        + "them, reads them back from memory and SSD, and checks every byte.",
        "The SSD tier lives in a temporary directory, which is gone afterwards."})
final class DemoCommand extends ReportCommand {
    /** Above this share the disk tier evicts, and a value that was put could be gone. */
    private static final double SAFE_SHARE = 0.85;
    private static final int MAX_THREADS = 256;
    private static final int MAX_ROUNDS = 1000;
    private static final long MAX_VALUE_BYTES = 1L << 30;

    @Option(names = "--memory-bytes", paramLabel = "BYTES", defaultValue = "256M", converter = ByteSize.class,
        description = "Capacity of the memory tier (default: ${DEFAULT-VALUE}).")
    private long memoryBytes;

    @Option(names = "--disk-bytes", paramLabel = "BYTES", defaultValue = "2G", converter = ByteSize.class,
        description = "Capacity of the SSD tier (default: ${DEFAULT-VALUE}).")
    private long diskBytes;

    @Option(names = "--sizes", paramLabel = "SIZExCOUNT", split = ",", converter = DemoPlan.GroupConverter.class,
        defaultValue = "1x500,4095x500,4096x500,4097x500,64Kx1000,1Mx400,16Mx24",
        description = "The values, as sizes and how many of each (default: ${DEFAULT-VALUE}).")
    private List<DemoPlan.Group> groups;

    @Option(names = "--rounds", paramLabel = "N", defaultValue = "1",
        description = "Rounds of reading; each reads every value twice (default: ${DEFAULT-VALUE}).")
    private int rounds;

    @Option(names = "--threads", paramLabel = "N", defaultValue = "2",
        description = "Virtual threads that put and get (default: ${DEFAULT-VALUE}).")
    private int threads;

    @Option(names = "--dir", paramLabel = "DIR",
        description = "Make the temporary directory in DIR, which picks the disk (default: the system's place for "
            + "temporary files).")
    private Path dir;

    DemoCommand(final Console console, final StoreOpener opener) {
        super(console, opener);
    }

    @Override
    Report report(final Console where) throws IOException, InterruptedException {
        final DemoPlan plan = new DemoPlan(memoryBytes, diskBytes, groups, rounds, threads, dir);
        validate(plan);
        return new DemoRun(plan, where, opener(), this::remark).run();
    }

    private void validate(final DemoPlan plan) {
        allow(threads >= 1 && threads <= MAX_THREADS, "--threads is " + threads + "; allowed is 1 to " + MAX_THREADS);
        allow(rounds >= 1 && rounds <= MAX_ROUNDS, "--rounds is " + rounds + "; allowed is 1 to " + MAX_ROUNDS);
        try {
            StoreConfig.builder().memoryBytes(memoryBytes).disk(Path.of(""), diskBytes).build();
        } catch (final StoreException e) {
            throw wrongSetting(e);
        }
        allow(diskBytes > 0, "--disk-bytes is 0; the values have to go somewhere when memory is full");
        for (final DemoPlan.Group group : groups) {
            allow(group.size() >= 1 && group.size() <= MAX_VALUE_BYTES && group.size() <= memoryBytes / 2,
                "--sizes has values of " + group.size() + " bytes; allowed is 1 to half of --memory-bytes ("
                    + memoryBytes / 2 + "), at most " + MAX_VALUE_BYTES);
        }
        allow(plan.values() > 0, "--sizes has no values; give at least one a count above 0");
        allow(plan.allocatedBytes() <= diskBytes * SAFE_SHARE, "--sizes takes " + plan.allocatedBytes()
            + " bytes, more than 85 % of --disk-bytes (" + diskBytes + "): values could be evicted from the last tier; "
            + "give fewer values or more --disk-bytes");
    }
}
