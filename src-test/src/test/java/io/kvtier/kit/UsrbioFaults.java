package io.kvtier.kit;

import java.util.ArrayList;
import java.util.EnumMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;

/**
 * What shall go wrong in a {@link SimulatedUsrbio}, and how often each function was called. May be changed while it is
 * used; calls to come are counted from the next one.
 */
public final class UsrbioFaults {
    /** Functions that can fail, and entries when they are carried out. */
    public enum Call {
        IOV_CREATE, IOR_CREATE, IOR_CREATE_LATE, REG_FD, PREP, SUBMIT, WAIT, READ_ENTRY, WRITE_ENTRY
    }

    /** In place of a result: nothing is heard of the entry until {@link SimulatedUsrbio#hear}. */
    public static final long NEVER = Long.MIN_VALUE;

    private final Map<Call, Long> counts = new EnumMap<>(Call.class);
    private final List<Fault> faults = new ArrayList<>();
    private SplittableRandom random;

    private record Fault(Call call, long first, long last, long result) {
    }

    /** Lets the n-th call from now, from 1, end with a result: a negative error number as a rule. */
    public synchronized UsrbioFaults nth(final Call call, final long n, final long result) {
        faults.add(new Fault(call, count(call) + n, count(call) + n, result));
        return this;
    }

    /** Lets all calls from now on end with a result. */
    public synchronized UsrbioFaults always(final Call call, final long result) {
        faults.add(new Fault(call, count(call) + 1, Long.MAX_VALUE, result));
        return this;
    }

    /** Nothing is heard of the n-th entry from now. */
    public UsrbioFaults loseNth(final Call call, final long n) {
        return nth(call, n, NEVER);
    }

    /** Entries end in a random order, some at a time, and writes may be short. */
    public synchronized UsrbioFaults random(final long seed) {
        random = new SplittableRandom(seed);
        return this;
    }

    /** Nothing goes wrong any more. */
    public synchronized UsrbioFaults heal() {
        faults.clear();
        random = null;
        return this;
    }

    public synchronized long count(final Call call) {
        return counts.getOrDefault(call, 0L);
    }

    /** Counts a call; the result it shall have, or null. */
    synchronized Long enter(final Call call) {
        final long number = counts.merge(call, 1L, Long::sum);
        for (final Iterator<Fault> all = faults.iterator(); all.hasNext();) {
            final Fault fault = all.next();
            if (fault.call() == call && fault.first() <= number && number <= fault.last()) {
                if (fault.first() == fault.last()) {
                    all.remove();
                }
                return fault.result();
            }
        }
        return null;
    }

    /** Which of so many entries ends next; the last one where nothing is random. */
    synchronized int next(final int entries) {
        return random == null ? entries - 1 : random.nextInt(entries);
    }

    /** How many of so many entries one wait hears of, at least 1. */
    synchronized int atOnce(final int entries) {
        return random == null ? entries : random.nextInt(entries) + 1;
    }

    /** How much of a write goes, at least 1. */
    synchronized long written(final long length) {
        return random == null || random.nextInt(4) > 0 ? length : random.nextLong(length) + 1;
    }
}
