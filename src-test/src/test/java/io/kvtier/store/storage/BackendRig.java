package io.kvtier.store.storage;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;

import io.kvtier.alloc.HostRegion;
import io.kvtier.alloc.RegionSlice;
import io.kvtier.bindings.NativeTag;
import io.kvtier.kit.PatternBytes;
import io.kvtier.store.DiskBackend;
import io.kvtier.store.storage.StorageBackend.Item;
import io.kvtier.store.storage.StorageBackend.Outcome;
import io.kvtier.store.storage.StorageBackend.ReadLease;
import io.kvtier.store.storage.StorageBackend.Result;
import io.kvtier.transport.TransferConfig;
import io.kvtier.transport.TransferEngine;
import io.kvtier.transport.Transport;
import io.kvtier.transport.file.FileOpener;
import io.kvtier.transport.file.PosixTransport;
import io.kvtier.transport.memory.MemoryTransport;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.UnaryOperator;
import org.agrona.CloseHelper;

/** A backend with the engine that moves its bytes, and values in and out of memory of its own. Thread-safe. */
final class BackendRig implements AutoCloseable {
    private static final long SLICE_BYTES = 1L << 20;
    private static final long CLOSE_TIMEOUT_MS = 60_000;
    /** Where memory without padding starts: no direct transfer can use it as it is. */
    private static final int ODD = 8;

    private final TransferEngine engine;
    private final StorageBackend backend;

    /** How a backend is opened. */
    @FunctionalInterface
    interface Opening {
        StorageBackend open(Setup setup, TransferEngine engine);
    }

    /** Where and how. */
    record Setup(Opening opening, Path directory, long units, double high, double low, FileOpener files,
        boolean direct, int ioThreads) {
        /** With one thread, so that the order of calls to the disk is the same every time. */
        Setup(final Opening opening, final Path directory, final long units, final double high, final double low,
            final FileOpener files, final boolean direct) {
            this(opening, directory, units, high, low, files, direct, 1);
        }

        long capacity() {
            return units * Value.UNIT;
        }

        Setup in(final Path other) {
            return new Setup(opening, other, units, high, low, files, direct, ioThreads);
        }

        Setup threads(final int count) {
            return new Setup(opening, directory, units, high, low, files, direct, count);
        }

        Setup watermarks(final double highest, final double lowest) {
            return new Setup(opening, directory, units, highest, lowest, files, direct, ioThreads);
        }

        BackendRig open() {
            return open(UnaryOperator.identity());
        }

        /** With what is put around the transport of the files. */
        BackendRig open(final UnaryOperator<Transport> around) {
            return new BackendRig(this, around);
        }
    }

    private BackendRig(final Setup setup, final UnaryOperator<Transport> around) {
        engine = TransferEngine.open(new TransferConfig(SLICE_BYTES, CLOSE_TIMEOUT_MS),
            List.of(new MemoryTransport(), around.apply(new PosixTransport(setup.files(), setup.ioThreads(),
                setup.direct()))));
        try {
            backend = setup.opening().open(setup, engine);
        } catch (final RuntimeException e) {
            engine.close();
            throw e;
        }
    }

    static StorageBackend offsetAllocator(final Setup setup, final TransferEngine engine) {
        return of(DiskBackend.OFFSET_ALLOCATOR).open(setup, engine);
    }

    /** A folder on a shared file system is kept without a thread, whose calls come at any time, and without waiting. */
    static Opening of(final DiskBackend kind) {
        if (kind == DiskBackend.DISTRIBUTED) {
            return ofHost("node");
        }
        return (setup, engine) -> StorageBackends.open(kind, new BackendOptions(setup.directory(), setup.capacity(),
            setup.high(), setup.low()), engine, setup.files());
    }

    static Opening ofHost(final String host) {
        return (setup, engine) -> StorageBackends.open(DiskBackend.DISTRIBUTED, new BackendOptions(setup.directory(),
            setup.capacity(), setup.high(), setup.low(), host), engine, setup.files(), folder -> FolderOwner.take(
                folder, FolderMarker.Self.of(host, folder), setup.files(), new SteppedPace()));
    }

    StorageBackend backend() {
        return backend;
    }

    /** Stores values that the owner wants, from memory with or without room for the padding. */
    List<Result> store(final ModelOwner owner, final boolean padded, final List<Value> values) {
        values.forEach(owner::want);
        final long bytes = values.stream().mapToLong(value -> value.extent() + Value.UNIT).sum();
        try (HostRegion memory = HostRegion.allocate(NativeTag.TEST, bytes)) {
            final List<Item> items = new ArrayList<>();
            long at = 0;
            for (final Value value : values) {
                final RegionSlice slice = memory.slice(at + (padded ? 0 : ODD), padded ? value.extent() : value.size());
                slice.segment().asSlice(0, value.size()).copyFrom(MemorySegment.ofArray(
                    value.bytes()));
                items.add(new Item(value.key(), value.version(), slice, value.size()));
                at += value.extent() + Value.UNIT;
            }
            return backend.store(items, owner);
        }
    }

    /** Stores a value that was used last at some time of {@link System#nanoTime}. */
    void storeUsed(final ModelOwner owner, final Value value, final long usedNanos) {
        owner.want(value);
        try (HostRegion memory = HostRegion.allocate(NativeTag.TEST, value.extent())) {
            memory.segment().asSlice(0, value.size()).copyFrom(MemorySegment.ofArray(value.bytes()));
            assertEquals(Outcome.STORED, backend.store(List.of(new Item(value.key(), value.version(),
                memory.slice(0, value.extent()), value.size(), usedNanos)), owner).getFirst().outcome());
        }
    }

    void storeAll(final ModelOwner owner, final List<Value> values) {
        final List<Result> results = store(owner, true, values);
        for (int i = 0; i < values.size(); i++) {
            final Result result = results.get(i);
            assertEquals(Outcome.STORED, result.outcome(), () -> "cause " + result.cause());
            assertEquals(values.get(i).checksum(), result.checksum(), "checksum of " + values.get(i));
        }
    }

    void remove(final ModelOwner owner, final Value value) {
        owner.forget(value);
        backend.remove(value.key(), value.version());
    }

    /** The bytes of a value, or null when it is not there. */
    byte[] read(final Value value, final boolean padded) {
        try (ReadLease lease = backend.acquire(value.key(), value.version())) {
            return lease == null ? null : read(lease, padded);
        }
    }

    byte[] read(final ReadLease lease, final boolean padded) {
        final int size = Math.toIntExact(lease.value().size());
        final long room = padded ? Math.ceilDiv(size, Value.UNIT) * (long) Value.UNIT : size;
        try (HostRegion memory = HostRegion.allocate(NativeTag.TEST, size + 2L * Value.UNIT)) {
            final RegionSlice target = memory.slice(padded ? 0 : ODD, Math.max(room, padded ? Value.UNIT : 0));
            lease.read(target, padded).await();
            return PatternBytes.copyOf(target.segment().asSlice(0, size));
        }
    }

    boolean has(final Value value) {
        try (ReadLease lease = backend.acquire(value.key(), value.version())) {
            return lease != null;
        }
    }

    void assertReadable(final Value value) {
        final byte[] found = read(value, value.version() % 2 == 0);
        assertNotNull(found, () -> value + " is not there");
        assertArrayEquals(value.bytes(), found, () -> "bytes of " + value);
    }

    @Override
    public void close() {
        CloseHelper.closeAll(backend, engine);
    }
}
