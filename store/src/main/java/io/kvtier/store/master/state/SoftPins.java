package io.kvtier.store.master.state;

import io.kvtier.store.ErrorCode;
import io.kvtier.store.SoftPin;
import io.kvtier.store.StoreException;
import io.kvtier.store.config.MasterSettings;
import java.util.PriorityQueue;

/**
 * Soft pins and when they end. A pin's end is fixed when the value becomes readable, and no read moves it.
 *
 * <p>A pin that is changed leaves its old end in the queue; the end that comes up counts only when it is still the
 * object's. The queue is cleaned when more than half of it is of that kind.
 */
final class SoftPins {
    private static final int CLEAN_FROM = 4096;

    private final MasterSettings.Pins settings;
    private final ObjectCopies copies;
    private PriorityQueue<End> ends = queue();
    private long pinned;

    private record End(long atMs, ObjectEntry entry) {
        boolean isCurrent() {
            return entry.softPinUntilMs() == atMs;
        }
    }

    SoftPins(final MasterSettings.Pins settings, final ObjectCopies copies) {
        this.settings = settings;
        this.copies = copies;
    }

    /** Refuses a pin that is longer than allowed. */
    void check(final SoftPin pin) {
        if (pin.ttlMs() > settings.maxMs()) {
            throw new StoreException(ErrorCode.INVALID_PARAMS, "a soft pin of " + pin.ttlMs()
                + " ms was asked for; at most " + settings.maxMs() + " are allowed (max_kv_soft_pin_ttl)");
        }
    }

    /** A value with this pin became readable. */
    void apply(final ObjectEntry entry, final SoftPin pin, final long nowMs) {
        if (pin.action() == SoftPin.Action.PRESERVE) {
            return;
        }
        unpin(entry);
        if (pin.action() == SoftPin.Action.ENABLE) {
            final long ttl = pin.ttlMs() == 0 ? settings.defaultMs() : pin.ttlMs();
            pin(entry, nowMs > Long.MAX_VALUE - ttl ? Long.MAX_VALUE : nowMs + ttl);
        }
    }

    /** An object that has no pin is pinned until some time. */
    void pin(final ObjectEntry entry, final long untilMs) {
        copies.before(entry);
        entry.softPin(untilMs);
        pinned++;
        ends.add(new End(untilMs, entry));
        clean();
    }

    /** The object goes. */
    void unpin(final ObjectEntry entry) {
        if (entry.softPinUntilMs() != 0) {
            copies.before(entry);
            entry.softPin(0);
            pinned--;
        }
    }

    /** The next object whose pin has ended, or null. */
    ObjectEntry nextEnded(final long nowMs) {
        while (!ends.isEmpty() && ends.peek().atMs() <= nowMs) {
            final End end = ends.remove();
            if (end.isCurrent()) {
                unpin(end.entry());
                return end.entry();
            }
        }
        return null;
    }

    long pinned() {
        return pinned;
    }

    /** Ends in the queue, those that count no more included. */
    int queued() {
        return ends.size();
    }

    private void clean() {
        if (ends.size() > Math.max(CLEAN_FROM, 2 * pinned)) {
            final PriorityQueue<End> current = queue();
            ends.stream().filter(End::isCurrent).forEach(current::add);
            ends = current;
        }
    }

    private static PriorityQueue<End> queue() {
        return new PriorityQueue<>((a, b) -> Long.compare(a.atMs(), b.atMs()));
    }
}
