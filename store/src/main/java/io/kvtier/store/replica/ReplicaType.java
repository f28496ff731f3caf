package io.kvtier.store.replica;

/** A kind of medium. The numbers cross the wire and stand in snapshots: they are stable and never reused. */
public enum ReplicaType {
    /** Memory that a client lends. */
    MEMORY(0),
    /** A client's own disk, read through that client. */
    LOCAL_DISK(2);

    private final int number;

    ReplicaType(final int number) {
        this.number = number;
    }

    /**
     * The stable number.
     *
     * @return the number.
     */
    public int number() {
        return number;
    }
}
