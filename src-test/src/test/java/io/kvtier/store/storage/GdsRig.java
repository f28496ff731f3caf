package io.kvtier.store.storage;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.alloc.HostRegion;
import io.kvtier.alloc.RegionSlice;
import io.kvtier.bindings.NativeTag;
import io.kvtier.bindings.uring.Uring;
import io.kvtier.kit.NotExercised;
import io.kvtier.kit.PatternBytes;
import io.kvtier.transport.Transfer;
import io.kvtier.transport.TransferConfig;
import io.kvtier.transport.TransferEngine;
import io.kvtier.transport.Transport;
import io.kvtier.transport.file.FileOpener;
import io.kvtier.transport.file.PosixTransport;
import io.kvtier.transport.file.UringConfig;
import io.kvtier.transport.file.UringTransport;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.agrona.CloseHelper;

/** A manager with the engine that moves its bytes, and values in and out of memory of its own. Thread-safe. */
final class GdsRig implements AutoCloseable {
    private static final int UNIT = Value.UNIT;
    private static final long SLICE_BYTES = 16L << 10;
    private static final long CLOSE_TIMEOUT_MS = 60_000;
    /** Where memory starts that no direct transfer can use as it is. */
    private static final int ODD = 8;

    private final TransferEngine engine;
    private final GdsStorageManager storage;

    /** What moves the bytes. */
    enum Mover {
        POSIX, POSIX_DIRECT, URING, URING_DIRECT
    }

    /** Where and how. One thread for files, so that the order of calls to the disk is the same every time. */
    record Setup(Path file, long units, boolean warm, FileOpener files, Mover mover) {
        static Setup of(final Path file, final long units, final boolean warm) {
            return new Setup(file, units, warm, FileOpener.POSIX, Mover.POSIX);
        }

        Setup by(final Mover other) {
            return new Setup(file, units, warm, files, other);
        }

        Setup on(final FileOpener others) {
            return new Setup(file, units, warm, others, mover);
        }

        Setup at(final Path other) {
            return new Setup(other, units, warm, files, mover);
        }

        Setup warm(final boolean other) {
            return new Setup(file, units, other, files, mover);
        }

        Setup units(final long other) {
            return new Setup(file, other, warm, files, mover);
        }

        GdsRig open() {
            return new GdsRig(this);
        }

        private Transport transport() {
            final boolean direct = mover == Mover.POSIX_DIRECT || mover == Mover.URING_DIRECT;
            if (mover == Mover.POSIX || mover == Mover.POSIX_DIRECT) {
                return new PosixTransport(files, 1, direct);
            }
            NotExercised.require("io_uring", Uring.availability().available(), Uring.availability().toString());
            return new UringTransport(files, UringConfig.DEFAULT, direct);
        }
    }

    private GdsRig(final Setup setup) {
        engine = TransferEngine.open(new TransferConfig(SLICE_BYTES, CLOSE_TIMEOUT_MS), List.of(setup.transport()));
        try {
            storage = GdsStorageManager.open(
                new GdsStorageManager.Options(setup.file(), setup.units() * UNIT, setup.warm()), engine,
                setup.files());
        } catch (final RuntimeException e) {
            engine.close();
            throw e;
        }
    }

    GdsStorageManager storage() {
        return storage;
    }

    TransferEngine engine() {
        return engine;
    }

    GdsReservation reserve(final Value value) {
        final GdsReservation reservation = storage.reserve(value.key(), value.size());
        assertNotNull(reservation, () -> "no room for " + value + ", " + storage.stats());
        assertEquals(value.extent(), reservation.extent().bytes());
        return reservation;
    }

    /** Memory with a value in it, in two slices, the last one as long as the value or as its extent. */
    static final class Source implements AutoCloseable {
        private final HostRegion memory;
        private final List<RegionSlice> slices = new ArrayList<>();

        Source(final Value value, final boolean padded) {
            final long length = padded ? value.extent() : value.size();
            final int at = padded ? 0 : ODD;
            memory = HostRegion.allocate(NativeTag.TEST, length + UNIT);
            memory.segment().asSlice(at, value.size()).copyFrom(MemorySegment.ofArray(value.bytes()));
            final long first = padded ? length / 2 / UNIT * UNIT : length / 2;
            if (first > 0) {
                slices.add(memory.slice(at, first));
            }
            slices.add(memory.slice(at + first, length - first));
        }

        List<RegionSlice> slices() {
            return slices;
        }

        @Override
        public void close() {
            memory.close();
        }
    }

    static void write(final GdsReservation reservation, final Value value) {
        try (Source source = new Source(value, value.version() % 2 == 0)) {
            reservation.write(source.slices()).await();
        }
    }

    /** Everything that a put does. */
    StoredExtent put(final Value value, final long replicaId) {
        try (GdsReservation reservation = reserve(value)) {
            write(reservation, value);
            reservation.offered();
            reservation.accepted(value.version(), replicaId);
            assertTrue(reservation.commit(true, value.checksum()));
            return stored(value, reservation.extent(), replicaId);
        }
    }

    /** What the manager has to say of a value that was committed with its checksum. */
    static StoredExtent stored(final Value value, final Extent extent, final long replicaId) {
        return new StoredExtent(value.key(), value.version(), extent, value.size(), true, value.checksum(), replicaId);
    }

    GdsLease acquire(final StoredExtent stored) {
        return storage.acquire(stored.key(), stored.version(), stored.extent(), stored.size());
    }

    boolean has(final StoredExtent stored) {
        try (GdsLease lease = acquire(stored)) {
            return lease != null;
        }
    }

    /** The bytes under a lease, read in two slices at odd places. */
    static byte[] read(final GdsLease lease, final int size, final boolean alone) {
        final int first = size / 3;
        try (HostRegion memory = HostRegion.allocate(NativeTag.TEST, size + ODD)) {
            final List<RegionSlice> slices = new ArrayList<>();
            if (first > 0) {
                slices.add(memory.slice(ODD, first));
            }
            slices.add(memory.slice(ODD + first, size - first));
            final Transfer transfer = lease.read(0, slices, alone);
            transfer.await();
            return PatternBytes.copyOf(memory.segment().asSlice(ODD, size));
        }
    }

    void assertReadable(final Value value, final StoredExtent stored) {
        try (GdsLease lease = acquire(stored)) {
            assertNotNull(lease, () -> value + " is not there");
            assertArrayEquals(value.bytes(), read(lease, value.size(), value.version() % 3 == 0),
                () -> "bytes of " + value);
            assertTrue(lease.isStillValid());
        }
    }

    /** Of things that are given up, none is left that nobody waits for. */
    void assertNothingLeft() {
        storage.flush();
        final GdsStorageStats stats = storage.stats();
        assertEquals(new GdsStorageStats(storage.capacityBytes(), 0, 0, 0, 0, 0, 0, 0, stats.deferredFrees(), 0),
            stats);
        assertEquals(0, storage.usedBytes());
        try (GdsReservation all = storage.reserve(Value.of("all", 1, 1).key(), storage.capacityBytes())) {
            assertNotNull(all, "the whole file is one free extent again");
        }
    }

    @Override
    public void close() {
        CloseHelper.closeAll(storage, engine);
    }
}
