package io.kvtier.store.storage;

import io.kvtier.store.ObjectKey;

/**
 * An extent of which this side does not know whether the master has it: it was offered, and the answer never came.
 *
 * <p><b>Threading:</b> immutable.
 *
 * @param number    the number of its reservation, which no other one since the file was opened has.
 * @param key       name of its value.
 * @param extent    where it lies.
 * @param size      bytes of its value.
 * @param accepted  whether the master had given it a replica.
 * @param version   of the value; 0 when it was not accepted.
 * @param replicaId what the master called that replica; 0 when it was not accepted.
 */
public record UnsettledExtent(long number, ObjectKey key, Extent extent, long size, boolean accepted, long version,
                              long replicaId) {
}
