package io.kvtier.store.client.gds;

import io.kvtier.alloc.Units;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.StoreConfig;
import io.kvtier.store.StoreException;
import io.kvtier.store.client.call.Pressure;
import io.kvtier.store.client.call.Refusals;
import io.kvtier.store.client.master.PutStarts;
import io.kvtier.store.protocol.GdsCommand;
import io.kvtier.store.protocol.GdsCommand.GdsDrop;
import io.kvtier.store.protocol.GdsCommand.GdsDrops;
import io.kvtier.store.protocol.GdsCommand.GdsRoomReply;
import io.kvtier.store.protocol.Master;
import io.kvtier.store.protocol.ObjectCommand.PutStart;
import io.kvtier.store.storage.GdsReservation;
import io.kvtier.store.storage.GdsStorageManager;
import io.kvtier.transport.RareLog;
import java.nio.file.Path;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Room in this client's own file for GDS replicas: frees what the master has dropped, has it drop more, and keeps puts
 * waiting that nothing else can hold.
 *
 * <p><b>Threading:</b> thread-safe. <b>Blocking:</b> on the master, and on the disk where what was dropped has to be
 * written down before its extent is used again; a put that waits, until there is room.
 */
final class GdsRoom {
    /** Extents that are fetched in one command. */
    private static final int STEP = 1024;
    /** How often a put makes room: what was evicted may lie apart, or another put may have taken it. */
    private static final int MOST_TRIES = 8;

    private final UUID clientId;
    private final Master master;
    private final GdsStorageManager storage;
    /** For people. */
    private final Path file;
    private final RareLog notes = new RareLog(System.getLogger(GdsRoom.class.getName()));
    /** Held while extents that the master has dropped are freed; before the storage's locks and the master's. */
    private final ReentrantLock dropping = new ReentrantLock();
    /** Up to which number they are freed; under the lock. */
    private long dropsDone;
    /** Where puts wait. */
    private final Pressure freed = new Pressure();

    GdsRoom(final UUID clientId, final Master master, final GdsStorageManager storage, final Path file) {
        this.file = file;
        this.clientId = clientId;
        this.master = master;
        this.storage = storage;
        storage.whenRoom(freed::signal);
    }

    /**
     * What looking for room came to.
     *
     * @param room null when there is none.
     * @param more what the master said last; null when it was not asked.
     */
    private record Sought(GdsReservation room, GdsRoomReply more) {
        static final Sought IN_VAIN = new Sought(null, new GdsRoomReply(0, false, 0));

        boolean mayComeFree() {
            return more == null || more.bytes() > 0 || more.mayComeFree();
        }
    }

    /** Room for a value; asks the master to make some when there is none. Null when that was of no use. */
    GdsReservation take(final ObjectKey key, final long size) {
        return seekQuietly(key, size).room;
    }

    /** A put can do without, or has no room, when the master cannot be asked or the disk fails. */
    private Sought seekQuietly(final ObjectKey key, final long size) {
        try {
            return seek(key, size);
        } catch (final StoreException e) {
            notes.warn("no room could be made in " + file, e::getMessage);
            return Sought.IN_VAIN;
        }
    }

    private Sought seek(final ObjectKey key, final long size) {
        GdsReservation room = storage.reserve(key, size);
        GdsRoomReply more = null;
        boolean goesOn = true;
        for (int tries = 0; room == null && goesOn && tries < MOST_TRIES; tries++) {
            if (tries > 0) {
                more = master.apply(new GdsCommand.MakeGdsRoom(clientId, Units.taken(size, StoreConfig.UNIT_BYTES)));
            }
            final boolean freed = freeDropped() > 0;
            // What was dropped can be used again only when that has been written down.
            storage.flush();
            goesOn = freed || more == null || more.bytes() > 0;
            room = goesOn ? storage.reserve(key, size) : null;
        }
        return new Sought(room, more);
    }

    /**
     * Waits for room for a value that nothing else can hold, as long as some may come free: something is being written,
     * read after it was dropped, settled, written down, leased, or rests. Woken when an extent comes free or a value
     * can be dropped, and when the next lease ends, of which nobody tells.
     *
     * @param deadlineNanos until when, by {@link System#nanoTime()}.
     * @return null when none can come free, or none did in time.
     * @throws StoreException when the store is closed meanwhile, or the thread is interrupted: it stays interrupted.
     */
    GdsReservation await(final PutStart command, final PutStarts starts, final long deadlineNanos) {
        boolean waited = false;
        while (true) {
            final long seen = freed.epoch();
            final Sought sought = seekQuietly(command.key(), command.size());
            final boolean hope = sought != Sought.IN_VAIN
                && (sought.mayComeFree() || storage.mayComeFree() || freed.epoch() != seen);
            if (sought.room != null || !hope || deadlineNanos - System.nanoTime() <= 0) {
                return sought.room;
            }
            if (starts.gate().isClosed()) {
                throw Refusals.closed();
            }
            if (!waited) {
                waited = true;
                starts.counters().putWaits().increment();
            }
            await(command, seen, sought.more, deadlineNanos);
        }
    }

    private void await(final PutStart command, final long seen, final GdsRoomReply more, final long deadlineNanos) {
        final long now = System.nanoTime();
        final long next = more == null || more.nextMs() == 0 ? Long.MAX_VALUE
            : TimeUnit.MILLISECONDS.toNanos(more.nextMs());
        try {
            freed.await(seen, now + Math.min(next, deadlineNanos - now));
        } catch (final InterruptedException e) {
            Thread.currentThread().interrupt();
            throw Refusals.interrupted(command.key());
        }
    }

    /** Has those who wait look again. */
    void lookAgain() {
        freed.signal();
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
