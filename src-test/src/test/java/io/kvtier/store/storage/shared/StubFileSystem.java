package io.kvtier.store.storage.shared;

import io.kvtier.bindings.Availability;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreException;
import io.kvtier.transport.Uninterrupted;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;

/** Files that only know who they are: what is open, and what was closed. */
final class StubFileSystem implements FileSystemAdapter {
    private final Map<String, Integer> there = new ConcurrentHashMap<>();
    private final List<StubFile> opened = new CopyOnWriteArrayList<>();
    private volatile boolean statusFails;
    private volatile CountDownLatch entered;
    private volatile CountDownLatch hold;

    /** A file that moves nothing. */
    final class StubFile implements SharedFile {
        private final String path;
        private final int identity;
        private volatile int closes;

        private StubFile(final String path, final int identity) {
            this.path = path;
            this.identity = identity;
        }

        boolean isOpen() {
            return closes == 0;
        }

        @Override
        public String path() {
            return path;
        }

        @Override
        public Object identity() {
            return identity;
        }

        @Override
        public RangeTransfer read(final long offset, final List<MemorySegment> targets, final long timeoutMs,
            final boolean alone) {
            return RangeTransfer.NOTHING;
        }

        @Override
        public RangeTransfer write(final long offset, final List<MemorySegment> sources, final long timeoutMs) {
            return RangeTransfer.NOTHING;
        }

        @Override
        public void sync() {
            // Nothing was written.
        }

        @Override
        public synchronized void close() {
            closes++;
        }
    }

    /** Makes a path lead to a file with this number. */
    void put(final String path, final int identity) {
        there.put(path, identity);
    }

    void remove(final String path) {
        there.remove(path);
    }

    void failStatus(final boolean fails) {
        statusFails = fails;
    }

    /** Holds the next opening; the latch that is given tells that it has begun. */
    CountDownLatch holdNextOpen() {
        hold = new CountDownLatch(1);
        entered = new CountDownLatch(1);
        return entered;
    }

    void release() {
        hold.countDown();
    }

    /** Every file that was opened, in order. */
    List<StubFile> opened() {
        return List.copyOf(opened);
    }

    @Override
    public SharedFile open(final String path) {
        final CountDownLatch held = hold;
        if (held != null && entered.getCount() > 0) {
            entered.countDown();
            Uninterrupted.await(held::await);
        }
        final Integer identity = there.get(path);
        if (identity == null) {
            throw new StoreException(ErrorCode.FILE_OPEN_FAIL, path + " is not there");
        }
        final StubFile file = new StubFile(path, identity);
        opened.add(file);
        return file;
    }

    @Override
    public Status status(final String path) {
        if (statusFails) {
            throw new StoreException(ErrorCode.FILE_OPEN_FAIL, "the mount does not answer");
        }
        final Integer identity = there.get(path);
        return identity == null ? null : new Status(identity, 0);
    }

    @Override
    public String name() {
        return "stub";
    }

    @Override
    public Growth grow(final String path, final long bytes) {
        throw new UnsupportedOperationException();
    }

    @Override
    public long freeBytes(final String folder) {
        throw new UnsupportedOperationException();
    }

    @Override
    public Availability pastTheCache(final String folder) {
        throw new UnsupportedOperationException();
    }

    @Override
    public Availability readsPastTheCache(final String path) {
        throw new UnsupportedOperationException();
    }

    @Override
    public int descriptorsPerFile() {
        return 1;
    }

    @Override
    public boolean isAbandoned() {
        return false;
    }

    @Override
    public void close() {
        // Nothing is open.
    }
}
