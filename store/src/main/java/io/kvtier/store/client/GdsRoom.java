package io.kvtier.store.client;

import io.kvtier.alloc.Units;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.StoreConfig;
import io.kvtier.store.StoreException;
import io.kvtier.store.protocol.GdsCommand;
import io.kvtier.store.protocol.GdsCommand.GdsDrop;
import io.kvtier.store.protocol.GdsCommand.GdsDrops;
import io.kvtier.store.protocol.Master;
import io.kvtier.store.storage.GdsReservation;
import io.kvtier.store.storage.GdsStorageManager;
import java.util.UUID;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Room in this client's own file for GDS replicas: frees what the master has dropped, and has it drop more.
 *
 * <p><b>Threading:</b> thread-safe. <b>Blocking:</b> on the master, and on the disk where what was dropped has to be
 * written down before its extent is used again.
 */
final class GdsRoom {
    /** Extents that are fetched in one command. */
    private static final int STEP = 1024;
    /** How often a put makes room: what was evicted may lie apart, or another put may have taken it. */
    private static final int MOST_TRIES = 8;

    private final UUID clientId;
    private final Master master;
    private final GdsStorageManager storage;
    /** Held while extents that the master has dropped are freed; before the storage's locks and the master's. */
    private final ReentrantLock dropping = new ReentrantLock();
    /** Up to which number they are freed; under the lock. */
    private long dropsDone;

    GdsRoom(final UUID clientId, final Master master, final GdsStorageManager storage) {
        this.clientId = clientId;
        this.master = master;
        this.storage = storage;
    }

    /** Room for a value; asks the master to make some when there is none. Null when that was of no use. */
    GdsReservation take(final ObjectKey key, final long size) {
        GdsReservation room = storage.reserve(key, size);
        for (int tries = 0; room == null && tries < MOST_TRIES; tries++) {
            if (!make(Units.taken(size, StoreConfig.UNIT_BYTES), tries > 0)) {
                break;
            }
            room = storage.reserve(key, size);
        }
        return room;
    }

    /**
     * Frees what may be freed. What was dropped can be used again only when that has been written down.
     *
     * @param evict whether the master is to drop more.
     * @return false when nothing more may go: all is leased, pinned, being written or being read.
     */
    private boolean make(final long bytes, final boolean evict) {
        final boolean evicted =
            evict && master.<Long>apply(new GdsCommand.MakeGdsRoom(clientId, bytes)) > 0;
        final boolean freed = freeDropped() > 0;
        storage.flush();
        return freed || evicted || !evict;
    }

    /** Frees what the master has dropped, and tells it so; how many extents it named. */
    long freeDropped() {
        long count = 0;
        dropping.lock();
        try {
            GdsDrops drops = master.apply(new GdsCommand.FetchGdsDrops(clientId, STEP, dropsDone));
            while (!drops.extents().isEmpty()) {
                for (final GdsDrop drop : drops.extents()) {
                    storage.drop(drop.offset(), drop.replicaId());
                }
                count += drops.extents().size();
                dropsDone = drops.last();
                drops = master.apply(new GdsCommand.FetchGdsDrops(clientId, STEP, dropsDone));
            }
        } finally {
            dropping.unlock();
        }
        return count;
    }

    /**
     * Frees what the master has dropped before a call of this client returns that has dropped it, and writes that down:
     * after a crash it could come back otherwise.
     *
     * @throws StoreException FILE_WRITE_FAIL when it could not be written down; it is tried again with the next change.
     */
    void removeDropped() {
        // What was dropped before, for room, may be in the index yet, since that could not be written.
        if (freeDropped() > 0 || storage.stats().resting() > 0) {
            storage.flush();
        }
    }
}
