package io.kvtier.transport;

import java.lang.System.Logger;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;

/**
 * Logs the first event of a kind, and then each time that their number has doubled: what peers bring about must not
 * fill the log, however often they do.
 *
 * <p><b>Threading:</b> thread-safe. <b>Lifetime:</b> remembers every kind, so kinds are the program's own texts.
 */
public final class RareLog {
    private final Logger log;
    private final Map<String, AtomicLong> counts = new ConcurrentHashMap<>();

    /**
     * Nothing has happened yet.
     *
     * @param log gets warnings.
     */
    public RareLog(final Logger log) {
        this.log = log;
    }

    /**
     * One more.
     *
     * @param kind what happened, a text of the program.
     * @param more who, why; asked only when this is logged.
     */
    public void warn(final String kind, final Supplier<String> more) {
        final long count = counts.computeIfAbsent(kind, any -> new AtomicLong()).incrementAndGet();
        if (Long.bitCount(count) == 1) {
            log.log(Logger.Level.WARNING, () -> kind + " (" + count + " so far): " + more.get());
        }
    }
}
