package io.kvtier.store.cli;

import java.text.DecimalFormat;
import java.text.DecimalFormatSymbols;
import java.util.Locale;
import me.tongfei.progressbar.ConsoleProgressBarConsumer;
import me.tongfei.progressbar.ProgressBar;
import me.tongfei.progressbar.ProgressBarBuilder;
import me.tongfei.progressbar.ProgressBarStyle;

/**
 * A bar with rate and time left on standard error, while somebody watches it; nothing at all elsewhere, so that no log
 * is cluttered.
 *
 * <p><b>Threading:</b> thread-safe. The bar is painted by a daemon thread.
 */
final class Progress implements AutoCloseable {
    private static final int REPAINT_MS = 200;

    private final ProgressBar bar;

    private Progress(final ProgressBar bar) {
        this.bar = bar;
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
            return new Progress(null);
        }
        return new Progress(new ProgressBarBuilder()
            .setTaskName(task)
            .setUnit(" " + unit, 1)
            .setInitialMax(total)
            .setStyle(ProgressBarStyle.ASCII)
            .showSpeed(new DecimalFormat("#,##0", DecimalFormatSymbols.getInstance(Locale.ROOT)))
            .setUpdateIntervalMillis(REPAINT_MS)
            .setConsumer(new ConsoleProgressBarConsumer(console.err()))
            .build());
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
        }
    }
}
