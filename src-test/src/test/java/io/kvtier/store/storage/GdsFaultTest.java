package io.kvtier.store.storage;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.bindings.posix.Errno;
import io.kvtier.kit.FailingCalls;
import io.kvtier.kit.Faults;
import io.kvtier.kit.Faults.Call;
import io.kvtier.kit.FaultyFiles;
import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.MemoryDirectory;
import io.kvtier.kit.PowerLossFiles;
import io.kvtier.kit.Threads;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.StoreException;
import io.kvtier.transport.file.FileOpener;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.ObjLongConsumer;
import java.util.logging.Level;
import java.util.logging.Logger;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Every call to the disk fails once, or the machine stops there: what was said holds all the same. */
@ExtendWith(LeakCheck.class)
class GdsFaultTest {
    private static final int UNIT = Value.UNIT;
    private static final int UNITS = 12;
    /** It tells of each failure, of which there are some hundred here. */
    private static final List<Logger> LOGGERS =
        List.of(Logger.getLogger(GdsIndex.class.getName()), Logger.getLogger(IndexLog.class.getName()));

    @TempDir(factory = MemoryDirectory.class)
    private Path directory;

    @BeforeAll
    static void mute() {
        LOGGERS.forEach(logger -> logger.setLevel(Level.OFF));
    }

    @AfterAll
    static void unmute() {
        LOGGERS.forEach(logger -> logger.setLevel(null));
    }

    private static GdsRig.Setup setup(final Path where, final FileOpener files) {
        return GdsRig.Setup.of(where.resolve("gds"), UNITS, true).on(files);
    }

    /** Puts, drops, fills, reads and restarts; goes on after a failure as a host would. */
    private static void scenario(final Path where, final FileOpener files, final GdsLedger ledger) {
        withRig(where, files, ledger, rig -> {
            final long a = ledger.put(rig, Value.of("a", 1, 1));
            final long b = ledger.put(rig, Value.of("b", 2, UNIT + 7));
            ledger.flush(rig);
            ledger.put(rig, Value.of("c", 3, 3 * UNIT));
            ledger.drop(rig, b);
            final long d = ledger.put(rig, Value.of("d", 4, 2 * UNIT - 3));
            ledger.flush(rig);
            // What was dropped is free.
            ledger.put(rig, Value.of("e", 5, 2 * UNIT));
            ledger.readAll(rig);
            ledger.drop(rig, a);
            ledger.drop(rig, d);
            ledger.flush(rig);
            // Finds room wherever the others are; the index may have freed b before d came, or after.
            ledger.put(rig, Value.of("f", 6, 3 * UNIT));
            ledger.put(rig, Value.of("g", 7, UNIT));
            ledger.readAll(rig);
        });
        withRig(where, files, ledger, rig -> {
            ledger.adopt(rig);
            ledger.readAll(rig);
            final long h = ledger.put(rig, Value.of("h", 8, UNIT));
            ledger.put(rig, Value.of("i", 9, UNIT));
            ledger.put(rig, Value.of("j", 10, UNIT));
            // The file is full, without a failure before.
            ledger.put(rig, Value.of("k", 11, UNIT));
            ledger.flush(rig);
            ledger.drop(rig, h);
            ledger.flush(rig);
        });
    }

    /** All values of the scenario found room and were stored, but for the last. */
    private static void assertWhole(final GdsLedger ledger, final String why) {
        assertEquals(List.of(), ledger.failures(), why);
        assertEquals(10, ledger.commits(), why);
    }

    private static void withRig(final Path where, final FileOpener files, final GdsLedger ledger,
        final Consumer<GdsRig> body) {
        final GdsRig rig;
        try {
            rig = setup(where, files).open();
        } catch (final RuntimeException e) {
            ledger.failures().add(e);
            return;
        }
        try {
            body.accept(rig);
        } finally {
            try {
                rig.close();
            } catch (final RuntimeException e) {
                ledger.failures().add(e);
            }
        }
    }

    /** Everything holds, and everything can be used again. */
    private static void verify(final Path where, final GdsLedger ledger) {
        try (GdsRig rig = setup(where, FileOpener.POSIX).open()) {
            ledger.verify(rig);
            for (final StoredExtent one : rig.storage().committed()) {
                rig.storage().drop(one.extent().offset(), one.replicaId());
            }
            rig.assertNothingLeft();
        }
        assertEquals(List.of("gds", "gds.index", "gds.lock"), names(where));
    }

    private static List<String> names(final Path where) {
        try (Stream<Path> all = Files.list(where)) {
            return all.map(path -> path.getFileName().toString()).sorted().toList();
        } catch (final IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void failEach(final Call call, final ObjLongConsumer<Faults> arming) {
        FailingCalls.each(directory, call, arming, (where, files) -> {
            final GdsLedger ledger = new GdsLedger();
            return new FailingCalls.Run(ledger.failures(), () -> {
                scenario(where, files, ledger);
                verify(where, ledger);
            }, () -> assertWhole(ledger, "without a failure"));
        });
    }

    @ParameterizedTest
    @EnumSource(value = Call.class, names = "PUNCH", mode = EnumSource.Mode.EXCLUDE)
    void shouldHoldWhatItSaidWhenACallFailsWithAnInputOutputError(final Call call) {
        failEach(call, (faults, n) -> faults.failNth(call, n, Errno.EIO));
    }

    @ParameterizedTest
    @EnumSource(value = Call.class, names = {"OPEN", "WRITE", "SYNC", "PREALLOCATE"})
    void shouldHoldWhatItSaidWhenACallFindsTheDiskFull(final Call call) {
        failEach(call, (faults, n) -> faults.failNth(call, n, Errno.ENOSPC));
    }

    @Test
    void shouldHoldWhatItSaidWhenAWriteIsTorn() {
        failEach(Call.WRITE, (faults, n) -> faults.tearNthWrite(n, 37 + 100 * n));
    }

    @Test
    void shouldHoldWhatItSaidWhenTransfersAreShort() {
        for (int seed = 1; seed <= 8; seed++) {
            final Path where = directory.resolve("short-" + seed);
            final GdsLedger ledger = new GdsLedger();
            scenario(where, new FaultyFiles(new Faults().randomShort(seed)), ledger);
            assertWhole(ledger, "short transfers are gone on with");
            verify(where, ledger);
        }
    }

    /** At every write and sync the machine stops: in some runs the power is gone, in others only the process. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void shouldHoldWhatItSaidWhereverItStops(final boolean power) {
        boolean reached = false;
        int n = 1;
        for (; !reached; n++) {
            final Path where = directory.resolve((power ? "power-" : "killed-") + n);
            final GdsLedger ledger = new GdsLedger();
            try (PowerLossFiles files = new PowerLossFiles(n)) {
                files.cutAt(n);
                scenario(where, files, ledger);
                reached = !files.isCut();
                if (power) {
                    files.lose();
                }
            }
            try {
                verify(where, ledger);
            } catch (final AssertionError | RuntimeException e) {
                throw new AssertionError("stopped at change " + n + "; reported failures " + ledger.failures(), e);
            }
            if (reached) {
                assertWhole(ledger, "not stopped");
            }
        }
        assertTrue(n > 2, "the scenario changes nothing");
    }

    /** After a refused sync the kernel counts the pages as clean: trusting the next sync loses them. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4, 5, 6, 7, 8})
    void shouldNotTrustTheSyncAfterARefusedOne(final int n) {
        final GdsLedger ledger = new GdsLedger();
        try (PowerLossFiles files = new PowerLossFiles(n)) {
            withRig(directory, files, ledger, rig -> {
                ledger.put(rig, Value.of("before", 1, UNIT));
                ledger.flush(rig);
                files.failSync(n);
                for (int i = 0; i < 6; i++) {
                    // Long names: a record is then in blocks of the index that no later record writes again.
                    final Value value = Value.of("after" + i + "x".repeat(4000), i, 2 * UNIT - 9);
                    final long id = ledger.put(rig, value);
                    ledger.flush(rig);
                    if (i % 2 == 0) {
                        ledger.drop(rig, id);
                        ledger.flush(rig);
                    }
                }
                assertTrue(files.hasFailedSync());
                files.cut();
            });
            files.lose();
        }
        verify(directory, ledger);
    }

    /** What a sync that failed may have lost is not read any more, and neither is what was being written then. */
    @Test
    void shouldDropWhatASyncMayHaveLost() {
        final Faults faults = new Faults();
        try (GdsRig rig = setup(directory, new FaultyFiles(faults)).open()) {
            final Value safe = Value.of("safe", 1, UNIT);
            final StoredExtent before = rig.put(safe, 1);
            rig.storage().flush();
            final GdsReservation slow = rig.reserve(Value.of("slow", 1, UNIT));
            GdsRig.write(slow, Value.of("slow", 1, UNIT));
            slow.offered();
            slow.accepted(1, 2);
            final StoredExtent heard = GdsRig.stored(Value.of("slow", 1, UNIT), slow.extent(), 2);
            final GdsLease early = rig.acquire(heard);
            assertTrue(early.isStillValid(), "who has the master's word may read it");
            final StoredExtent lost = putWithFailingSync(rig, faults);

            assertFalse(rig.has(lost));
            assertFalse(rig.has(heard));
            assertFalse(early.isStillValid());
            early.close();
            rig.assertReadable(safe, before);
            assertFalse(slow.commit(false, 0), "it was written before the sync that failed");
            slow.close();
            rig.storage().flush();
            assertEquals(UNIT, rig.storage().usedBytes());
            final StoredExtent again = rig.put(Value.of("lost", 2, UNIT), 4);
            rig.storage().flush();
            assertEquals(List.of(before, again), rig.storage().committed());
        }
        try (GdsRig rig = setup(directory, FileOpener.POSIX).open()) {
            assertEquals(List.of("safe", "lost"),
                rig.storage().recovered().stream().map(one -> one.key().key()).toList());
        }
    }

    /** The pass that writes it down fails, whichever it is: the one that its commit wants, or the flush's. */
    private static StoredExtent putWithFailingSync(final GdsRig rig, final Faults faults) {
        faults.failAlways(Call.SYNC, Errno.EIO);
        final StoredExtent lost = rig.put(Value.of("lost", 1, UNIT), 3);
        final StoreException failure = assertThrows(StoreException.class, rig.storage()::flush);
        assertEquals(ErrorCode.FILE_WRITE_FAIL, failure.code());
        faults.heal();
        return lost;
    }

    /** Nothing is given away whose removal a crash could undo. */
    @Test
    void shouldKeepWhatIsRemovedUntilThatIsDurable() {
        final Faults faults = new Faults();
        final Value old = Value.of("old", 1, UNITS * UNIT);
        try (GdsRig rig = setup(directory, new FaultyFiles(faults)).open()) {
            final StoredExtent stored = rig.put(old, 1);
            rig.storage().flush();
            faults.failAlways(Call.SYNC, Errno.EIO);
            rig.storage().drop(stored.extent().offset(), 1);
            assertThrows(StoreException.class, rig.storage()::flush);
            assertFalse(rig.has(stored));
            assertNull(rig.storage().reserve(ObjectKey.of("next"), 1));
            assertEquals(1, rig.storage().stats().resting());
            faults.heal();
            rig.storage().flush();
            try (GdsReservation next = rig.storage().reserve(ObjectKey.of("next"), UNITS * UNIT)) {
                assertNotNull(next);
            }
        }
    }

    /** Who finds no room has the removals tried again that could not be written down. */
    @Test
    void shouldTryAgainToFreeWhenThereIsNoRoom() {
        final Faults faults = new Faults();
        try (GdsRig rig = setup(directory, new FaultyFiles(faults)).open()) {
            final StoredExtent stored = rig.put(Value.of("old", 1, UNITS * UNIT), 1);
            rig.storage().flush();
            faults.failAlways(Call.SYNC, Errno.EIO);
            rig.storage().drop(stored.extent().offset(), 1);
            assertThrows(StoreException.class, rig.storage()::flush);
            faults.heal();
            Threads.awaitUntil(() -> {
                try (GdsReservation next = rig.storage().reserve(ObjectKey.of("next"), UNIT)) {
                    return next != null;
                }
            }, rig.storage()::stats);
        }
    }

    /** A process that dies leaves its files as they are; a new one finds what was flushed, at every step. */
    @Test
    void shouldFindWhatWasFlushedInACopyOfTheFilesAtEveryStep() throws IOException {
        final Path image = Files.createDirectories(directory.resolve("image"));
        final GdsLedger ledger = new GdsLedger();
        try (GdsRig rig = setup(directory, FileOpener.POSIX).open()) {
            long last = 0;
            for (int i = 0; i < 24; i++) {
                final long id = ledger.put(rig, Value.of("k" + i % 5, i, 1 + i * 777 % (3 * UNIT)));
                if (i % 3 == 2) {
                    ledger.drop(rig, last);
                }
                last = id;
                if (i > 8) {
                    ledger.drop(rig, i - 7);
                }
                ledger.flush(rig);
                verifyImage(image, ledger);
            }
            assertEquals(List.of(), ledger.failures());
            assertTrue(ledger.commits() >= 12, () -> "only " + ledger.commits() + " of 24 found room");
        }
    }

    private void verifyImage(final Path image, final GdsLedger ledger) throws IOException {
        for (final String name : List.of("gds", "gds.index")) {
            Files.copy(directory.resolve(name), image.resolve(name));
        }
        try (GdsRig rig = setup(image, FileOpener.POSIX).open()) {
            ledger.verify(rig);
        }
        for (final String name : names(image)) {
            Files.delete(image.resolve(name));
        }
    }

    /** What is committed can be read, dropped and is free again while the disk is still busy with it. */
    @Test
    void shouldNotLetAnybodyWaitForTheIndex() throws InterruptedException {
        final Faults faults = new Faults();
        // So small that its reader reads it by itself: the one thread for files is held.
        final Value value = Value.of("k", 3, 2);
        try (GdsRig rig = setup(directory, new FaultyFiles(faults)).open()) {
            final StoredExtent stored;
            try (Faults.Gate gate = faults.blockNext(Call.SYNC)) {
                stored = rig.put(value, 1);
                gate.awaitEntered();
                rig.assertReadable(value, stored);
                rig.storage().drop(stored.extent().offset(), 1);
                assertFalse(rig.has(stored));
                assertEquals(0, rig.storage().usedBytes(), "no record can name it");
            }
            rig.assertNothingLeft();
        }
        try (GdsRig rig = setup(directory, FileOpener.POSIX).open()) {
            assertEquals(List.of(), rig.storage().recovered());
        }
    }

    /** A record that is being written may be found after a crash, whatever is dropped meanwhile. */
    @Test
    void shouldKeepWhatIsDroppedWhileItsRecordIsWritten() throws InterruptedException {
        final Faults faults = new Faults();
        try (GdsRig rig = setup(directory, new FaultyFiles(faults)).open()) {
            final GdsReservation reservation = rig.reserve(Value.of("k", 1, UNIT));
            GdsRig.write(reservation, Value.of("k", 1, UNIT));
            reservation.offered();
            reservation.accepted(1, 1);
            // The next write is that of the record, or of the zeros ahead of it.
            try (Faults.Gate gate = faults.blockNext(Call.WRITE)) {
                assertTrue(reservation.commit(false, 0));
                gate.awaitEntered();
                rig.storage().drop(reservation.extent().offset(), 1);
                assertEquals(UNIT, rig.storage().usedBytes());
                assertEquals(1, rig.storage().stats().resting());
            }
            reservation.close();
            rig.assertNothingLeft();
        }
    }

    /** A reader that meets a bad disk is told so, and another one reads on. */
    @Test
    void shouldTellAReaderThatTheDiskHasFailed() {
        final Faults faults = new Faults();
        final Value value = Value.of("k", 1, UNIT);
        try (GdsRig rig = setup(directory, new FaultyFiles(faults)).open()) {
            final StoredExtent stored = rig.put(value, 1);
            faults.failNth(Call.READ, 1, Errno.EIO);
            try (GdsLease lease = rig.acquire(stored)) {
                assertThrows(RuntimeException.class, () -> GdsRig.read(lease, UNIT, true));
                assertArrayEquals(value.bytes(), GdsRig.read(lease, UNIT, true));
            }
        }
    }
}
