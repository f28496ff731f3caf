package io.kvtier.store;

import java.nio.file.Path;
import java.util.Objects;

/**
 * How a store uses a disk of its own. Immutable; {@link #NONE} with changes.
 *
 * @param directory     where its files are; made when absent. One store at a time may use it. Null when {@code bytes}
 *                      is 0.
 * @param bytes         how much it may hold, 0 for no disk, else at least {@link StoreConfig#UNIT_BYTES}; reserved on
 *                      the disk when the store is opened, by {@link DiskBackend#OFFSET_ALLOCATOR}; others take it as
 *                      they need it, and a little more for names.
 * @param highWatermark share of it, more than 0 and at most 1, above which values are evicted.
 * @param lowWatermark  share of it, more than 0 and at most the high one, down to which they are.
 * @param promoteOnHit  whether a value that its store reads from it is copied back to memory.
 * @param files         how its files are used.
 */
public record DiskConfig(Path directory, long bytes, double highWatermark, double lowWatermark, boolean promoteOnHit,
                         Files files) {
    /** No disk. */
    public static final DiskConfig NONE =
        new DiskConfig(null, 0, 0.90, 0.80, true, new Files(true, 4, null, DiskEviction.LRU));

    private static final int MAX_IO_THREADS = 256;

    /**
     * How files on a disk are used.
     *
     * @param directIo  whether they go past the page cache where the file system can.
     * @param ioThreads platform threads that do blocking disk calls, 1 to 256.
     * @param backend   how values lie in them; null for what {@link DiskBackend#VARIABLE} says. A directory keeps the
     *                  one that made it.
     * @param eviction  which of them go first.
     */
    public record Files(boolean directIo, int ioThreads, DiskBackend backend, DiskEviction eviction) {
        /**
         * Validates.
         *
         * @throws StoreException INVALID_PARAMS, naming the setting, the value and what is allowed.
         */
        public Files {
            Objects.requireNonNull(eviction, "eviction");
            Setting.between("ioThreads", ioThreads, 1, MAX_IO_THREADS, "1 to " + MAX_IO_THREADS);
        }
    }

    /**
     * Validates.
     *
     * @throws StoreException INVALID_PARAMS, naming the setting, the value and what is allowed.
     */
    public DiskConfig {
        if (bytes != 0) {
            Setting.room("diskBytes", bytes, "0 for no disk, or " + Setting.ROOM);
            if (directory == null) {
                throw Setting.invalid("diskBytes is " + bytes + " but directory is not set; set it, or diskBytes to 0");
            }
        }
        Setting.watermark("diskHighWatermark", highWatermark);
        Setting.share("diskLowWatermark", lowWatermark, lowWatermark > 0 && lowWatermark <= highWatermark,
            "more than 0 and at most diskHighWatermark (" + highWatermark + ")");
        Objects.requireNonNull(files, "files");
    }

    /**
     * On another disk.
     *
     * @param where directory for its files; null for no disk.
     * @param most  bytes that it may hold; 0 for no disk.
     * @return changed settings.
     */
    public DiskConfig withRoom(final Path where, final long most) {
        return new DiskConfig(where, most, highWatermark, lowWatermark, promoteOnHit, files);
    }

    /**
     * With other watermarks.
     *
     * @param high share above which it evicts.
     * @param low  share down to which it evicts.
     * @return changed settings.
     */
    public DiskConfig withWatermarks(final double high, final double low) {
        return new DiskConfig(directory, bytes, high, low, promoteOnHit, files);
    }

    /**
     * With promotion or without.
     *
     * @param promote whether a value that is read is copied back to memory.
     * @return changed settings.
     */
    public DiskConfig withPromoteOnHit(final boolean promote) {
        return new DiskConfig(directory, bytes, highWatermark, lowWatermark, promote, files);
    }

    /**
     * Past the page cache or through it.
     *
     * @param direct whether it goes past it.
     * @return changed settings.
     */
    public DiskConfig withDirectIo(final boolean direct) {
        return with(new Files(direct, files.ioThreads(), files.backend(), files.eviction()));
    }

    /**
     * With other threads.
     *
     * @param threads for blocking calls.
     * @return changed settings.
     */
    public DiskConfig withIoThreads(final int threads) {
        return with(new Files(files.directIo(), threads, files.backend(), files.eviction()));
    }

    /**
     * In other files.
     *
     * @param kind how values lie in files; null for what {@link DiskBackend#VARIABLE} says.
     * @return changed settings.
     */
    public DiskConfig withBackend(final DiskBackend kind) {
        return with(new Files(files.directIo(), files.ioThreads(), kind, files.eviction()));
    }

    /**
     * With another order of eviction.
     *
     * @param order which values go first.
     * @return changed settings.
     */
    public DiskConfig withEviction(final DiskEviction order) {
        return with(new Files(files.directIo(), files.ioThreads(), files.backend(), order));
    }

    private DiskConfig with(final Files use) {
        return new DiskConfig(directory, bytes, highWatermark, lowWatermark, promoteOnHit, use);
    }
}
