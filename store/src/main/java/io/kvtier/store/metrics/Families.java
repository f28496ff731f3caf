package io.kvtier.store.metrics;

import io.prometheus.metrics.expositionformats.PrometheusTextFormatWriter;
import io.prometheus.metrics.model.snapshots.ClassicHistogramBuckets;
import io.prometheus.metrics.model.snapshots.CounterSnapshot;
import io.prometheus.metrics.model.snapshots.CounterSnapshot.CounterDataPointSnapshot;
import io.prometheus.metrics.model.snapshots.GaugeSnapshot;
import io.prometheus.metrics.model.snapshots.GaugeSnapshot.GaugeDataPointSnapshot;
import io.prometheus.metrics.model.snapshots.HistogramSnapshot;
import io.prometheus.metrics.model.snapshots.HistogramSnapshot.HistogramDataPointSnapshot;
import io.prometheus.metrics.model.snapshots.InfoSnapshot;
import io.prometheus.metrics.model.snapshots.InfoSnapshot.InfoDataPointSnapshot;
import io.prometheus.metrics.model.snapshots.Labels;
import io.prometheus.metrics.model.snapshots.MetricSnapshot;
import io.prometheus.metrics.model.snapshots.MetricSnapshots;
import io.prometheus.metrics.model.snapshots.PrometheusNaming;
import io.prometheus.metrics.model.snapshots.UnknownSnapshot;
import io.prometheus.metrics.model.snapshots.UnknownSnapshot.UnknownDataPointSnapshot;
import java.io.IOException;
import java.io.OutputStream;
import java.util.Map;

/**
 * Collects families of metrics for Prometheus' own library, which writes them. The families and labels are the
 * program's own, so that a wrong name is a fault of the program. The library sorts families by name, samples by label,
 * and leaves out a family that has no samples.
 *
 * <p>The only class that knows the library, so that what counts requests runs without it.
 *
 * <p><b>Threading:</b> for one thread.
 */
final class Families {
    /** What HTTP says that the text is. */
    static final String CONTENT_TYPE = PrometheusTextFormatWriter.CONTENT_TYPE;

    private static final String COUNTER_SUFFIX = "_total";
    private static final String INFO_SUFFIX = "_info";

    private final MetricSnapshots.Builder snapshots = MetricSnapshots.builder();

    /**
     * Observations, counted by size.
     *
     * @param bounds upper bounds, rising, the last one infinite.
     * @param counts observations of each bucket.
     * @param sum    of all observations.
     */
    record Distribution(double[] bounds, long[] counts, double sum) {
    }

    /**
     * What only grows while the process runs. A name that does not end in {@code _total} is one that the followed
     * system has chosen; the library would put that suffix behind the name of a counter, so that it is of unknown type:
     * a rate can be taken of it all the same.
     *
     * @param name  of the family.
     * @param value now.
     * @param help  for people; any text.
     */
    void counter(final String name, final long value, final String help) {
        if (name.endsWith(COUNTER_SUFFIX)) {
            add(name, CounterSnapshot.builder().name(name).help(help)
                .dataPoint(CounterDataPointSnapshot.builder().value(counted(value)).build()).build());
        } else {
            add(name, UnknownSnapshot.builder().name(name).help(help)
                .dataPoint(UnknownDataPointSnapshot.builder().value(counted(value)).build()).build());
        }
    }

    /**
     * Several of them; the name ends in {@code _total}.
     *
     * @param label  name of the one label.
     * @param values by the label's value, which is any text.
     */
    void counters(final String name, final String help, final String label, final Map<String, Long> values) {
        final CounterSnapshot.Builder family = CounterSnapshot.builder().name(name).help(help);
        values.forEach((text, value) -> family.dataPoint(
            CounterDataPointSnapshot.builder().labels(labels(label, text)).value(counted(value)).build()));
        add(name, family.build());
    }

    /** Behind the largest number it is 0 again, as after a restart; the library takes no counter below that. */
    private static long counted(final long value) {
        return value & Long.MAX_VALUE;
    }

    /** What goes up and down. */
    void gauge(final String name, final double value, final String help) {
        add(name, GaugeSnapshot.builder().name(name).help(help)
            .dataPoint(GaugeDataPointSnapshot.builder().value(value).build()).build());
    }

    /** Several of them, by the value of a label. */
    void gauges(final String name, final String help, final String label, final Map<String, Long> values) {
        final GaugeSnapshot.Builder family = GaugeSnapshot.builder().name(name).help(help);
        values.forEach((text, value) -> family.dataPoint(
            GaugeDataPointSnapshot.builder().labels(labels(label, text)).value(value).build()));
        add(name, family.build());
    }

    /**
     * What does not change, as labels of a gauge that is always 1.
     *
     * @param name   ends in {@code _info}.
     * @param labels name, value, name, value ...; values are any text.
     */
    void info(final String name, final String help, final String... labels) {
        final String base = name.substring(0, name.length() - INFO_SUFFIX.length());
        add(name, InfoSnapshot.builder().name(base).help(help)
            .dataPoint(InfoDataPointSnapshot.builder().labels(labels(labels)).build()).build());
    }

    /** A histogram without labels. */
    void histogram(final String name, final String help, final Distribution value) {
        add(name, HistogramSnapshot.builder().name(name).help(help).dataPoint(HistogramDataPointSnapshot.builder()
            .sum(value.sum()).classicHistogramBuckets(ClassicHistogramBuckets.of(value.bounds(), value.counts()))
            .build()).build());
    }

    /** Histograms, by the value of a label. */
    void histograms(final String name, final String help, final String label,
        final Map<String, Distribution> values) {
        final HistogramSnapshot.Builder family = HistogramSnapshot.builder().name(name).help(help);
        values.forEach((text, value) -> family.dataPoint(HistogramDataPointSnapshot.builder()
            .labels(labels(label, text)).sum(value.sum())
            .classicHistogramBuckets(ClassicHistogramBuckets.of(value.bounds(), value.counts())).build()));
        add(name, family.build());
    }

    /**
     * The library would sanitize a name silently, or merge two families of one; both would show another name than the
     * one that is documented.
     */
    private void add(final String name, final MetricSnapshot family) {
        final String base = family.getMetadata().getPrometheusName();
        final String shown = switch (family) {
            case CounterSnapshot ignored -> base + COUNTER_SUFFIX;
            case InfoSnapshot ignored -> base + INFO_SUFFIX;
            default -> base;
        };
        if (!shown.equals(name) || !PrometheusNaming.isValidLegacyMetricName(name)
            || snapshots.containsMetricName(base)) {
            throw new IllegalArgumentException("the metric " + name + " is there already, or is shown as another one;"
                + " give it another name, of letters, digits and underscores");
        }
        snapshots.metricSnapshot(family);
    }

    private static Labels labels(final String... pairs) {
        for (int i = 0; i < pairs.length; i += 2) {
            if (!PrometheusNaming.isValidLegacyLabelName(pairs[i])) {
                throw new IllegalArgumentException("the label " + pairs[i] + " is misnamed; a name has letters, digits"
                    + " and underscores");
            }
        }
        return Labels.of(pairs);
    }

    /**
     * Writes everything in Prometheus' text format 0.0.4, in UTF-8.
     *
     * @param out gets the text, and is not closed.
     * @throws IOException when it cannot be written to.
     */
    void write(final OutputStream out) throws IOException {
        PrometheusTextFormatWriter.create().write(out, snapshots.build());
    }
}
