package io.kvtier.store.master.state;

/**
 * What may be evicted from one medium, in order: three lists linked through the residencies. One of those whose lease
 * runs, one of those that are pinned softly, one of the others.
 *
 * <p>With one lease time the order of last use is the order of lease end. So what is used goes to the young end of the
 * leased list (or of another one when leases are off), past those few whose lease ends later because their shorter
 * reads ended first; and before an eviction those whose lease has ended move over in order. A lease that is prolonged
 * moves nothing: it is noticed when the earlier end comes, and the residency goes to where the later one belongs. An
 * eviction then takes from the old end of a list and looks at nothing else, except at members of a group that is leased
 * through another member, which move to the leased list when they are met.
 */
final class EvictionOrder {
    /** One linked list; {@code oldest} is evicted first. */
    static final class List {
        private Residency oldest;
        private Residency newest;
        private long size;
    }

    /** How far something is taken past those whose lease ends later; what would have to go further stays longer. */
    private static final int MAX_STEPS = 256;

    private final List plain = new List();
    private final List softPinned = new List();
    private final List leased = new List();

    /** Appends what has just been used, written or let go. */
    void append(final Residency residency, final long nowMs) {
        final ObjectEntry entry = residency.entry();
        if (!entry.isLeased(nowMs)) {
            final List list = entry.isSoftPinned(nowMs) ? softPinned : plain;
            insert(list, list.newest, residency);
            return;
        }
        residency.linkedUntilMs(entry.leaseUntilMs());
        Residency before = leased.newest;
        for (int i = 0; i < MAX_STEPS && before != null && before.linkedUntilMs() > entry.leaseUntilMs(); i++) {
            before = before.older();
        }
        if (before != null && before.linkedUntilMs() > entry.leaseUntilMs()) {
            // A value replaced late in its lease, while many were read since: it is noticed with those.
            residency.linkedUntilMs(before.linkedUntilMs());
        }
        insert(leased, before, residency);
    }

    /** A use: to the young end; what is leased already stays where it is. */
    void used(final Residency residency, final long nowMs) {
        if (residency.list() != leased) {
            remove(residency);
            append(residency, nowMs);
        }
    }

    /** Puts something back where it is the next of its kind to be evicted. */
    void putBack(final Residency residency, final long nowMs) {
        if (residency.entry().isLeased(nowMs)) {
            append(residency, nowMs);
        } else {
            insert(residency.entry().isSoftPinned(nowMs) ? softPinned : plain, null, residency);
        }
    }

    /** Takes something out, if it is in. */
    void remove(final Residency residency) {
        final List list = residency.list();
        if (list == null) {
            return;
        }
        if (residency.older() == null) {
            list.oldest = residency.newer();
        } else {
            residency.older().newer(residency.newer());
        }
        if (residency.newer() == null) {
            list.newest = residency.older();
        } else {
            residency.newer().older(residency.older());
        }
        residency.list(null);
        residency.older(null);
        residency.newer(null);
        list.size--;
    }

    /** Moves those over whose lease has ended. */
    void expireLeases(final long nowMs) {
        while (leased.oldest != null && leased.oldest.linkedUntilMs() <= nowMs) {
            final Residency residency = leased.oldest;
            remove(residency);
            append(residency, nowMs);
        }
    }

    /** A soft pin has ended or begun: to the young end of the list that is right now. */
    void pinChanged(final Residency residency, final long nowMs) {
        if (residency.list() == plain || residency.list() == softPinned) {
            remove(residency);
            append(residency, nowMs);
        }
    }

    /** The next victim, or null when nothing may be evicted. */
    Residency oldest(final boolean evenSoftPinned) {
        return plain.oldest == null && evenSoftPinned ? softPinned.oldest : plain.oldest;
    }

    long size() {
        return plain.size + softPinned.size + leased.size;
    }

    /** Links something behind another one, or at the old end when that is null. */
    private static void insert(final List list, final Residency older, final Residency residency) {
        final Residency newer = older == null ? list.oldest : older.newer();
        residency.list(list);
        residency.older(older);
        residency.newer(newer);
        if (older == null) {
            list.oldest = residency;
        } else {
            older.newer(residency);
        }
        if (newer == null) {
            list.newest = residency;
        } else {
            newer.older(residency);
        }
        list.size++;
    }
}
