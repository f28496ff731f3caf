package io.kvtier.store.master.state;

/**
 * An object's complete replicas on one medium. Its place in the {@link EvictionOrder} is the object's there: they are
 * evicted together.
 *
 * <p>It stands in the order exactly when it has replicas, none of them is held, and the object is not pinned hard.
 */
final class Residency {
    private final ObjectEntry entry;
    private PlacedReplica first;
    private int heldReplicas;

    // Written by the eviction order alone.
    private EvictionOrder.List list;
    private Residency older;
    private Residency newer;
    private long linkedUntilMs;

    Residency(final ObjectEntry entry) {
        this.entry = entry;
    }

    ObjectEntry entry() {
        return entry;
    }

    /** The first replica; the others follow as its siblings. */
    PlacedReplica first() {
        return first;
    }

    void add(final PlacedReplica replica) {
        if (first == null) {
            first = replica;
            return;
        }
        PlacedReplica last = first;
        while (last.sibling() != null) {
            last = last.sibling();
        }
        last.sibling(replica);
    }

    void remove(final PlacedReplica replica) {
        if (first == replica) {
            first = replica.sibling();
        } else {
            PlacedReplica before = first;
            while (before.sibling() != replica) {
                before = before.sibling();
            }
            before.sibling(replica.sibling());
        }
        replica.sibling(null);
    }

    PlacedReplica find(final long replicaId) {
        PlacedReplica replica = first;
        while (replica != null && replica.id() != replicaId) {
            replica = replica.sibling();
        }
        return replica;
    }

    int size() {
        int count = 0;
        for (PlacedReplica replica = first; replica != null; replica = replica.sibling()) {
            count++;
        }
        return count;
    }

    /** Bytes of its values, as a tenant is charged for them. */
    long bytes() {
        long bytes = 0;
        for (PlacedReplica replica = first; replica != null; replica = replica.sibling()) {
            bytes += replica.size();
        }
        return bytes;
    }

    boolean isEmpty() {
        return first == null;
    }

    /** Whether one of its replicas lies in a segment that is not just being swept. */
    boolean isReadable() {
        PlacedReplica replica = first;
        while (replica != null && !replica.segment().isReadable()) {
            replica = replica.sibling();
        }
        return replica != null;
    }

    /** Whether every client can read one of its replicas, and not the owner of the file that it lies in alone. */
    boolean isForAll() {
        PlacedReplica replica = first;
        while (replica != null && !(replica.segment().isReadable() && replica.segment().isForAll())) {
            replica = replica.sibling();
        }
        return replica != null;
    }

    /** Whether all its replicas lie where something may be allocated. */
    boolean isOpen(final long nowMs) {
        PlacedReplica replica = first;
        while (replica != null && replica.segment().isOpen(nowMs)) {
            replica = replica.sibling();
        }
        return replica == null;
    }

    /** Whether one of its replicas is held; counted by {@link SpaceTier}. */
    boolean isHeld() {
        return heldReplicas > 0;
    }

    void heldReplicas(final int change) {
        heldReplicas += change;
    }

    EvictionOrder.List list() {
        return list;
    }

    void list(final EvictionOrder.List in) {
        list = in;
    }

    Residency older() {
        return older;
    }

    void older(final Residency residency) {
        older = residency;
    }

    Residency newer() {
        return newer;
    }

    void newer(final Residency residency) {
        newer = residency;
    }

    /** End of the lease by which it stands where it does; the object's own may have been prolonged since. */
    long linkedUntilMs() {
        return linkedUntilMs;
    }

    void linkedUntilMs(final long untilMs) {
        linkedUntilMs = untilMs;
    }
}
