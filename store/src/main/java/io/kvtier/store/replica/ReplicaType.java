package io.kvtier.store.replica;

/**
 * A kind of medium. The numbers cross the wire and stand in snapshots: they are stable and never reused; 4 is never
 * used at all, because a related system has it for "all kinds".
 */
public enum ReplicaType {
    /** A kind that only a later version knows: carried along, never read, freed or counted. */
    UNKNOWN(-1),
    /** Memory that a client lends. */
    MEMORY(0),
    /** A file for each value in a folder that every client mounts and reads by itself; no client owns it. */
    DISK(1),
    /** A client's own disk, read through that client. */
    LOCAL_DISK(2),
    /** A block device that clients reach by themselves. */
    NOF(3),
    /** Pages of a file on a file system that every client mounts and reads by itself; no client owns them. */
    DISTRIBUTED_DISK(5),
    /** An extent of a client's own file, written beside memory and straight from a GPU where there is one. */
    GDS(6);

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
