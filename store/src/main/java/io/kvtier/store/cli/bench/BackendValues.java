package io.kvtier.store.cli.bench;

import io.kvtier.alloc.RegionSlice;
import io.kvtier.store.BatchResult;
import io.kvtier.store.DiskBackend;
import io.kvtier.store.DiskConfig;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.GetOutcome;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.PutOutcome;
import io.kvtier.store.Store;
import io.kvtier.store.StoreException;
import io.kvtier.store.replica.ReplicaType;
import io.kvtier.store.storage.BackendOptions;
import io.kvtier.store.storage.BlockHash;
import io.kvtier.store.storage.StorageBackend;
import io.kvtier.store.storage.StorageBackends;
import io.kvtier.store.storage.StoredValue;
import io.kvtier.transport.Transfer;
import io.kvtier.transport.TransferConfig;
import io.kvtier.transport.TransferEngine;
import io.kvtier.transport.file.FileOpener;
import io.kvtier.transport.file.PosixTransport;
import io.kvtier.transport.file.UringConfig;
import io.kvtier.transport.file.UringTransport;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/**
 * Values of a disk backend: stored together as an offload does it, durably, and loaded together, each compared with its
 * checksum. Whatever has to make room may go.
 *
 * <p><b>Threading:</b> one thread. <b>Lifetime:</b> all that it uses belongs to the rig.
 */
final class BackendValues implements BatchValues {
    private static final long VERSION = 1;
    private static final StorageBackend.Owner OWNER = new StorageBackend.Owner() {
        @Override
        public List<Boolean> mayEvict(final List<StoredValue> victims) {
            return Collections.nCopies(victims.size(), true);
        }

        @Override
        public List<Boolean> mayEvictCopies(final List<StoredValue> victims) {
            return mayEvict(victims);
        }

        @Override
        public boolean isCurrent(final ObjectKey key, final long version) {
            return true;
        }
    };

    private final StorageBackend backend;

    private BackendValues(final StorageBackend backend) {
        this.backend = backend;
    }

    /**
     * Opens a backend, past the page cache.
     *
     * @param rig      keeps it.
     * @param kind     which.
     * @param folder   where its files are.
     * @param capacity bytes that it may hold.
     * @return with what the folder had.
     */
    static BackendValues open(final Rig rig, final DiskBackend kind, final Path folder, final long capacity) {
        final TransferEngine engine = rig.keep(TransferEngine.open(TransferConfig.DEFAULT,
            List.of(new UringTransport(UringConfig.DEFAULT, true),
                new PosixTransport(DiskConfig.NONE.files().ioThreads(), true))), TransferEngine::close);
        return new BackendValues(rig.keep(StorageBackends.open(kind, new BackendOptions(folder, capacity,
            DiskConfig.NONE.highWatermark(), DiskConfig.NONE.lowWatermark()), engine, FileOpener.POSIX),
            StorageBackend::close));
    }

    @Override
    public List<BatchResult<PutOutcome>> put(final List<Store.Item> items) {
        return backend.store(items.stream().map(item -> new StorageBackend.Item(item.key(), VERSION,
            memory(item), memory(item).length())).toList(), OWNER).stream().map(BackendValues::result).toList();
    }

    private static RegionSlice memory(final Store.Item item) {
        return RegionSlice.of(item.memory().getFirst());
    }

    private static BatchResult<PutOutcome> result(final StorageBackend.Result result) {
        return switch (result.outcome()) {
            case STORED -> new BatchResult<>(PutOutcome.STORED, null);
            case NO_SPACE -> new BatchResult<>(PutOutcome.NO_SPACE, null);
            case TOO_LARGE, FAILED, REMOVED_MEANWHILE -> new BatchResult<>(null,
                new StoreException(ErrorCode.FILE_WRITE_FAIL, "the backend says " + result.outcome(),
                    result.cause()));
        };
    }

    /** A value that is read; both are closed when it has been. */
    private record Reading(StorageBackend.ReadLease lease, Transfer transfer, MemorySegment target) {
        BatchResult<GetOutcome> finish() throws IOException {
            try (lease) {
                transfer.await();
                if (BlockHash.xxh64(target) != lease.value().checksum()) {
                    throw new IOException("what is loaded for " + lease.value().key()
                        + " has not the checksum of what was stored");
                }
                return new BatchResult<>(new GetOutcome(true, lease.value().size(), ReplicaType.LOCAL_DISK), null);
            }
        }
    }

    @Override
    public List<BatchResult<GetOutcome>> get(final List<Store.Item> items) throws IOException {
        final List<Reading> readings = new ArrayList<>(items.size());
        final List<BatchResult<GetOutcome>> results = new ArrayList<>(items.size());
        for (final Store.Item item : items) {
            final StorageBackend.ReadLease lease = backend.acquire(item.key(), VERSION);
            readings.add(lease == null ? null
                : new Reading(lease, lease.read(memory(item), items.size() == 1), item.memory().getFirst()));
        }
        for (final Reading reading : readings) {
            results.add(reading == null ? new BatchResult<>(GetOutcome.MISS, null) : reading.finish());
        }
        return results;
    }
}
