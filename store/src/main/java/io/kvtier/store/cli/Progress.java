package io.kvtier.store.cli;

import io.kvtier.bindings.posix.Terminal;
import java.io.PrintStream;
import java.text.DecimalFormat;
import java.text.DecimalFormatSymbols;
import java.util.Locale;
import me.tongfei.progressbar.ProgressBar;
import me.tongfei.progressbar.ProgressBarBuilder;
import me.tongfei.progressbar.ProgressBarConsumer;
import me.tongfei.progressbar.ProgressBarStyle;

/**
 * A bar with rate and time left on standard error, while somebody watches it; nothing at all elsewhere, so that no log
 * is cluttered.
 *
 * <p><b>Threading:</b> thread-safe. The bar is painted by a daemon thread.
 */
final class Progress implements AutoCloseable {
    private static final int REPAINT_MS = 200;
    private static final int USUAL_COLUMNS = 80;
    /** On a narrower terminal the line wraps; the library cannot paint a shorter one. */
    private static final int LEAST_COLUMNS = 40;

    private final ProgressBar bar;
    private final Line line;

    private Progress(final ProgressBar bar, final Line line) {
        this.bar = bar;
        this.line = line;
    }

    /**
     * The line that the bar is painted on, in place of the library's own. That one opens a terminal, which takes the
     * interrupt signal away from the JVM, so that the end of a command would leave its temporary files behind; and it
     * ends the line twice when a repaint is under way at the end.
     */
    private static final class Line implements ProgressBarConsumer {
        private final PrintStream screen;
        private boolean painted;

        Line(final PrintStream screen) {
            this.screen = screen;
        }

        @Override
        public int getMaxRenderedLength() {
            final int columns = Terminal.columnsOnStandardError();
            return Math.max(LEAST_COLUMNS, (columns == 0 ? USUAL_COLUMNS : columns) - 1);
        }

        @Override
        public synchronized void accept(final String text) {
            screen.print('\r' + text);
            screen.flush();
            painted = true;
        }

        @Override
        public void close() {
            // The line is ended when all painting is over.
        }

        synchronized void end() {
            if (painted) {
                screen.println();
            }
        }
    }

    /**
     * Starts.
     *
     * @param console where.
     * @param task    what is being done.
     * @param unit    what is counted.
     * @param total   how many there are.
     * @return the progress; close it when done.
     */
    static Progress start(final Console console, final String task, final String unit, final long total) {
        if (!console.terminal()) {
            return new Progress(null, null);
        }
        final Line line = new Line(console.err());
        return new Progress(new ProgressBarBuilder()
            .setTaskName(task)
            .setUnit(" " + unit, 1)
            .setInitialMax(total)
            .setStyle(ProgressBarStyle.ASCII)
            .showSpeed(new DecimalFormat("#,##0", DecimalFormatSymbols.getInstance(Locale.ROOT)))
            .setUpdateIntervalMillis(REPAINT_MS)
            .setConsumer(line)
            .build(), line);
    }

    /**
     * Counts.
     *
     * @param count how many more are done.
     */
    void advance(final long count) {
        if (bar != null) {
            bar.stepBy(count);
        }
    }

    @Override
    public void close() {
        if (bar != null) {
            bar.close();
            line.end();
        }
    }
}
