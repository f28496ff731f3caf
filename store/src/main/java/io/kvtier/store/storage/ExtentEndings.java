package io.kvtier.store.storage;

import io.kvtier.store.storage.ExtentEntry.State;
import io.kvtier.transport.Transfer;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/**
 * What transfers that run keep from being freed: leases that are closed, and extents that are dropped. One whose
 * transfer has ended without being settled stays here until the process ends: a device may still move bytes from or to
 * its extent.
 *
 * <p><b>Threading:</b> guarded by the lock of the map.
 */
final class ExtentEndings {
    private final List<Ending> endings = new ArrayList<>();

    /**
     * A lease that is closed, or an extent that is dropped, while transfers run.
     *
     * @param reads of the lease; null for an extent that is being written.
     */
    private record Ending(ExtentEntry entry, List<Transfer> reads) {
        boolean isOver() {
            return reads == null ? !entry.isWriting() : reads.stream().allMatch(Transfer::isSettled);
        }

        /** Whether it never will be. */
        boolean isLost() {
            return reads == null ? entry.isLost() : reads.stream().anyMatch(read -> read.isDone() && !read.isSettled());
        }
    }

    /** A dropped extent that is still being written. */
    void write(final ExtentEntry entry) {
        endings.add(new Ending(entry, null));
    }

    /** A closed lease, of which some reads may still run. */
    void reads(final ExtentEntry entry, final List<Transfer> running) {
        endings.add(new Ending(entry, running));
    }

    /**
     * Takes out those who wait for a transfer to end, and have waited long enough.
     *
     * @param read    is told of a lease that is over.
     * @param letGo   is told of the extent of each, after that.
     */
    void finish(final Consumer<ExtentEntry> read, final Consumer<ExtentEntry> letGo) {
        endings.removeIf(ending -> {
            if (!ending.isOver()) {
                return false;
            }
            if (ending.reads != null) {
                read.accept(ending.entry);
            }
            letGo.accept(ending.entry);
            return true;
        });
    }

    /** Extents among these that stay until the process ends. */
    long lost() {
        return endings.stream().filter(Ending::isLost).map(Ending::entry).distinct().count();
    }

    /** Those of them that are dropped. */
    long lostAndDropped() {
        return endings.stream().filter(ending -> ending.entry.state == State.DROPPED && ending.isLost())
            .map(Ending::entry).distinct().count();
    }
}
