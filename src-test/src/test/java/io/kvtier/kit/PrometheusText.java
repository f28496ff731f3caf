package io.kvtier.kit;

import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * Reads Prometheus' text format 0.0.4 as its documentation describes it, character by character, and refuses what that
 * does not allow: an independent judge of what the library writes.
 */
public final class PrometheusText {
    private final Map<String, Family> families = new LinkedHashMap<>();
    private String line;
    private int at;

    private PrometheusText() {
    }

    /** A family of samples. */
    public static final class Family {
        private final Map<Map<String, String>, Double> samples = new LinkedHashMap<>();
        private String type;
        private String help;

        public String type() {
            return type;
        }

        public String help() {
            return help;
        }

        /** By the labels; a histogram's sample also has the label {@code __name__} with its suffix. */
        public Map<Map<String, String>, Double> samples() {
            return samples;
        }

        /** The one sample without labels. */
        public double value() {
            return samples.get(Map.of());
        }

        public double value(final String label, final String value) {
            return samples.get(Map.of(label, value));
        }
    }

    public static Map<String, Family> parse(final String text) {
        if (!text.endsWith("\n")) {
            throw new IllegalArgumentException("the last line has no end");
        }
        final PrometheusText parser = new PrometheusText();
        String current = null;
        final Set<String> closed = new HashSet<>();
        for (final String next : text.substring(0, text.length() - 1).split("\n", -1)) {
            parser.line = next;
            parser.at = 0;
            final String name = parser.line();
            if (name != null && !name.equals(current)) {
                if (!closed.add(name)) {
                    throw parser.wrong("the family " + name + " is in two places");
                }
                current = name;
            }
        }
        parser.families.forEach(PrometheusText::checkHistogram);
        return parser.families;
    }

    private IllegalArgumentException wrong(final String what) {
        return new IllegalArgumentException(what + ", at column " + at + " of: " + line);
    }

    private String line() {
        if (line.isEmpty()) {
            return null;
        }
        if (line.startsWith("# HELP ") || line.startsWith("# TYPE ")) {
            return comment();
        }
        return line.startsWith("#") ? null : sample();
    }

    private String comment() {
        final boolean help = line.startsWith("# HELP ");
        at = "# HELP ".length();
        final String name = name(true);
        final Family family = families.computeIfAbsent(name, any -> new Family());
        if (!family.samples.isEmpty()) {
            throw wrong("a comment comes behind the samples");
        }
        expect(' ');
        if (help) {
            if (family.help != null) {
                throw wrong("two HELP lines");
            }
            family.help = escaped('\0');
            return name;
        }
        final String type = line.substring(at);
        if (!List.of("counter", "gauge", "histogram", "summary", "untyped").contains(type)
            || family.type != null) {
            throw wrong("no type, or a second one");
        }
        family.type = type;
        return name;
    }

    private String sample() {
        final String name = name(true);
        final Map<String, String> labels = new TreeMap<>();
        if (at < line.length() && line.charAt(at) == '{') {
            labels(labels);
        }
        expect(' ');
        final double value = value(line.substring(at));
        String base = name;
        for (final String suffix : List.of("_bucket", "_sum", "_count")) {
            final String stem = name.endsWith(suffix) ? name.substring(0, name.length() - suffix.length()) : "";
            if (families.containsKey(stem) && "histogram".equals(families.get(stem).type)) {
                labels.put("__name__", suffix);
                base = stem;
            }
        }
        final Family family = families.get(base);
        if (family == null || family.help == null || family.type == null) {
            throw wrong("a sample of no family");
        }
        if (family.samples.put(labels, value) != null) {
            throw wrong("a sample comes twice");
        }
        return base;
    }

    private void labels(final Map<String, String> labels) {
        at++;
        while (true) {
            final String name = name(false);
            expect('=');
            expect('"');
            if (labels.put(name, escaped('"')) != null) {
                throw wrong("a label comes twice");
            }
            expect('"');
            if (line.charAt(at) == '}') {
                at++;
                return;
            }
            expect(',');
        }
    }

    private String name(final boolean colons) {
        final int begin = at;
        while (at < line.length() && (Character.isLetterOrDigit(line.charAt(at)) && line.charAt(at) < 128
            || line.charAt(at) == '_' || colons && line.charAt(at) == ':')) {
            at++;
        }
        if (at == begin || Character.isDigit(line.charAt(begin))) {
            throw wrong("a name is expected");
        }
        return line.substring(begin, at);
    }

    private String escaped(final char end) {
        final StringBuilder text = new StringBuilder();
        while (at < line.length() && line.charAt(at) != end) {
            char c = line.charAt(at++);
            if (c == '\\') {
                if (at == line.length()) {
                    throw wrong("half an escape");
                }
                c = switch (line.charAt(at++)) {
                    case 'n' -> '\n';
                    case '\\' -> '\\';
                    case '"' -> {
                        if (end != '"') {
                            throw wrong("a quote is not escaped here");
                        }
                        yield '"';
                    }
                    default -> throw wrong("an unknown escape");
                };
            }
            text.append(c);
        }
        return text.toString();
    }

    private void expect(final char c) {
        if (at >= line.length() || line.charAt(at++) != c) {
            throw wrong("'" + c + "' is expected");
        }
    }

    private double value(final String text) {
        return switch (text) {
            case "+Inf" -> Double.POSITIVE_INFINITY;
            case "-Inf" -> Double.NEGATIVE_INFINITY;
            case "NaN" -> Double.NaN;
            default -> {
                if (!text.matches("[-+]?(\\d+(\\.\\d*)?|\\.\\d+)([eE][-+]?\\d+)?")) {
                    throw wrong("a number is expected");
                }
                yield Double.parseDouble(text);
            }
        };
    }

    /** Buckets rise to +Inf, which has the count. */
    private static void checkHistogram(final String name, final Family family) {
        if (!"histogram".equals(family.type)) {
            return;
        }
        final Map<Map<String, String>, TreeMap<Double, Double>> series = new LinkedHashMap<>();
        family.samples.forEach((labels, value) -> {
            final Map<String, String> rest = new TreeMap<>(labels);
            rest.remove("__name__");
            final String bound = rest.remove("le");
            final TreeMap<Double, Double> buckets = series.computeIfAbsent(rest, any -> new TreeMap<>());
            if (labels.get("__name__").equals("_bucket")) {
                buckets.put(bound.equals("+Inf") ? Double.POSITIVE_INFINITY : Double.parseDouble(bound), value);
            }
        });
        series.forEach((labels, buckets) -> {
            double last = 0;
            for (final double count : buckets.values()) {
                if (count < last) {
                    throw new IllegalArgumentException(name + labels + ": the buckets fall: " + buckets);
                }
                last = count;
            }
            final Map<String, String> count = new TreeMap<>(labels);
            count.put("__name__", "_count");
            final Map<String, String> sum = new TreeMap<>(labels);
            sum.put("__name__", "_sum");
            if (!family.samples.containsKey(sum)
                || !buckets.get(Double.POSITIVE_INFINITY).equals(family.samples.get(count))) {
                throw new IllegalArgumentException(name + labels + ": +Inf is not the count, or there is no sum");
            }
        });
    }
}
