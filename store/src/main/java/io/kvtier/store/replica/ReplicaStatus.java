package io.kvtier.store.replica;

/** Where a replica is in its life: {@code PROCESSING → COMPLETE → REMOVED}, never back. */
public enum ReplicaStatus {
    /** Its bytes are being written; nobody may read it. */
    PROCESSING,
    /** Its bytes are all there. */
    COMPLETE,
    /** It is gone from the metadata; its space is freed when the last reader has let go. */
    REMOVED
}
