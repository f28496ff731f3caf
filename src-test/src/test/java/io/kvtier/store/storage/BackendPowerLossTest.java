package io.kvtier.store.storage;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.MemoryDirectory;
import io.kvtier.kit.PowerLossFiles;
import io.kvtier.store.DiskBackend;
import io.kvtier.transport.file.FileOpener;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The power fails at any write or sync, several times in the life of one directory. */
@ExtendWith(LeakCheck.class)
@ParameterizedClass
@EnumSource(DiskBackend.class)
class BackendPowerLossTest {
    private static final int UNIT = Value.UNIT;
    private static final int CAPACITY_UNITS = 24;

    @Parameter
    private DiskBackend kind;
    @TempDir(factory = MemoryDirectory.class)
    private Path directory;

    private BackendRig.Setup setup(final FileOpener files) {
        return new BackendRig.Setup(BackendRig.of(kind), directory, CAPACITY_UNITS, 1, 1, files, false);
    }

    /** Runs until the power fails, or to the end; whatever fails after the cut is not of interest. */
    private void run(final PowerLossFiles files, final Ledger ledger, final SplittableRandom random,
        final int generation) {
        final BackendRig rig;
        try {
            rig = setup(files).open();
        } catch (final RuntimeException e) {
            assertTrue(files.isCut(), () -> "failed before the cut: " + e);
            return;
        }
        final List<Value> stored = new ArrayList<>();
        for (int i = 0; i < 30 && !files.isCut(); i++) {
            final List<Value> batch = new ArrayList<>();
            for (int j = random.nextInt(3); j >= 0; j--) {
                // Few keys, so that versions replace each other; a version is used once.
                batch.add(Value.of("k" + (5 * j + random.nextInt(5)), generation * 1000L + i,
                    random.nextInt(4 * UNIT)));
            }
            ledger.store(rig, random.nextBoolean(), batch);
            stored.addAll(batch);
            if (random.nextInt(3) == 0) {
                ledger.remove(rig, stored.get(random.nextInt(stored.size())));
            }
            ledger.readAll(rig);
        }
        if (!files.isCut() && random.nextInt(4) != 0) {
            files.cut();
        }
        try {
            rig.close();
        } catch (final RuntimeException e) {
            assertTrue(files.isCut(), () -> "failed before the cut: " + e);
        }
    }

    private void lives(final long seed, final int generations, final boolean power) {
        final SplittableRandom random = new SplittableRandom(seed);
        final Ledger ledger = new Ledger();
        for (int generation = 1; generation <= generations; generation++) {
            try (PowerLossFiles files = new PowerLossFiles(random.nextLong())) {
                files.cutAt(1 + random.nextInt(160));
                run(files, ledger, random, generation);
                if (power) {
                    files.lose();
                }
            }
            ledger.failures().clear();
            // The check stores nothing and must not itself make the state more durable than the next cut finds it.
            try (BackendRig rig = setup(FileOpener.POSIX).open()) {
                ledger.verify(rig, !power);
                ledger.adopt(rig);
            } catch (final AssertionError | RuntimeException e) {
                throw new AssertionError("seed " + seed + ", generation " + generation, e);
            }
        }
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})
    void shouldHaveWhatItReportedAfterThePowerFailed(final long seed) {
        lives(seed, 12, true);
    }

    /** The kernel keeps what a process had written when it died: removals last, too. */
    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4})
    void shouldHaveWhatItReportedAfterTheProcessDied(final long seed) {
        lives(seed, 12, false);
    }

    @Test
    void shouldHoldWhatItReportedForEveryPointOfTheFirstStart() {
        for (int n = 1; n <= 24; n++) {
            final Path where = directory.resolve("start-" + n);
            final Ledger ledger = new Ledger();
            try (PowerLossFiles files = new PowerLossFiles(n)) {
                files.cutAt(n);
                try (BackendRig rig = setup(files).in(where).open()) {
                    ledger.store(rig, true, List.of(Value.of("a", 1, UNIT)));
                    files.cut();
                } catch (final RuntimeException e) {
                    assertTrue(files.isCut(), () -> "failed before the cut: " + e);
                }
                files.lose();
            }
            try (BackendRig rig = setup(FileOpener.POSIX).in(where).open()) {
                ledger.verify(rig, false);
            }
        }
    }

    /** After a refused sync the kernel counts the pages as clean: trusting the next sync loses them. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10})
    void shouldNotTrustTheSyncAfterARefusedOne(final int n) {
        final Ledger ledger = new Ledger();
        try (PowerLossFiles files = new PowerLossFiles(n)) {
            try (BackendRig rig = setup(files).open()) {
                for (int i = 0; i < 4; i++) {
                    ledger.store(rig, true, List.of(Value.of("before" + i, 1, UNIT)));
                }
                files.failSync(n);
                for (int i = 0; i < 8; i++) {
                    // Long names: a record is then in blocks of the log that no later record writes again.
                    ledger.store(rig, i % 2 == 0, List.of(Value.of("after" + i + "x".repeat(4000), 1, 2 * UNIT - 9)));
                }
                assertFalse(ledger.failures().isEmpty(), "no sync failed");
                files.cut();
            } catch (final RuntimeException e) {
                assertTrue(files.isCut(), () -> "failed before the cut: " + e);
            }
            files.lose();
        }
        try (BackendRig rig = setup(FileOpener.POSIX).open()) {
            ledger.verify(rig, false);
        }
    }

    /** A removal is durable once a later store is. */
    @Test
    void shouldNotFindWhatWasRemovedBeforeAStoreThatWasReported() {
        for (int seed = 1; seed <= 30; seed++) {
            final Path where = directory.resolve("removal-" + seed);
            final Ledger ledger = new Ledger();
            final Value removed = Value.of("removed", 1, UNIT);
            try (PowerLossFiles files = new PowerLossFiles(seed)) {
                try (BackendRig rig = setup(files).in(where).open()) {
                    ledger.store(rig, true, List.of(removed, Value.of("kept", 1, UNIT)));
                    ledger.remove(rig, removed);
                    ledger.store(rig, true, List.of(Value.of("later", 1, UNIT)));
                    files.cut();
                } catch (final RuntimeException e) {
                    assertTrue(files.isCut(), () -> "failed before the cut: " + e);
                }
                files.lose();
            }
            try (BackendRig rig = setup(FileOpener.POSIX).in(where).open()) {
                ledger.verify(rig, true);
                assertEquals(2, rig.backend().recovered().size());
            }
        }
    }
}
