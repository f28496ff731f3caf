package io.kvtier.store.replica;

import java.nio.charset.StandardCharsets;
import java.util.Locale;
import net.openhft.hashing.LongHashFunction;

/**
 * How the files of DISTRIBUTED_DISK are laid out: so many of one size in one folder, in pages of one size. The master
 * and all its clients have the same layout; where a value lies is what its descriptor says.
 *
 * <pre>
 *   rootDir/bucket_00.data   | page | page | ...     bucketBytes
 *   rootDir/bucket_01.data
 *   ...                                              buckets of them, numbered in hexadecimal
 * </pre>
 *
 * <p><b>Threading:</b> immutable.
 *
 * @param rootDir     the folder, as all hosts name it: absolute, without {@code .} and {@code ..}; a slash at its end
 *                    is left out.
 * @param buckets     how many files, 1 to {@link #MAX_BUCKETS}.
 * @param pageBytes   a power of two from {@link ReplicaDescriptor.DistributedDisk#UNIT_BYTES} to
 *                    {@link #MAX_PAGE_BYTES}.
 * @param bucketBytes bytes of a file, a multiple of {@code pageBytes}, to {@link #MAX_BUCKET_BYTES}.
 */
public record PageLayout(String rootDir, int buckets, long pageBytes, long bucketBytes) {
    /** Most files. */
    public static final int MAX_BUCKETS = 4096;
    /** Largest page: 1 GiB. */
    public static final long MAX_PAGE_BYTES = 1L << 30;
    /** Largest file: 16 TiB. */
    public static final long MAX_BUCKET_BYTES = 1L << 44;

    private static final LongHashFunction XXH64 = LongHashFunction.xx();
    /** The last file's name has no more characters than this. */
    private static final int LONGEST_NAME = "/bucket_fff.data".length();

    /**
     * Validates.
     *
     * @throws IllegalArgumentException naming the value and what is allowed.
     */
    public PageLayout {
        rootDir = rootDir.replaceFirst("/+$", "");
        ReplicaDescriptor.DistributedDisk.requirePath(rootDir);
        if (rootDir.getBytes(StandardCharsets.UTF_8).length
            > ReplicaDescriptor.DistributedDisk.MAX_PATH_BYTES - LONGEST_NAME) {
            throw new IllegalArgumentException("the folder of the shared disk has a path of "
                + rootDir.getBytes(StandardCharsets.UTF_8).length + " bytes; at most "
                + (ReplicaDescriptor.DistributedDisk.MAX_PATH_BYTES - LONGEST_NAME) + " leave room for its files");
        }
        require(buckets >= 1 && buckets <= MAX_BUCKETS, "bucket count", buckets, "from 1 to " + MAX_BUCKETS);
        require(pageBytes >= ReplicaDescriptor.DistributedDisk.UNIT_BYTES && pageBytes <= MAX_PAGE_BYTES
            && Long.bitCount(pageBytes) == 1, "page size", pageBytes, "a power of two from "
            + ReplicaDescriptor.DistributedDisk.UNIT_BYTES + " to " + MAX_PAGE_BYTES);
        require(bucketBytes >= pageBytes && bucketBytes <= MAX_BUCKET_BYTES && bucketBytes % pageBytes == 0,
            "bucket size", bucketBytes, "a positive multiple of the page size, " + pageBytes + ", and at most "
                + MAX_BUCKET_BYTES);
    }

    private static void require(final boolean good, final String what, final long value, final String allowed) {
        if (!good) {
            throw new IllegalArgumentException("the " + what + " of the shared disk is " + value + "; it must be "
                + allowed);
        }
    }

    /**
     * The file in which a key is looked for room first: XXH64 of its UTF-8 bytes with seed 0, as a number without a
     * sign, modulo the number of files. Its tenant does not count.
     *
     * @param key the key alone.
     * @return from 0 to {@code buckets - 1}.
     */
    public int home(final String key) {
        return (int) Long.remainderUnsigned(XXH64.hashBytes(key.getBytes(StandardCharsets.UTF_8)), buckets);
    }

    /**
     * A file's path.
     *
     * @param bucket from 0 to {@code buckets - 1}.
     * @return for example {@code /mnt/3fs/mooncake/bucket_0a.data}.
     */
    public String path(final int bucket) {
        return String.format(Locale.ROOT, "%s/bucket_%02x.data", rootDir, bucket);
    }

    /**
     * What all files hold.
     *
     * @return bytes.
     */
    public long capacity() {
        return buckets * bucketBytes;
    }

    /**
     * In which settings another layout differs, for people.
     *
     * @param other the other one.
     * @return such as {@code page size 4096 instead of 65536}, with this one's value first; empty for the same layout.
     */
    public String differences(final PageLayout other) {
        final StringBuilder text = new StringBuilder();
        differ(text, "folder", rootDir, other.rootDir);
        differ(text, "bucket count", buckets, other.buckets);
        differ(text, "page size", pageBytes, other.pageBytes);
        differ(text, "bucket size", bucketBytes, other.bucketBytes);
        return text.toString();
    }

    private static void differ(final StringBuilder text, final String what, final Object mine, final Object theirs) {
        if (!mine.equals(theirs)) {
            text.append(text.isEmpty() ? "" : ", ").append(what).append(' ').append(mine).append(" instead of ")
                .append(theirs);
        }
    }
}
