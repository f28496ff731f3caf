package io.kvtier.store.master.state;

/**
 * Memory replicas in the order in which they may be evicted: two lists linked through the replicas, one of those whose
 * lease has ended and one of those whose lease runs.
 *
 * <p>With one lease time the order of last use is the order of lease end. So a replica that is used goes to the young
 * end of the leased list (or of the evictable one when leases are off), past those few whose lease ends later because
 * their shorter reads ended first, and before an allocation those whose lease has ended move over in order. An eviction
 * then takes from the old end of the evictable list and looks at nothing else; replicas that are held are in neither
 * list.
 */
final class EvictionOrder {
    /** One linked list; {@code oldest} is evicted first. */
    static final class List {
        private MemoryReplica oldest;
        private MemoryReplica newest;
        private long size;
    }

    private final List evictable = new List();
    private final List leased = new List();

    /** Appends a replica that has just been used, written or let go. */
    void append(final MemoryReplica replica, final long nowMs) {
        if (!replica.owner().isLeased(nowMs)) {
            insert(evictable, evictable.newest, replica);
            return;
        }
        MemoryReplica before = leased.newest;
        while (before != null && before.owner().leaseUntilMs() > replica.owner().leaseUntilMs()) {
            before = before.older();
        }
        insert(leased, before, replica);
    }

    /** Puts a replica back where it is evicted next. */
    void putBack(final MemoryReplica replica) {
        insert(evictable, null, replica);
    }

    /** Takes a replica out, if it is in. */
    void remove(final MemoryReplica replica) {
        final List list = replica.list();
        if (list == null) {
            return;
        }
        if (replica.older() == null) {
            list.oldest = replica.newer();
        } else {
            replica.older().newer(replica.newer());
        }
        if (replica.newer() == null) {
            list.newest = replica.older();
        } else {
            replica.newer().older(replica.older());
        }
        replica.list(null);
        replica.older(null);
        replica.newer(null);
        list.size--;
    }

    /** Moves those over whose lease has ended. */
    void expireLeases(final long nowMs) {
        while (leased.oldest != null && !leased.oldest.owner().isLeased(nowMs)) {
            final MemoryReplica replica = leased.oldest;
            remove(replica);
            insert(evictable, evictable.newest, replica);
        }
    }

    /** The next victim, or null when nothing may be evicted. */
    MemoryReplica oldest() {
        return evictable.oldest;
    }

    long size() {
        return evictable.size + leased.size;
    }

    /** Links a replica behind another one, or at the old end when that is null. */
    private static void insert(final List list, final MemoryReplica older, final MemoryReplica replica) {
        final MemoryReplica newer = older == null ? list.oldest : older.newer();
        replica.list(list);
        replica.older(older);
        replica.newer(newer);
        if (older == null) {
            list.oldest = replica;
        } else {
            older.newer(replica);
        }
        if (newer == null) {
            list.newest = replica;
        } else {
            newer.older(replica);
        }
        list.size++;
    }
}
