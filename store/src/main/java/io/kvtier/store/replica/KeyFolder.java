package io.kvtier.store.replica;

import java.nio.charset.StandardCharsets;
import java.util.Locale;
import net.openhft.hashing.LongHashFunction;

/**
 * The folder of the files of DISK replicas: which file each value has. The name is a hash of tenant and key, so that
 * nothing of them gets into a path, and the version, which no two values share: a file never gets another value.
 *
 * <p><b>Threading:</b> immutable.
 *
 * @param path absolute, as all clients name it; empty where values get no such files.
 */
public record KeyFolder(String path) {
    /** None. */
    public static final KeyFolder NONE = new KeyFolder("");

    private static final String SUFFIX = ".kv";
    private static final int HEX = 16;
    private static final int VERSION_DIGITS = Long.SIZE / 4;
    private static final LongHashFunction XXH64 = LongHashFunction.xx();
    /** A slash, two digits, a slash, two numbers with a dash between, and what {@code .kv} and {@code .tmp} add. */
    private static final int LONGEST_NAME = 64;

    /**
     * Validates.
     *
     * @throws IllegalArgumentException naming the path and what is allowed.
     */
    public KeyFolder {
        if (!path.isEmpty()) {
            ReplicaDescriptor.DistributedDisk.requirePath(path);
            if (path.getBytes(StandardCharsets.UTF_8).length
                > ReplicaDescriptor.DistributedDisk.MAX_PATH_BYTES - LONGEST_NAME) {
                throw new IllegalArgumentException("the folder '" + path + "' leaves no room for the names of files");
            }
        }
    }

    /**
     * The folder of one cluster.
     *
     * @param rootDir   absolute; empty for none.
     * @param clusterId the cluster's part of it: others may have theirs beside it.
     * @return the folder.
     * @throws IllegalArgumentException naming the path and what is allowed.
     */
    public static KeyFolder of(final String rootDir, final String clusterId) {
        return rootDir.isEmpty() ? NONE : new KeyFolder(rootDir + '/' + clusterId);
    }

    /**
     * Whether values get such files.
     *
     * @return false for {@link #NONE}.
     */
    public boolean isOn() {
        return !path.isEmpty();
    }

    /**
     * A value's file.
     *
     * @param tenant  whose the key is.
     * @param key     the key.
     * @param version the value's version.
     * @return for example {@code /mnt/kv/mooncake_cluster/3f/3f0123456789abcd-000000000000002a.kv}.
     */
    public String file(final String tenant, final String key, final long version) {
        final long hash = XXH64.hashBytes((tenant + '\0' + key).getBytes(StandardCharsets.UTF_8));
        return String.format(Locale.ROOT, "%s/%02x/%016x-%016x%s", path, hash >>> Long.SIZE - Byte.SIZE, hash,
            version, SUFFIX);
    }

    /**
     * Which version's file one is.
     *
     * @param file a path as {@link #file} makes them.
     * @return the version; 0 when it is none of these.
     */
    public static long version(final String file) {
        final int end = file.length() - SUFFIX.length();
        final int start = end - VERSION_DIGITS;
        if (start < 1 || file.charAt(start - 1) != '-' || !file.endsWith(SUFFIX)) {
            return 0;
        }
        try {
            return Long.parseUnsignedLong(file, start, end, HEX);
        } catch (final NumberFormatException e) {
            return 0;
        }
    }

    /**
     * Whether a file lies in this folder, as far as its name tells.
     *
     * @param file absolute, without {@code .} and {@code ..}.
     * @return true when it does; never for {@link #NONE}.
     */
    public boolean has(final String file) {
        return isOn() && file.startsWith(path + '/');
    }
}
