package io.kvtier.store.cli.bench;

import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;

/**
 * How a bench is run.
 *
 * @param seconds how long one measurement takes, about.
 * @param runs    measurements of each side of a row; the median counts.
 * @param rows    which rows: those in whose name it is found.
 */
public record BenchSettings(double seconds, int runs, Pattern rows) {
    long nanos() {
        return (long) (seconds * TimeUnit.SECONDS.toNanos(1));
    }
}
