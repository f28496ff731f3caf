package io.kvtier.store.metrics;

import java.io.IOException;
import java.util.HashSet;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * Writes metrics in Prometheus' text format 0.0.4: for each family a HELP and a TYPE line, then its samples. The
 * families and labels are the program's own, so that a wrong name is a fault of the program.
 *
 * <p><b>Threading:</b> for one thread.
 */
final class MetricsText {
    private static final Pattern NAME = Pattern.compile("[a-zA-Z_:][a-zA-Z0-9_:]*");
    private static final Pattern LABEL = Pattern.compile("[a-zA-Z_][a-zA-Z0-9_]*");

    private final Appendable out;
    private final Set<String> families = new HashSet<>();
    private String family;

    /** What a family's samples mean. */
    enum Type {
        /** Only grows while the process runs. */
        COUNTER,
        /** Goes up and down. */
        GAUGE,
        /** Observations, counted by size. */
        HISTOGRAM
    }

    /**
     * Writes somewhere.
     *
     * @param out gets the text.
     */
    MetricsText(final Appendable out) {
        this.out = out;
    }

    /**
     * Begins a family.
     *
     * @param name as Prometheus allows; given once.
     * @param type what the samples mean.
     * @param help for people; any text.
     */
    MetricsText family(final String name, final Type type, final String help) throws IOException {
        if (!NAME.matcher(name).matches() || !families.add(name)) {
            throw new IllegalArgumentException("the metric " + name + " is misnamed or written twice");
        }
        family = name;
        out.append("# HELP ").append(name).append(' ').append(escape(help, false)).append('\n');
        out.append("# TYPE ").append(name).append(' ').append(type.name().toLowerCase(Locale.ROOT)).append('\n');
        return this;
    }

    /**
     * A sample of the family.
     *
     * @param value  the value.
     * @param labels name, value, name, value ...; values are any text.
     */
    MetricsText sample(final long value, final String... labels) throws IOException {
        return sample("", Long.toString(value), labels);
    }

    /** The same with a fraction. */
    MetricsText sample(final double value, final String... labels) throws IOException {
        return sample("", number(value), labels);
    }

    /**
     * A histogram of the family.
     *
     * @param bounds upper bounds, rising; those above the last are counted behind it.
     * @param counts observations of each bucket, one more than bounds.
     * @param sum    of all observations.
     * @param label  name of the one label.
     * @param value  its value.
     */
    void histogram(final double[] bounds, final long[] counts, final double sum, final String label,
        final String value) throws IOException {
        long count = 0;
        for (int i = 0; i < counts.length; i++) {
            count += counts[i];
            final String bound = i < bounds.length ? number(bounds[i]) : "+Inf";
            sample("_bucket", Long.toString(count), label, value, "le", bound);
        }
        sample("_sum", number(sum), label, value);
        sample("_count", Long.toString(count), label, value);
    }

    private MetricsText sample(final String suffix, final String value, final String... labels) throws IOException {
        out.append(family).append(suffix);
        for (int i = 0; i < labels.length; i += 2) {
            if (!LABEL.matcher(labels[i]).matches()) {
                throw new IllegalArgumentException("the label " + labels[i] + " of " + family + " is misnamed");
            }
            out.append(i == 0 ? '{' : ',').append(labels[i]).append("=\"").append(escape(labels[i + 1], true))
                .append('"');
        }
        out.append(labels.length == 0 ? " " : "} ").append(value).append('\n');
        return this;
    }

    private static String number(final double value) {
        if (Double.isInfinite(value)) {
            return value > 0 ? "+Inf" : "-Inf";
        }
        return Double.toString(value);
    }

    private static String escape(final String text, final boolean quoted) {
        final String escaped = text.replace("\\", "\\\\").replace("\n", "\\n");
        return quoted ? escaped.replace("\"", "\\\"") : escaped;
    }
}
