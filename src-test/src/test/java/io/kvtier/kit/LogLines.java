package io.kvtier.kit;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;

/** What a class logs while this is open, in place of the console. */
public final class LogLines extends Handler implements AutoCloseable {
    private final Logger logger;
    private final List<String> lines = new CopyOnWriteArrayList<>();

    /** Listens to the logger of a class. */
    public LogLines(final Class<?> of) {
        logger = Logger.getLogger(of.getName());
        logger.addHandler(this);
        logger.setUseParentHandlers(false);
    }

    /** Messages so far that have a text in them. */
    public List<String> with(final String text) {
        return lines.stream().filter(line -> line.contains(text)).toList();
    }

    @Override
    public void publish(final LogRecord entry) {
        lines.add(entry.getMessage());
    }

    @Override
    public void flush() {
        // Nothing is kept back.
    }

    @Override
    public void close() {
        logger.removeHandler(this);
        logger.setUseParentHandlers(true);
    }

    /**
     * That what happened so often was said at the first time and whenever it had doubled, in whatever order by several
     * threads; how often it happened is the machine's affair.
     *
     * @param said the lines.
     */
    public static void assertDoubling(final List<String> said) {
        assertFalse(said.isEmpty());
        for (int i = 0; i < said.size(); i++) {
            final String count = "(" + (1L << i) + " so far)";
            assertTrue(said.stream().anyMatch(line -> line.contains(count)), said.toString());
        }
    }
}
