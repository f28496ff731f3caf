package io.kvtier.store.snapshot.files;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.MemoryDirectory;
import io.kvtier.kit.PowerLossFiles;
import io.kvtier.store.snapshot.SnapshotHead;
import io.kvtier.transport.file.FileOpener;
import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The power fails at each step of a master's life in a folder: what was said to be durable is there. */
@ExtendWith(LeakCheck.class)
class SnapshotPowerLossTest {
    private static final String CLUSTER = SnapshotSamples.CLUSTER;
    private static final int SNAPSHOTS = 2;
    /** What the power takes is a matter of luck; what a process leaves is not. */
    private static final int SEEDS = 3;

    @TempDir(factory = MemoryDirectory.class)
    private Path directory;

    /** What was reported. */
    private long term;
    private SnapshotId last;

    private static SnapshotArchive archive(final Path where, final FileOpener files) throws IOException {
        return new SnapshotArchive(DirectoryStore.open(where.resolve("a").resolve("b"), CLUSTER, files), CLUSTER, 1);
    }

    /** Two masters one after the other, in a folder that the first one makes. */
    private void live(final Path where, final FileOpener files) throws IOException {
        for (long next = 7; next <= 8; next++) {
            final SnapshotArchive archive = archive(where, files);
            archive.claimTerm(next);
            term = next;
            final SnapshotHead head = SnapshotSamples.ofTerm(next);
            for (int i = 0; i < SNAPSHOTS; i++) {
                last = SnapshotSamples.write(archive, head, SnapshotSamples.objects()).id();
            }
        }
    }

    /** Whether it came to the end before the power failed. */
    private boolean diesAt(final int n, final long seed, final boolean power, final Path where) throws IOException {
        term = 0;
        last = null;
        try (PowerLossFiles files = new PowerLossFiles(seed)) {
            files.cutAt(n);
            try {
                live(where, files);
            } catch (final IOException e) {
                assertTrue(files.isCut(), () -> "failed before the cut: " + e);
            }
            final boolean whole = !files.isCut();
            if (power) {
                files.lose();
            }
            return whole;
        }
    }

    private void check(final Path where) throws IOException {
        final SnapshotArchive archive = archive(where, FileOpener.POSIX);
        final long claimed = archive.claimedTerm();
        assertTrue(claimed == term || claimed == term + 1 || term == 0 && claimed == 7, "term " + claimed);
        final SnapshotArchive.Restorable best = archive.find().best();
        if (last != null) {
            assertNotNull(best, () -> last + " is lost");
            assertTrue(best.manifest().id().compareTo(last) >= 0, () -> last + " is lost, not "
                + best.manifest().id());
        }
        if (best != null) {
            SnapshotArchiveTest.assertSame(SnapshotSamples.ofTerm(best.manifest().id().term()),
                SnapshotSamples.objects(), best.snapshot());
        }
        // Whatever was left does not keep the next one from going on.
        archive.claimTerm(9);
        assertEquals(new SnapshotId(9, 1),
            SnapshotSamples.write(archive, SnapshotSamples.ofTerm(9), SnapshotSamples.objects()).id());
        assertEquals(new SnapshotId(9, 1), archive.find().best().manifest().id());
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void shouldHaveWhatItReportedWhereverItStops(final boolean power) throws IOException {
        boolean whole = false;
        int n = 1;
        for (; !whole; n++) {
            for (int seed = 0; seed < (power ? SEEDS : 1); seed++) {
                final Path where = directory.resolve((power ? "power-" : "killed-") + n + "-" + seed);
                whole = diesAt(n, SEEDS * n + seed, power, where);
                try {
                    check(where);
                } catch (final AssertionError | IOException e) {
                    throw new AssertionError("stopped at change " + n + ", seed " + seed, e);
                }
            }
        }
        assertTrue(n > 2 * SNAPSHOTS * 3, "so many blobs are written");
    }
}
