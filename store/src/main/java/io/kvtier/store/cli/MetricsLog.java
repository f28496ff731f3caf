package io.kvtier.store.cli;

import io.kvtier.store.metrics.MasterMetrics;
import java.lang.System.Logger;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/** Logs the summary of a master's metrics now and then, as long as something changes. */
final class MetricsLog implements AutoCloseable {
    private static final Logger LOG = System.getLogger(MetricsLog.class.getName());
    private static final long PERIOD_S = 10;

    private final MasterMetrics metrics;
    private final ScheduledThreadPoolExecutor clock = new ScheduledThreadPoolExecutor(1,
        task -> Thread.ofPlatform().daemon().name("kvtier-metrics-log").unstarted(task));
    private String last;

    private MetricsLog(final MasterMetrics metrics) {
        this.metrics = metrics;
        this.last = metrics.summary();
    }

    /** Logs from now on. */
    static MetricsLog start(final MasterMetrics metrics) {
        final MetricsLog log = new MetricsLog(metrics);
        log.clock.scheduleWithFixedDelay(log::tell, PERIOD_S, PERIOD_S, TimeUnit.SECONDS);
        return log;
    }

    private void tell() {
        try {
            final String now = metrics.summary();
            if (!now.equals(last)) {
                LOG.log(Logger.Level.INFO, now);
                last = now;
            }
        } catch (final RuntimeException e) {
            LOG.log(Logger.Level.WARNING, "the metrics could not be summed up", e);
        }
    }

    @Override
    public void close() {
        clock.shutdownNow();
    }
}
