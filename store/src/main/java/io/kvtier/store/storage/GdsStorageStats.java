package io.kvtier.store.storage;

/**
 * What a {@link GdsStorageManager} has, at one moment.
 *
 * <p><b>Threading:</b> immutable.
 *
 * @param capacityBytes bytes of the extent space.
 * @param usedBytes     bytes of it that are taken, by whatever.
 * @param committed     extents that can be read.
 * @param reserved      extents of reservations that are open.
 * @param unsettled     extents of which nobody here knows whether the master has them.
 * @param recovered     extents found in the index and not adopted yet.
 * @param resting       extents that are given up and not free yet: a write or a lease has not ended, or their removal
 *                      is not durable.
 * @param leases        leases that are open.
 * @param deferredFrees how often an extent was given up that a lease still held, since the file was opened.
 * @param lost          extents, of those that rest or are leased, that stay as they are until the process ends: nothing
 *                      was heard of a transfer, and a device may still move bytes from or to them.
 */
public record GdsStorageStats(long capacityBytes, long usedBytes, long committed, long reserved, long unsettled,
                              long recovered, long resting, long leases, long deferredFrees, long lost) {
}
