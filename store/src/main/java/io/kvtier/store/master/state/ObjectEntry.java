package io.kvtier.store.master.state;

import io.kvtier.store.ObjectKey;
import io.kvtier.store.protocol.SegmentCommand.Medium;

/** The place of one object in the catalogue: its current record, and what changes too often to be part of it. */
final class ObjectEntry {
    private static final int OTHER_MEDIA = Medium.values().length - 1;

    private final ObjectKey key;
    private ObjectRecord record;
    private PendingWrite pending;
    private Residency memory;
    /** Those on other media, by its number less one; null when there are none, as with most objects. */
    private Residency[] others;
    private PlacedReplica promotion;
    private ObjectGroup group;
    private boolean hardPinned;
    private Replication replication;
    private long leaseUntilMs;
    private long softPinUntilMs;
    private long usedMs;

    ObjectEntry(final ObjectKey key) {
        this.key = key;
    }

    ObjectKey key() {
        return key;
    }

    /** What is known of the readable value; null while there has been none. */
    ObjectRecord record() {
        return record;
    }

    /** Called by {@link ObjectCatalogue#replace} alone, which knows whether a snapshot is being taken. */
    void replace(final ObjectRecord changed) {
        record = changed;
    }

    /** Whether there is a complete replica, perhaps on a segment or disk that is just being swept. */
    boolean isReadable() {
        return record != null && !record.replicas().isEmpty();
    }

    /** The write under way; null when there is none. */
    PendingWrite pending() {
        return pending;
    }

    void pending(final PendingWrite write) {
        pending = write;
    }

    /** Its complete replicas on a medium; null when there are none. */
    Residency residency(final Medium medium) {
        if (medium == Medium.MEMORY) {
            return memory;
        }
        return others == null ? null : others[medium.ordinal() - 1];
    }

    void residency(final Medium medium, final Residency residency) {
        if (medium == Medium.MEMORY) {
            memory = residency;
            return;
        }
        if (others == null) {
            others = new Residency[OTHER_MEDIA];
        }
        others[medium.ordinal() - 1] = residency;
        boolean any = false;
        for (final Residency other : others) {
            any |= other != null;
        }
        if (!any) {
            others = null;
        }
    }

    /** Whether it has complete replicas on anything but memory. */
    boolean hasOthers() {
        return others != null;
    }

    /** The memory replica that is being filled from a disk; null when there is none. */
    PlacedReplica promotion() {
        return promotion;
    }

    void promotion(final PlacedReplica replica) {
        promotion = replica;
    }

    /** Whether nothing of the object is left. */
    boolean isEmpty() {
        return !isReadable() && pending == null && promotion == null && replication == null;
    }

    ObjectGroup group() {
        return group;
    }

    void group(final ObjectGroup joined) {
        group = joined;
    }

    boolean isHardPinned() {
        return hardPinned;
    }

    void pinHard() {
        hardPinned = true;
    }

    /** Whether it is being copied or moved between segments. */
    boolean isReplicating() {
        return replication != null;
    }

    /** The copy or move under way; null when there is none. */
    Replication replication() {
        return replication;
    }

    void replication(final Replication started) {
        replication = started;
    }

    boolean isLeased(final long nowMs) {
        return leaseUntilMs() > nowMs;
    }

    /** End of its own lease or its group's, whichever is later. */
    long leaseUntilMs() {
        return group == null ? leaseUntilMs : Math.max(leaseUntilMs, group.leaseUntilMs());
    }

    /** A lease is never shortened. */
    void lease(final long untilMs) {
        leaseUntilMs = Math.max(leaseUntilMs, untilMs);
        if (group != null) {
            group.lease(untilMs);
        }
    }

    /** When it was read, asked for or written last. */
    long usedMs() {
        return usedMs;
    }

    void used(final long nowMs) {
        usedMs = nowMs;
    }

    boolean isSoftPinned(final long nowMs) {
        return softPinUntilMs > nowMs;
    }

    long softPinUntilMs() {
        return softPinUntilMs;
    }

    void softPin(final long untilMs) {
        softPinUntilMs = untilMs;
    }
}
