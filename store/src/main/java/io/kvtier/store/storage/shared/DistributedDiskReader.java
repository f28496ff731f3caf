package io.kvtier.store.storage.shared;

import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreException;
import io.kvtier.store.StoreStats;
import io.kvtier.store.replica.PageLayout;
import io.kvtier.store.replica.ReplicaDescriptor;
import io.kvtier.transport.RareLog;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.LongAdder;

/**
 * Reads values from the files of a shared disk, by where their descriptors say that they lie, past the cache of this
 * host. Only files of the shared disk's own folder are read, whatever a descriptor says.
 *
 * <p>Whether the bytes are those of the value is for the caller to find out: pages are given to other values in time,
 * and a descriptor may be late.
 *
 * <p><b>Threading:</b> thread-safe. <b>Lifetime:</b> the files are closed after the last read. <b>Blocking:</b> on the
 * file system.
 */
public final class DistributedDiskReader {
    private static final String NAME_BEGIN = "/bucket_";
    private static final String NAME_END = ".data";

    private final PageLayout layout;
    private final OpenFiles files;
    private final ReadTimes times = new ReadTimes();
    private final LongAdder bytes = new LongAdder();
    private final LongAdder failures = new LongAdder();
    private final RareLog notes = new RareLog(System.getLogger(DistributedDiskReader.class.getName()));

    /**
     * Over open files.
     *
     * @param layout of the shared disk.
     * @param files  its files; they stay open.
     */
    public DistributedDiskReader(final PageLayout layout, final OpenFiles files) {
        this.layout = layout;
        this.files = files;
    }

    /**
     * Starts to read a part of a value.
     *
     * @param place     where it lies.
     * @param offset    first byte of the value.
     * @param targets   filled in order; native memory that any thread may touch.
     * @param timeoutMs milliseconds after which what has not begun is given up; 0 for no limit.
     * @param alone     whether the caller waits for this before it starts anything else: it may read by itself then.
     *                  What is started together overlaps.
     * @return the read, to be awaited once.
     * @throws StoreException            FILE_OPEN_FAIL, when the file cannot be opened; INVALID_PARAMS, when the place
     *                                   is not in a file of this shared disk.
     * @throws IndexOutOfBoundsException when the value is not that long.
     */
    public Read start(final ReplicaDescriptor.DistributedDisk place, final long offset,
        final List<MemorySegment> targets, final long timeoutMs, final boolean alone) {
        final String path = place.filePath();
        if (!isOurs(path)) {
            throw new StoreException(ErrorCode.INVALID_PARAMS, "a value is said to lie in " + path + ", which is no "
                + "file of the shared disk in " + layout.rootDir() + "; do the master and this client have the same "
                + "folder?");
        }
        long length = 0;
        for (int i = 0; i < targets.size(); i++) {
            length += targets.get(i).byteSize();
        }
        Objects.checkFromIndexSize(offset, length, place.objectSize());
        final Read read = new Read(path, place.offset() + offset, targets, length, timeoutMs);
        try {
            return read.begin(alone);
        } catch (final StoreException e) {
            failed(e);
            throw e;
        }
    }

    /** For a reader it is one replica among others, and maybe a miss: only here can an operator hear why. */
    private void failed(final StoreException why) {
        failures.increment();
        notes.warn("a value could not be read from the shared disk", why::getMessage);
    }

    private boolean isOurs(final String path) {
        final int nameFrom = layout.rootDir().length();
        return path.startsWith(layout.rootDir()) && path.startsWith(NAME_BEGIN, nameFrom)
            && path.indexOf('/', nameFrom + 1) < 0 && path.endsWith(NAME_END);
    }

    /** A read under way. <b>Threading:</b> one thread. */
    public final class Read {
        private final String path;
        private final long at;
        private final List<MemorySegment> targets;
        private final long length;
        private final long timeoutMs;
        private final long begunNanos = System.nanoTime();
        private OpenFiles.Opened opened;
        private RangeTransfer transfer;

        private Read(final String path, final long at, final List<MemorySegment> targets, final long length,
            final long timeoutMs) {
            this.path = path;
            this.at = at;
            this.targets = targets;
            this.length = length;
            this.timeoutMs = timeoutMs;
        }

        private Read begin(final boolean alone) {
            opened = files.enter(path);
            boolean begun = false;
            try {
                transfer = opened.file().read(at, targets, timeoutMs, alone);
                begun = true;
                return this;
            } finally {
                if (!begun) {
                    opened.leave();
                }
            }
        }

        /**
         * Waits until nothing uses the memory any more. Where the read failed and the path has come to lead to another
         * file, that one is read, once.
         *
         * @throws StoreException FILE_READ_FAIL, when the memory was not filled; FILE_OPEN_FAIL, when the file that
         *                        took its place cannot be opened.
         */
        public void await() {
            try {
                if (!arrives()) {
                    begin(true);
                    finish();
                }
            } catch (final StoreException e) {
                failed(e);
                throw e;
            }
            times.record(System.nanoTime() - begunNanos);
            bytes.add(length);
        }

        private boolean arrives() {
            try {
                finish();
                return true;
            } catch (final StoreException e) {
                if (files.failed(opened)) {
                    return false;
                }
                throw e;
            }
        }

        private void finish() {
            try {
                transfer.await();
            } finally {
                opened.leave();
            }
        }

        /**
         * Says, after the end, that the bytes were not those of the value: the file is opened anew by whoever comes
         * next.
         *
         * @return whether the path leads to another file by now, which may have the value.
         */
        public boolean wrong() {
            return files.failed(opened);
        }
    }

    /**
     * What was read since this was made.
     *
     * @return figures.
     */
    public StoreStats.SharedReads stats() {
        final List<Long> counts = times.counts();
        return new StoreStats.SharedReads(counts.stream().mapToLong(Long::longValue).sum(), bytes.sum(), failures.sum(),
            files.replaced(), files.size(), new StoreStats.Times(ReadTimes.BOUNDS, counts, times.seconds()));
    }
}
