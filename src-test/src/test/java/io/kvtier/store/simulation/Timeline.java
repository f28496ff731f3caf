package io.kvtier.store.simulation;

import java.util.PriorityQueue;
import java.util.SplittableRandom;

/** Virtual time in microseconds: what is due next happens next. All chance comes from one seed. */
final class Timeline {
    static final long MS = 1000;

    private final PriorityQueue<Event> due =
        new PriorityQueue<>((a, b) -> a.atUs != b.atUs ? Long.compare(a.atUs, b.atUs) : Long.compare(a.order, b.order));
    private final SplittableRandom random;
    private long nowUs;
    private long order;

    private record Event(long atUs, long order, Runnable action) {
    }

    Timeline(final long seed) {
        random = new SplittableRandom(seed);
    }

    long nowUs() {
        return nowUs;
    }

    void in(final long delayUs, final Runnable action) {
        due.add(new Event(nowUs + Math.max(0, delayUs), order++, action));
    }

    /** Lets the next thing happen; false when that is later than {@code untilUs}, which it then is. */
    boolean step(final long untilUs) {
        if (due.isEmpty() || due.peek().atUs > untilUs) {
            nowUs = Math.max(nowUs, untilUs);
            return false;
        }
        final Event next = due.remove();
        nowUs = next.atUs;
        next.action.run();
        return true;
    }

    /** True once in {@code n} times. */
    boolean oneIn(final int n) {
        return random.nextInt(n) == 0;
    }

    int below(final int bound) {
        return random.nextInt(bound);
    }

    long between(final long low, final long high) {
        return random.nextLong(low, high + 1);
    }
}
