package io.kvtier.bindings.cufile;

import java.util.EnumMap;
import java.util.List;
import java.util.Map;

/**
 * What is set before the driver is opened. The library keeps one set for the process, so whoever opens it a second time
 * must want the same.
 *
 * <p><b>Threading:</b> immutable.
 *
 * @param posixPool       classes of compatibility mode's buffers, in ascending size; empty leaves what
 *                        {@code cufile.json} says. The library has three classes.
 * @param compatibility   whether transfers may go through host memory.
 * @param statisticsLevel 0 off, to 3, which counts by GPU and path and is what {@link CuFileMode} is proved by. A
 *                        process that ends with the driver open and statistics on crashes inside the library (seen
 *                        with version 1.15): above 0, the driver must be closed before the process ends.
 * @param texts           where the library logs and how much; what is not named stays as {@code cufile.json} says.
 */
public record CuFileConfig(List<PoolSlabs> posixPool, Compatibility compatibility, int statisticsLevel,
                           Map<CuFileText, String> texts) {
    /**
     * Room for a full batch of up to 1 MiB an entry: with the library's own 64 buffers of 1 MiB, a batch of 128
     * entries would never come back from its submission. Statistics are off.
     */
    public static final CuFileConfig DEFAULT = new CuFileConfig(
        List.of(new PoolSlabs(4, 128), new PoolSlabs(1024, 256), new PoolSlabs(16384, 64)),
        Compatibility.AS_CONFIGURED, 0);

    /** The statistics level that counts by path. */
    static final int MODE_LEVEL = 3;

    /** Whether transfers may go through host memory where the direct way is not to be had. */
    public enum Compatibility {
        /** What {@code cufile.json} and the environment say. */
        AS_CONFIGURED,
        /** They may. */
        ALLOWED,
        /** They fail instead. */
        REFUSED,
        /** All of them do. */
        FORCED
    }

    /** Refuses a pool whose sizes do not ascend, an unknown level, and a text that C cannot take. */
    public CuFileConfig {
        posixPool = List.copyOf(posixPool);
        for (int i = 1; i < posixPool.size(); i++) {
            if (posixPool.get(i).slabKb() <= posixPool.get(i - 1).slabKb()) {
                throw new IllegalArgumentException("posix pool sizes must ascend: " + posixPool);
            }
        }
        if (statisticsLevel < 0 || statisticsLevel > MODE_LEVEL) {
            throw new IllegalArgumentException("statistics level " + statisticsLevel + ", of 0 to " + MODE_LEVEL);
        }
        texts.forEach((parameter, text) -> {
            if (text.isEmpty() || text.indexOf('\0') >= 0) {
                throw new IllegalArgumentException(parameter + " is " + (text.isEmpty() ? "empty"
                    : "a text with a NUL in it") + "; name a level, a file or a folder");
            }
        });
        texts = Map.copyOf(texts);
    }

    /**
     * Without texts.
     *
     * @param posixPool       as above.
     * @param compatibility   as above.
     * @param statisticsLevel as above.
     */
    public CuFileConfig(final List<PoolSlabs> posixPool, final Compatibility compatibility,
        final int statisticsLevel) {
        this(posixPool, compatibility, statisticsLevel, Map.of());
    }

    /**
     * The same but for one text.
     *
     * @param parameter which.
     * @param text      its value.
     * @return the other configuration.
     */
    public CuFileConfig with(final CuFileText parameter, final String text) {
        final Map<CuFileText, String> changed = new EnumMap<>(CuFileText.class);
        changed.putAll(texts);
        changed.put(parameter, text);
        return new CuFileConfig(posixPool, compatibility, statisticsLevel, changed);
    }
}
