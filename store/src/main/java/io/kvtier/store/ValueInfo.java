package io.kvtier.store;

import io.kvtier.store.replica.ReplicaType;
import java.util.List;

/**
 * What the store knows of an object.
 *
 * <p><b>Threading:</b> immutable.
 *
 * @param size  bytes of the value.
 * @param tiers kinds of its readable replicas, in the order in which they would be read.
 */
public record ValueInfo(long size, List<ReplicaType> tiers) {
}
