package io.kvtier.store.cli;

import io.kvtier.store.GdsConfig;
import io.kvtier.store.StoreConfig;
import io.kvtier.store.StoreException;
import java.io.IOException;
import java.nio.file.Path;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code kvtier replay}. */
@Command(name = "replay", mixinStandardHelpOptions = true, sortOptions = false,
    description = {"Replays a trace of KV-cache requests: in order, every block of every request is read and checked, "
        + "and put when it is missing.",
        "A trace has one JSON object a line, with the fields timestamp, input_length, output_length and hash_ids.",
        "With memory alone, --high-watermark 1 --eviction-ratio 0 --lease-ms 0 is exact least-recently-used."})
final class ReplayCommand extends ReportCommand {
    private static final long MAX_BLOCK_BYTES = 1L << 30;

    @Parameters(paramLabel = "TRACE", description = "The trace.")
    private Path trace;

    @Option(names = "--block-bytes", paramLabel = "BYTES", defaultValue = "64K", converter = ByteSize.class,
        description = "Size of a block (default: ${DEFAULT-VALUE}).")
    private long blockBytes;

    @Option(names = "--memory-blocks", paramLabel = "N", defaultValue = "10000",
        description = "Capacity of the memory tier in blocks (default: ${DEFAULT-VALUE}).")
    private long memoryBlocks;

    @Option(names = "--disk-blocks", paramLabel = "N", defaultValue = "0",
        description = "Capacity of the SSD tier in blocks; 0 for no SSD tier (default: ${DEFAULT-VALUE}).")
    private long diskBlocks;

    @Option(names = "--high-watermark", paramLabel = "SHARE", defaultValue = "0.90",
        description = "Share of the memory tier above which blocks are evicted (default: ${DEFAULT-VALUE}).")
    private double highWatermark;

    @Option(names = "--eviction-ratio", paramLabel = "SHARE", defaultValue = "0.05",
        description = "Share that an eviction frees below that (default: ${DEFAULT-VALUE}).")
    private double evictionRatio;

    @Option(names = "--disk-high-watermark", paramLabel = "SHARE", defaultValue = "1.0",
        description = "Share of the SSD tier above which blocks are evicted (default: ${DEFAULT-VALUE}).")
    private double diskHighWatermark;

    @Option(names = "--disk-low-watermark", paramLabel = "SHARE", defaultValue = "1.0",
        description = "Share of the SSD tier down to which they are (default: ${DEFAULT-VALUE}).")
    private double diskLowWatermark;

    @Option(names = "--lease-ms", paramLabel = "MS", defaultValue = "0",
        description = "Time for which a block that was read stays (default: ${DEFAULT-VALUE}).")
    private long leaseMs;

    @Option(names = "--put-timeout-ms", paramLabel = "MS", defaultValue = "10000",
        description = "Time that a put waits for room at most (default: ${DEFAULT-VALUE}).")
    private long putTimeoutMs;

    @Option(names = "--dir", paramLabel = "DIR",
        description = "Directory of the SSD tier; it is kept, and a second replay finds it filled (default: a "
            + "temporary one).")
    private Path dir;

    @Option(names = "--limit", paramLabel = "N", defaultValue = "" + Long.MAX_VALUE,
        description = "Replay the first N requests (default: all).")
    private long limit;

    ReplayCommand(final Console console, final StoreOpener opener) {
        super(console, opener);
    }

    @Override
    Report report(final Console where) throws IOException, InterruptedException {
        return new Replayer(plan(), where, opener()).run();
    }

    private ReplayPlan plan() {
        allow(limit >= 1, "--limit is " + limit + "; allowed is 1 or more requests");
        allow(blockBytes >= 1 && blockBytes <= MAX_BLOCK_BYTES,
            "--block-bytes is " + blockBytes + "; allowed is 1 to " + MAX_BLOCK_BYTES);
        final long unit = DemoPlan.roundedUp(blockBytes);
        final long most = StoreConfig.MAX_TIER_BYTES / unit;
        allow(memoryBlocks >= 1 && memoryBlocks <= most,
            "--memory-blocks is " + memoryBlocks + "; allowed is 1 to " + most + " blocks of this size (16 TiB)");
        allow(diskBlocks >= 0 && diskBlocks <= most,
            "--disk-blocks is " + diskBlocks + "; allowed is 0 to " + most + " blocks of this size (16 TiB)");
        allow(dir == null || diskBlocks > 0,
            "--dir needs an SSD tier; add --disk-blocks with the number of blocks it may hold");
        try {
            final StoreConfig settings = StoreConfig.builder()
                .memoryBytes(memoryBlocks * unit)
                .eviction(highWatermark, evictionRatio)
                .diskWatermarks(diskHighWatermark, diskLowWatermark)
                .leaseMs(leaseMs)
                .putTimeoutMs(putTimeoutMs)
                .gds(GdsConfig.NONE)
                .build();
            return new ReplayPlan(trace, limit, blockBytes, settings, diskBlocks * unit, dir);
        } catch (final StoreException e) {
            throw wrongSetting(e);
        }
    }
}
