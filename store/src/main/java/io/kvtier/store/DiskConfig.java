package io.kvtier.store;

import java.nio.file.Path;
import java.util.Objects;
import java.util.regex.Pattern;

/**
 * How a store uses a disk of its own. Immutable; {@link #NONE} with changes.
 *
 * @param directory     where its files are; made when absent. One store at a time may use it; of
 *                      {@link DiskBackend#DISTRIBUTED}, a folder that is there, in which each store makes one of its
 *                      own. Null when {@code bytes} is 0.
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
    public static final DiskConfig NONE = new DiskConfig(null, 0, 0.90, 0.80, true, new Files(true, 4, null, null));

    private static final int MAX_IO_THREADS = 256;

    /**
     * How files on a disk are used.
     *
     * @param directIo  whether they go past the page cache where the file system can; those of
     *                  {@link DiskBackend#DISTRIBUTED} do in any case.
     * @param ioThreads platform threads that do blocking disk calls, 1 to 256.
     * @param backend   how values lie in them; null for what {@link DiskBackend#VARIABLE} says. A directory keeps the
     *                  one that made it.
     * @param node      name of the own directory of {@link DiskBackend#DISTRIBUTED}, 1 to 128 letters, digits, '.', '_'
     *                  and '-' of ASCII, the first no '.' and no '-'; null for the host's name. No two stores on one
     *                  folder have the same.
     */
    public record Files(boolean directIo, int ioThreads, DiskBackend backend, String node) {
        private static final Pattern NODE = Pattern.compile("\\w[\\w.-]{0,127}");

        /**
         * Validates.
         *
         * @throws StoreException INVALID_PARAMS, naming the setting, the value and what is allowed.
         */
        public Files {
            Setting.between("ioThreads", ioThreads, 1, MAX_IO_THREADS, "1 to " + MAX_IO_THREADS);
            if (node != null && !isNode(node)) {
                throw Setting.invalid("diskNode is '" + node + "'; it must be 1 to 128 letters, digits, '.', '_' and "
                    + "'-', the first no '.' and no '-'; unset it for the host's name");
            }
        }

        /**
         * Whether something can be the name of a node.
         *
         * @param name the name.
         * @return whether it can.
         */
        public static boolean isNode(final String name) {
            return NODE.matcher(name).matches();
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
        return with(new Files(direct, files.ioThreads(), files.backend(), files.node()));
    }

    /**
     * With other threads.
     *
     * @param threads for blocking calls.
     * @return changed settings.
     */
    public DiskConfig withIoThreads(final int threads) {
        return with(new Files(files.directIo(), threads, files.backend(), files.node()));
    }

    /**
     * In other files.
     *
     * @param kind how values lie in files; null for what {@link DiskBackend#VARIABLE} says.
     * @return changed settings.
     */
    public DiskConfig withBackend(final DiskBackend kind) {
        return with(new Files(files.directIo(), files.ioThreads(), kind, files.node()));
    }

    /**
     * With another name for the own directory.
     *
     * @param name of it; null for the host's.
     * @return changed settings.
     */
    public DiskConfig withNode(final String name) {
        return with(new Files(files.directIo(), files.ioThreads(), files.backend(), name));
    }

    private DiskConfig with(final Files use) {
        return new DiskConfig(directory, bytes, highWatermark, lowWatermark, promoteOnHit, use);
    }
}
