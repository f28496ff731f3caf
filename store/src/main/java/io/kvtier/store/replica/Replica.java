package io.kvtier.store.replica;

/**
 * One copy of an object.
 *
 * @param id         unique within a master, never reused.
 * @param status     where it is in its life.
 * @param descriptor how to reach it.
 */
public record Replica(long id, ReplicaStatus status, ReplicaDescriptor descriptor) {
    /**
     * The kind of medium.
     *
     * @return the kind.
     */
    public ReplicaType type() {
        return descriptor.type();
    }

    /**
     * Whether its bytes are all there.
     *
     * @return true when it may be read.
     */
    public boolean isComplete() {
        return status == ReplicaStatus.COMPLETE;
    }
}
