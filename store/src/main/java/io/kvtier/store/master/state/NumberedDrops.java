package io.kvtier.store.master.state;

import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.LongSupplier;

/**
 * What an owner has to remove and has not said is gone. Each has a number, rising, and is named again until the owner
 * says up to which number he has removed them, since the answer that named it may be lost.
 *
 * @param <T> what is removed; equal ones are one.
 */
final class NumberedDrops<T> {
    private final LongSupplier numbers;
    private final Consumer<T> gone;
    private final Map<T, Long> drops = new LinkedHashMap<>();
    /** The last number that was told. */
    private long named;

    /**
     * Nothing to remove.
     *
     * @param numbers gives numbers that nobody else's drops have, nor those of another master, each more than the last.
     * @param gone    is told of what the owner has removed.
     */
    NumberedDrops(final LongSupplier numbers, final Consumer<T> gone) {
        this.numbers = numbers;
        this.gone = gone;
    }

    /** Something is to be removed. */
    void add(final T drop) {
        if (!drops.containsKey(drop)) {
            drops.put(drop, numbers.getAsLong());
        }
    }

    /** Something is wanted again. */
    void cancel(final T drop) {
        drops.remove(drop);
    }

    boolean contains(final T drop) {
        return drops.containsKey(drop);
    }

    boolean isEmpty() {
        return drops.isEmpty();
    }

    /** The last number that was told. */
    long named() {
        return named;
    }

    /**
     * Forgets those that are gone, and names the next ones.
     *
     * @param max  most.
     * @param done up to which number they are gone; one that was never told is another master's and says nothing.
     * @param into takes them.
     * @return the number of the last one that was named, or what was valid of {@code done}.
     */
    long next(final int max, final long done, final List<T> into) {
        long last = done > named ? 0 : done;
        forget(last);
        for (final Map.Entry<T, Long> drop : drops.entrySet()) {
            if (into.size() == max) {
                break;
            }
            into.add(drop.getKey());
            last = drop.getValue();
        }
        named = Math.max(named, last);
        return last;
    }

    private void forget(final long done) {
        final Iterator<Map.Entry<T, Long>> left = drops.entrySet().iterator();
        while (left.hasNext()) {
            final Map.Entry<T, Long> oldest = left.next();
            if (oldest.getValue() > done) {
                return;
            }
            left.remove();
            gone.accept(oldest.getKey());
        }
    }
}
