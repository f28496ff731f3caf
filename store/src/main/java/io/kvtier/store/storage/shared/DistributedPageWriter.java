package io.kvtier.store.storage.shared;

import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreException;
import io.kvtier.store.replica.ReplicaDescriptor;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * Writes values to the files of a shared disk, where they were given pages, and makes them durable: all files at the
 * same time, and one sync a file, which others who write to it share.
 *
 * <p><b>Threading:</b> thread-safe. <b>Blocking:</b> on the file system.
 */
public final class DistributedPageWriter {
    private final OpenFiles files;

    /**
     * A value on its way to its pages.
     *
     * <p><b>Threading:</b> one thread.
     */
    public static final class Page {
        private final ReplicaDescriptor.DistributedDisk place;
        private final MemorySegment memory;
        private RangeTransfer transfer;
        private boolean begun;
        private StoreException problem;

        /**
         * Nothing is written yet.
         *
         * @param place  pages that belong to this value alone.
         * @param memory its bytes; native memory that any thread may touch.
         * @throws IllegalArgumentException when the memory has not the value's size.
         */
        public Page(final ReplicaDescriptor.DistributedDisk place, final MemorySegment memory) {
            if (memory.byteSize() != place.objectSize()) {
                throw new IllegalArgumentException(memory.byteSize() + " bytes of memory are given for a value of "
                    + place.objectSize());
            }
            this.place = place;
            this.memory = memory;
        }

        /**
         * Why it is not durable.
         *
         * @return null when it is.
         */
        public StoreException problem() {
            return problem;
        }

        /**
         * Whether anything was sent to its pages: what has come of it may show there later, although it failed.
         *
         * @return false when nothing was.
         */
        public boolean begun() {
            return begun;
        }

        private void fail(final StoreException why) {
            problem = problem == null ? why : problem;
        }
    }

    /** Pages of one file. */
    private static final class Part {
        private final List<Page> pages = new ArrayList<>();
        private OpenFiles.Opened opened;
        private long failuresBefore;

        private boolean isAnyWritten() {
            return pages.stream().anyMatch(page -> page.problem == null);
        }

        private void fail(final StoreException why) {
            pages.forEach(page -> page.fail(why));
        }
    }

    /**
     * Over open files.
     *
     * @param files of the shared disk; they stay open.
     */
    public DistributedPageWriter(final OpenFiles files) {
        this.files = files;
    }

    /**
     * Writes values and makes them durable; each succeeds or fails alone, but for what a sync may have lost.
     *
     * @param pages     what is to be written.
     * @param until     nanoseconds of {@link System#nanoTime()} after which nothing is begun any more.
     * @param meanwhile run while the bytes are on their way; what it throws is thrown once they have arrived.
     */
    public void write(final List<Page> pages, final long until, final Runnable meanwhile) {
        final Map<String, Part> parts = new LinkedHashMap<>();
        pages.forEach(page -> parts.computeIfAbsent(page.place.filePath(), path -> new Part()).pages.add(page));
        try {
            parts.forEach((path, part) -> start(path, part, until));
            meanwhile.run();
        } finally {
            parts.values().forEach(DistributedPageWriter::await);
            parts.values().forEach(this::makeDurable);
        }
    }

    private void start(final String path, final Part part, final long until) {
        try {
            part.opened = files.enter(path);
        } catch (final StoreException e) {
            part.fail(e);
            return;
        }
        // Before the first byte: a sync that fails from here on may have lost it, whoever called it.
        part.failuresBefore = part.opened.syncs().failures();
        for (final Page page : part.pages) {
            final long leftMs = TimeUnit.NANOSECONDS.toMillis(until - System.nanoTime());
            if (leftMs <= 0) {
                page.fail(new StoreException(ErrorCode.FILE_WRITE_FAIL, "the time for writing to pages of " + path
                    + " was over before they were begun; the file system is too slow for so many values at once"));
            } else {
                page.begun = true;
                page.transfer = part.opened.file().write(page.place.offset(), List.of(page.memory), leftMs);
            }
        }
    }

    private static void await(final Part part) {
        for (final Page page : part.pages) {
            if (page.transfer != null) {
                try {
                    page.transfer.await();
                } catch (final StoreException e) {
                    page.fail(e);
                }
            }
        }
    }

    private void makeDurable(final Part part) {
        if (part.opened == null) {
            return;
        }
        try {
            if (part.isAnyWritten()) {
                final SharedFile file = part.opened.file();
                final Throwable lost = part.opened.syncs().sync(part.failuresBefore, file::sync);
                if (lost != null) {
                    part.fail(new StoreException(ErrorCode.FILE_WRITE_FAIL, "a sync of " + file.path()
                        + " failed, which may have lost these bytes, whoever called it: " + lost.getMessage(), lost));
                } else if (files.isReplaced(part.opened)) {
                    part.fail(new StoreException(ErrorCode.FILE_WRITE_FAIL, file.path() + " was replaced by another "
                        + "file while it was written to; nobody but the clients of one cluster may use that folder"));
                }
            }
            if (part.pages.stream().anyMatch(page -> page.problem != null)) {
                files.failed(part.opened);
            }
        } finally {
            part.opened.leave();
        }
    }
}
