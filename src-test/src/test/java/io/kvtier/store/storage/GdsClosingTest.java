package io.kvtier.store.storage;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.alloc.HostRegion;
import io.kvtier.alloc.RegionSlice;
import io.kvtier.bindings.NativeTag;
import io.kvtier.kit.Faults;
import io.kvtier.kit.Faults.Call;
import io.kvtier.kit.FaultyFiles;
import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.PatternBytes;
import io.kvtier.kit.Threads;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.StoreException;
import io.kvtier.transport.Segment;
import io.kvtier.transport.Transfer;
import io.kvtier.transport.file.FileOpener;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Transfers that are under way when something is closed, many threads at once, and settings. */
@ExtendWith(LeakCheck.class)
class GdsClosingTest {
    private static final int UNIT = Value.UNIT;
    private static final int THREADS = 4;
    private static final int VALUES = 60;

    @TempDir
    private Path directory;

    private GdsRig.Setup setup(final long units, final boolean warm) {
        return GdsRig.Setup.of(directory.resolve("gds.data"), units, warm);
    }

    private static UnsettledExtent unsettled(final GdsRig rig, final Value value) {
        try (GdsReservation reservation = rig.reserve(value)) {
            GdsRig.write(reservation, value);
            reservation.offered();
        }
        return rig.storage().unsettled(1).getFirst();
    }

    @Test
    void shouldFreeNothingThatIsBeingWritten() throws InterruptedException {
        final Value value = Value.of("k", 1, UNIT);
        final Faults faults = new Faults();
        try (GdsRig rig = setup(2, false).on(new FaultyFiles(faults)).open();
            GdsRig.Source source = new GdsRig.Source(value, true)) {
            final GdsReservation free = rig.reserve(value);
            final Transfer write;
            try (Faults.Gate gate = faults.blockNext(Call.WRITE)) {
                write = free.write(source.slices());
                gate.awaitEntered();
                free.close();
                assertEquals(new GdsStorageStats(2 * UNIT, UNIT, 0, 0, 0, 0, 1, 0, 0, 0), rig.storage().stats());
                assertNull(rig.storage().reserve(ObjectKey.of("two"), 2 * UNIT));
            }
            write.await();
            rig.assertNothingLeft();
        }
    }

    @Test
    void shouldGiveUpAHoldOnlyWhenItsReadsHaveEnded() throws InterruptedException {
        final Value value = Value.of("k", 1, UNIT);
        final Faults faults = new Faults();
        try (GdsRig rig = setup(2, false).on(new FaultyFiles(faults)).open();
            HostRegion memory = HostRegion.allocate(NativeTag.TEST, UNIT)) {
            final StoredExtent stored = rig.put(value, 1);
            final GdsLease lease = rig.acquire(stored);
            final Transfer read;
            try (Faults.Gate gate = faults.blockNext(Call.READ)) {
                read = lease.read(0, List.of(memory.slice(0, UNIT)), false);
                gate.awaitEntered();
                lease.close();
                rig.storage().drop(stored.extent().offset(), 1);
                assertEquals(1, rig.storage().stats().leases());
                assertEquals(UNIT, rig.storage().usedBytes());
            }
            read.await();
            assertArrayEquals(value.bytes(), PatternBytes.copyOf(memory.segment()));
            rig.assertNothingLeft();
        }
    }

    @Test
    void shouldRefuseNewThingsAndEndOldOnesWhenItIsClosed() {
        final Value value = Value.of("k", 1, UNIT);
        final GdsRig rig = setup(8, true).open();
        final StoredExtent stored = rig.put(value, 1);
        final GdsLease lease = rig.acquire(stored);
        final GdsReservation written = rig.reserve(Value.of("w", 1, UNIT));
        GdsRig.write(written, Value.of("w", 1, UNIT));
        written.offered();
        written.accepted(1, 2);
        final GdsReservation fresh = rig.reserve(value);
        final UnsettledExtent open = unsettled(rig, Value.of("u", 1, UNIT));
        assertTrue(lease.isStillValid());

        rig.close();
        rig.storage().close();

        assertNull(rig.storage().reserve(value.key(), 1));
        assertNull(rig.acquire(stored));
        assertFalse(lease.isStillValid(), "the file may be another store's by now");
        assertFalse(written.commit(false, 0));
        assertFalse(rig.storage().settle(open, Verdict.complete(3, 1)));
        assertFalse(rig.storage().adopt(stored, 9));
        rig.storage().drop(stored.extent().offset(), 1);
        rig.storage().refuse(stored);
        rig.storage().flush();
        try (HostRegion memory = HostRegion.allocate(NativeTag.TEST, UNIT)) {
            assertThrows(RuntimeException.class, () -> lease.read(0, List.of(memory.slice(0, UNIT)), true));
            assertThrows(RuntimeException.class, () -> fresh.write(List.of(memory.slice(0, UNIT))));
        }
        fresh.close();
        written.close();
        lease.close();
        assertEquals(8L * UNIT, rig.storage().capacityBytes());
        assertEquals(0, rig.storage().stats().leases());
    }

    @ParameterizedTest
    @EnumSource(value = Call.class, names = {"WRITE", "READ"})
    void shouldWaitForWhatIsRunningWhenItIsClosed(final Call call) throws InterruptedException {
        final Value value = Value.of("k", 1, UNIT);
        final Faults faults = new Faults();
        final GdsRig.Setup setup = setup(4, false).on(new FaultyFiles(faults));
        try (GdsRig rig = setup.open(); HostRegion memory = HostRegion.allocate(NativeTag.TEST, UNIT)) {
            final StoredExtent stored = rig.put(value, 1);
            final List<RegionSlice> slices = List.of(memory.slice(0, UNIT));
            final CompletableFuture<Void> closing;
            final Transfer running;
            try (GdsReservation reservation = rig.reserve(value); GdsLease lease = rig.acquire(stored);
                Faults.Gate gate = faults.blockNext(call)) {
                running = call == Call.WRITE ? reservation.write(slices) : lease.read(0, slices, false);
                gate.awaitEntered();
                final CompletableFuture<Thread> closer = new CompletableFuture<>();
                closing = Threads.start(() -> {
                    closer.complete(Thread.currentThread());
                    rig.storage().close();
                });
                Threads.awaitInside(closer.join(), Segment.class, "close");
                assertTrue(Threads.awaitWaiting(closer.join()), "it waits for the transfer");
                assertFalse(closing.isDone());
                assertFalse(running.isDone());
            }
            closing.join();
            assertTrue(running.isDone());
            assertNull(running.failure());
            if (call == Call.READ) {
                assertArrayEquals(value.bytes(), PatternBytes.copyOf(memory.segment()));
            }
        }
    }

    @Test
    void shouldRoundTheCapacityDown() throws IOException {
        try (GdsRig rig = setup(4, true).open()) {
            final GdsStorageManager.Options options =
                new GdsStorageManager.Options(directory.resolve("other"), 3 * UNIT - 1, true);
            try (GdsStorageManager other = GdsStorageManager.open(options, rig.engine(), FileOpener.POSIX)) {
                assertEquals(2L * UNIT, other.capacityBytes());
            }
            assertEquals(3L * UNIT, Files.size(directory.resolve("other")));
        }
    }

    @Test
    void shouldRefuseSettingsThatCannotBe() {
        for (final long capacity : new long[] {Long.MIN_VALUE, -1, 0, UNIT - 1, (1L << 44) + 1}) {
            assertInvalid(directory.resolve("f"), capacity, "" + capacity);
        }
        assertInvalid(Path.of("relative"), UNIT, "relative");
        assertInvalid(Path.of("/"), UNIT, "/");
        assertInvalid(null, UNIT, "absolute");
        for (final long[] wrong : new long[][] {{-UNIT, UNIT}, {1, UNIT}, {0, 0}, {0, UNIT + 1}}) {
            assertThrows(IllegalArgumentException.class, () -> new Extent(wrong[0], wrong[1]));
        }
    }

    private static void assertInvalid(final Path file, final long capacity, final String named) {
        final StoreException refusal = assertThrows(StoreException.class,
            () -> new GdsStorageManager.Options(file, capacity, true));
        assertEquals(ErrorCode.INVALID_PARAMS, refusal.code());
        assertTrue(refusal.getMessage().contains(named), refusal.getMessage());
    }

    /** Threads put, read and drop, each values of its own, in a file that is too small for what rests meanwhile. */
    @ParameterizedTest
    @EnumSource(value = GdsRig.Mover.class, names = {"POSIX", "URING"})
    void shouldServeManyThreadsAtOnce(final GdsRig.Mover mover) {
        // The others hold at most four units each: however these lie, one of the gaps beside them has four.
        try (GdsRig rig = setup(4 * (THREADS - 1) + 4 * THREADS, true).by(mover).open()) {
            final List<CompletableFuture<Void>> threads = IntStream.range(0, THREADS)
                .mapToObj(thread -> Threads.start(() -> putReadAndDrop(rig, thread))).toList();
            threads.forEach(CompletableFuture::join);
            rig.assertNothingLeft();
        }
    }

    private static void putReadAndDrop(final GdsRig rig, final int thread) {
        int inVain = 0;
        for (int i = 0; i < VALUES; i++) {
            final Value value = Value.of("t" + thread, i + 1, 1 + (i * 977 + thread * 313) % (4 * UNIT));
            GdsReservation reservation = rig.storage().reserve(value.key(), value.size());
            while (reservation == null) {
                // Frees what was dropped: there is no room only if another value was dropped since, each of them once.
                rig.storage().flush();
                reservation = rig.storage().reserve(value.key(), value.size());
                assertTrue(reservation != null || ++inVain <= (THREADS - 1) * VALUES,
                    () -> "no room though all was flushed: " + rig.storage().stats());
            }
            final long id = thread * 1000L + i;
            GdsRig.write(reservation, value);
            reservation.offered();
            reservation.accepted(value.version(), id);
            assertTrue(reservation.commit(true, value.checksum()));
            reservation.close();
            final StoredExtent stored = GdsRig.stored(value, reservation.extent(), id);
            final GdsLease lease = rig.acquire(stored);
            assertNotNull(lease);
            rig.storage().drop(stored.extent().offset(), id);
            assertArrayEquals(value.bytes(), GdsRig.read(lease, value.size(), i % 2 == 0));
            lease.close();
        }
    }
}
