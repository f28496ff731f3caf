package io.kvtier.store.protocol;

import io.kvtier.store.replica.ReplicaDescriptor;

/**
 * Answer to {@link DiskCommand.PromotionStart}.
 *
 * @param replicaId id to end the promotion by; 0 when it was declined.
 * @param memory    where to write; null when it was declined.
 */
public record PromotionReply(long replicaId, ReplicaDescriptor.Memory memory) {
    /** Not now: there is no room, or somebody else promotes the object already. */
    public static final PromotionReply DECLINED = new PromotionReply(0, null);

    /**
     * Whether memory was given.
     *
     * @return true when it was.
     */
    public boolean accepted() {
        return memory != null;
    }
}
