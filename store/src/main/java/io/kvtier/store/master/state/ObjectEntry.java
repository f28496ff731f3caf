package io.kvtier.store.master.state;

/** The place of one object in the catalogue: its current record, and what changes too often to be part of it. */
final class ObjectEntry {
    private ObjectRecord record;
    private MemoryReplica memory;
    private long leaseUntilMs;

    ObjectEntry(final ObjectRecord record) {
        this.record = record;
    }

    ObjectRecord record() {
        return record;
    }

    void replace(final ObjectRecord changed) {
        record = changed;
    }

    /** The memory replica, of any status; null when there is none. */
    MemoryReplica memory() {
        return memory;
    }

    void memory(final MemoryReplica replica) {
        memory = replica;
    }

    boolean isLeased(final long nowMs) {
        return leaseUntilMs > nowMs;
    }

    long leaseUntilMs() {
        return leaseUntilMs;
    }

    /** A lease is never shortened. */
    void lease(final long untilMs) {
        leaseUntilMs = Math.max(leaseUntilMs, untilMs);
    }
}
