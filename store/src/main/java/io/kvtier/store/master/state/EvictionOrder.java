package io.kvtier.store.master.state;

/**
 * What may be evicted from one medium, in order: three lists linked through the residencies. One of those whose lease
 * runs, one of those that are pinned softly, one of the others.
 *
 * <p>With one lease time the order of last use is the order of lease end. So what is used goes to the young end of the
 * leased list (or of another one when leases are off), past those few whose lease ends later because their shorter
 * reads ended first; and as time passes those whose lease has ended move over in order, a part with each call: what
 * is let go before all have moved stands before the last ones. A lease that is prolonged moves nothing: it is noticed
 * when the earlier end comes, and the residency goes to where the later one belongs. An eviction takes from the old end
 * of a list. It looks at nothing else, except at members of a group that is leased through another member, which move
 * to the leased list when they are met, and, when nothing else is left, at those whose turn to move has not come.
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
    /** How many whose lease has ended one call moves over: about a millisecond. */
    static final int PART = 1024;

    private final List plain = new List();
    private final List softPinned = new List();
    private final List leased = new List();
    /** The same for each tenant, without what is leased; null when nobody asks for that. */
    private final TenantOrders byTenant;

    EvictionOrder() {
        this(null);
    }

    EvictionOrder(final TenantOrders byTenant) {
        this.byTenant = byTenant;
    }

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
        if (byTenant != null && list != leased) {
            byTenant.remove(residency, list == softPinned);
        }
        residency.list(null);
        residency.older(null);
        residency.newer(null);
        list.size--;
    }

    /** Moves those over whose lease has ended, up to a part of them; true when there are more. */
    boolean expireLeases(final long nowMs) {
        for (int i = 0; i < PART && hasExpired(nowMs); i++) {
            expireOne(nowMs);
        }
        return hasExpired(nowMs);
    }

    /** When the next lease is looked at, which has ended then unless it was prolonged; the end of time without any. */
    long nextLeaseEndMs() {
        return leased.oldest == null ? Long.MAX_VALUE : leased.oldest.linkedUntilMs();
    }

    private boolean hasExpired(final long nowMs) {
        return leased.oldest != null && leased.oldest.linkedUntilMs() <= nowMs;
    }

    private void expireOne(final long nowMs) {
        final Residency residency = leased.oldest;
        remove(residency);
        append(residency, nowMs);
    }

    /** A soft pin has ended or begun: to the young end of the list that is right now. */
    void pinChanged(final Residency residency, final long nowMs) {
        if (residency.list() == plain || residency.list() == softPinned) {
            remove(residency);
            append(residency, nowMs);
        }
    }

    /** The next victim, or null when nothing may be evicted. */
    Residency oldest(final boolean evenSoftPinned, final long nowMs) {
        while (plain.oldest == null && hasExpired(nowMs)) {
            expireOne(nowMs);
        }
        return plain.oldest == null && evenSoftPinned ? softPinned.oldest : plain.oldest;
    }

    /** What a tenant loses next, or null when nothing of its may be evicted. */
    Residency oldestOf(final String tenant, final boolean evenSoftPinned, final long nowMs) {
        while (byTenant.oldest(tenant, false) == null && hasExpired(nowMs)) {
            expireOne(nowMs);
        }
        return byTenant.oldest(tenant, evenSoftPinned);
    }

    /** Value bytes that a tenant can lose; not all that there are, when these are as many as are wanted. */
    long bytesOf(final String tenant, final boolean evenSoftPinned, final long wanted, final long nowMs) {
        while (byTenant.bytes(tenant, evenSoftPinned) < wanted && hasExpired(nowMs)) {
            expireOne(nowMs);
        }
        return byTenant.bytes(tenant, evenSoftPinned);
    }

    long size() {
        return plain.size + softPinned.size + leased.size;
    }

    /** Links something behind another one, or at the old end when that is null. */
    private void insert(final List list, final Residency older, final Residency residency) {
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
        if (byTenant != null && list != leased) {
            byTenant.add(residency, list == softPinned, older == null);
        }
    }
}
