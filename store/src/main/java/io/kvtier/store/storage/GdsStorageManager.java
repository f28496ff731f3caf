package io.kvtier.store.storage;

import io.kvtier.alloc.Units;
import io.kvtier.alloc.extent.ExtentAllocator;
import io.kvtier.bindings.NativeException;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.StoreException;
import io.kvtier.transport.Closings;
import io.kvtier.transport.TransferEngine;
import io.kvtier.transport.file.FileOpener;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Values in one preallocated file of this host, which the transfer engine writes and reads straight from and to the
 * memory that they are in, a GPU's included. The master knows each as a replica that only this process can read, and
 * decides what is kept; this decides where it lies, and makes sure that what is read is what was written.
 *
 * <p>The parts: {@link GdsBackingFile} is the file and its identity, {@link ExtentMap} says what lies where and how far
 * it is, {@link ExtentFile} moves bytes, {@link GdsIndex} makes it survive a restart.
 *
 * <p><b>Why no read returns other bytes.</b> A descriptor of the master can outlive its extent. It has the file's id
 * and generation, and a file that starts anew has another generation, written durably before anything else is. Within
 * one generation a lease is given only on an extent that is written and agrees in key, version, place and size. Who
 * asks has a descriptor, and so the master's word that it is complete, perhaps before the thread that wrote or offered
 * it has heard that word. An extent is given to another value only when its last lease is closed, the transfers under
 * it have ended, and no record in the index can name it. After a read the map is asked once more, for the master may
 * have dropped the value and have given its name to another one meanwhile.
 *
 * <p><b>Who frees, and when</b> is told in {@link ExtentMap}: what is given up, by whomever, is freed by the last of
 * write, lease and record that lets go of it, under the map's lock.
 *
 * <p><b>With a warm restart</b> what was committed is found again by the next start under the same id and generation,
 * but for what was committed just before a crash: records are written behind the puts, see {@link GdsIndex}. The
 * master, which may have dropped it meanwhile, is asked to {@linkplain #adopt adopt} it. Without, every
 * start is empty and a generation of its own. Another capacity, and whatever cannot be understood, starts empty too.
 *
 * <p><b>Threading:</b> thread-safe. Locks: the map's, and behind it the index's; neither is held across a call that
 * blocks, and no caller of this waits for a disk but in {@link #open}, {@link #flush} and {@link #close}. Other calls
 * may come from the ends of transfers. <b>Lifetime:</b> owns the file, its lock and its index; the engine is the
 * caller's, who closes it afterwards. Reservations and leases may be closed after it. <b>Errors:</b> no room and no
 * such value are answers.
 */
public final class GdsStorageManager implements AutoCloseable {
    private static final System.Logger LOG = System.getLogger(GdsStorageManager.class.getName());
    private static final String INDEX_SUFFIX = ".index";

    private final GdsBackingFile backing;
    private final ExtentMap map;
    private final ExtentFile file;
    /** Null without a warm restart. */
    private final GdsIndex index;
    private final StoreLock fileLock;
    private final AtomicBoolean closed = new AtomicBoolean();

    /**
     * Settings.
     *
     * @param file        the file, by an absolute path; made when absent, with the directories that lead to it. Beside
     *                    it are its lock and its index, {@code .lock} and {@code .index}.
     * @param capacity    bytes for values, from 4,096 to 16 TiB; rounded down to whole blocks of 4,096. Reserved on the
     *                    disk when the file is opened.
     * @param warmRestart whether values survive a restart.
     */
    public record Options(Path file, long capacity, boolean warmRestart) {
        /**
         * Validates.
         *
         * @throws StoreException INVALID_PARAMS, naming the setting, the value and what is allowed.
         */
        public Options {
            if (file == null || !file.isAbsolute() || file.getFileName() == null) {
                throw new StoreException(ErrorCode.INVALID_PARAMS, "the GDS file is " + file
                    + "; it must be an absolute path of a file");
            }
            if (capacity < DataFile.UNIT_BYTES || capacity > ExtentAllocator.MAX_CAPACITY_BYTES) {
                throw new StoreException(ErrorCode.INVALID_PARAMS, "the capacity of GDS file " + file + " is "
                    + capacity + " bytes; it must be " + DataFile.UNIT_BYTES + " to "
                    + ExtentAllocator.MAX_CAPACITY_BYTES);
            }
        }
    }

    private GdsStorageManager(final Closings open, final Options options, final StoreLock fileLock,
        final GdsBackingFile found, final TransferEngine engine, final FileOpener opener) {
        this.fileLock = fileLock;
        map = open.keep(new ExtentMap(found.header().capacity()), ExtentMap::close);
        final Path path = Path.of(found.path() + INDEX_SUFFIX);
        if (!options.warmRestart()) {
            backing = found.anew() ? found : found.renew(opener);
            // Of another generation now. It goes for good order.
            DurableNames.of(opener).deleteIfExists(path);
            file = open.keep(ExtentFile.open(engine, backing.path()), ExtentFile::close);
            index = null;
            return;
        }
        final Recovered recovered = recover(found, path, opener);
        backing = recovered.backing();
        final IndexLog<ExtentRecord, StoredExtent> log = open.keep(recovered.opened().log(), IndexLog::close);
        final List<StoredExtent> values = recovered.opened().values();
        final List<StoredExtent> kept = map.restore(values);
        if (kept.size() < values.size()) {
            // What is left out lies under something else. In the index it would come back when that is removed.
            log.rewrite(kept);
        }
        file = open.keep(ExtentFile.open(engine, backing.path()), ExtentFile::close);
        index = new GdsIndex(map, log, file::sync);
        index.start();
    }

    /**
     * Opens the file, or makes it.
     *
     * @param options settings.
     * @param engine  moves the bytes, with a transport for files; stays the caller's, who closes it after this.
     * @param opener  opens the files that the engine does not.
     * @return the manager.
     * @throws StoreException FILE_LOCK_FAIL when another store has it; FILE_OPEN_FAIL when it is not a file of this
     *                        store, or cannot be opened or made, or its index cannot be written; FILE_READ_FAIL
     *                        when that cannot be read; FILE_WRITE_FAIL when a file beside it cannot be deleted or
     *                        take its name. A file of somebody else's is left as it is.
     */
    public static GdsStorageManager open(final Options options, final TransferEngine engine,
        final FileOpener opener) {
        DurableNames.of(opener).createDurably(options.file().getParent());
        final Path path = real(options.file());
        final long capacity = Units.down(options.capacity(), DataFile.UNIT_BYTES);
        try (Closings open = new Closings()) {
            final StoreLock lock = open.keep(StoreLock.ofFile(path), StoreLock::close);
            final GdsBackingFile found = GdsBackingFile.open(path, capacity, opener);
            final GdsStorageManager manager = new GdsStorageManager(open, options, lock, found, engine, opener);
            open.stayOpen();
            return manager;
        } catch (final NativeException e) {
            throw GdsBackingFile.failed(path, capacity, e);
        }
    }

    /** Where a link leads: what is beside the file shall be on its disk. */
    private static Path real(final Path path) {
        try {
            return Files.exists(path) ? path.toRealPath() : path;
        } catch (final IOException e) {
            throw new StoreException(ErrorCode.FILE_OPEN_FAIL, "cannot tell where " + path + " leads", e);
        }
    }

    /** A file, and what its index says of it. */
    private record Recovered(GdsBackingFile backing, IndexLog.Opened<ExtentRecord, StoredExtent> opened) {
    }

    /** An index that is none of this file's generation, or is not whole, says nothing: the file starts anew. */
    private static Recovered recover(final GdsBackingFile found, final Path path, final FileOpener opener) {
        if (!found.anew() && Files.exists(path)) {
            try {
                return new Recovered(found, open(found, path, opener));
            } catch (final StoreException e) {
                if (e.code() != ErrorCode.FILE_OPEN_FAIL) {
                    throw e;
                }
                LOG.log(System.Logger.Level.WARNING, "GDS file " + found.path() + " starts empty, with another "
                    + "generation, because its index cannot be used", e);
            }
        }
        final GdsBackingFile anew = found.anew() ? found : found.renew(opener);
        DurableNames.of(opener).deleteIfExists(path);
        return new Recovered(anew, open(anew, path, opener));
    }

    private static IndexLog.Opened<ExtentRecord, StoredExtent> open(final GdsBackingFile of, final Path path,
        final FileOpener opener) {
        return IndexLog.open(path, ExtentRecord.FORMAT, of.header().storageId(), of.header().generation(), opener);
    }

    /**
     * Has somebody told whenever an extent comes free, or a value is there that can be dropped to make room.
     *
     * @param told called under a lock, by any thread: it must not block, nor call this.
     */
    public void whenRoom(final Runnable told) {
        map.tellRoom(told);
    }

    /**
     * Whether something is under way that ends in room: a write, a read of what was dropped, a record that is written
     * down, an extent that is unsettled. {@link #whenRoom} tells of it.
     *
     * @return false when what is taken stays until it is dropped.
     */
    public boolean mayComeFree() {
        return map.mayComeFree();
    }

    /**
     * Which file this is.
     *
     * @return the id in its header; another file has another one.
     */
    public UUID storageId() {
        return backing.header().storageId();
    }

    /**
     * Which time this is that the file began empty.
     *
     * @return a positive number; a descriptor of another generation names bytes that are gone.
     */
    public long generation() {
        return backing.header().generation();
    }

    /**
     * Bytes it can hold.
     *
     * @return bytes, whole blocks.
     */
    public long capacityBytes() {
        return map.capacity();
    }

    /**
     * Bytes that are taken now, by whatever.
     *
     * @return bytes.
     */
    public long usedBytes() {
        return map.used();
    }

    /**
     * What the index had, and neither {@link #adopt} nor {@link #refuse} nor {@link #drop} has answered yet: to be
     * offered to the master.
     *
     * @return values, the oldest first.
     */
    public List<StoredExtent> recovered() {
        return map.stored(ExtentEntry.State.RECOVERED);
    }

    /**
     * Everything that can be read: to be offered to a master that has forgotten it.
     *
     * @return values, the oldest first.
     */
    public List<StoredExtent> committed() {
        return map.stored(ExtentEntry.State.COMMITTED);
    }

    /**
     * Reserves room for a value.
     *
     * @param key  its name.
     * @param size bytes, at least 1.
     * @return the reservation, to be closed; null when there is no room, also for what would never fit, and when this
     *         is closed.
     * @throws IllegalArgumentException when the size is less than 1.
     */
    public GdsReservation reserve(final ObjectKey key, final long size) {
        if (size < 1) {
            throw new IllegalArgumentException("the size of " + key + " is " + size
                + " bytes; a value in a GDS file has at least 1");
        }
        final ExtentEntry entry = map.reserve(key, size);
        if (entry == null && index != null) {
            index.hurry();
        }
        return entry == null ? null : new GdsReservation(map, file, entry);
    }

    /**
     * Takes a hold on a value.
     *
     * @param key     its name.
     * @param version its version.
     * @param extent  where it lies.
     * @param size    its bytes.
     * @return the hold, to be closed; null unless an extent that is written agrees in all of these, and when this is
     *         closed.
     */
    public GdsLease acquire(final ObjectKey key, final long version, final Extent extent, final long size) {
        final ExtentEntry entry = map.acquire(key, version, extent, size);
        return entry == null ? null : new GdsLease(map, file, entry);
    }

    /**
     * The master has forgotten a replica: it can not be read any more, and its extent goes when nobody needs it.
     * Whether that comes before or after this side has heard of the replica makes no difference; it may be said again
     * and again.
     *
     * @param offset    of its extent; what begins there may be another replica by now, which stays.
     * @param replicaId what the master called it.
     */
    public void drop(final long offset, final long replicaId) {
        map.drop(offset, replicaId);
    }

    /**
     * Extents of which nobody here knows whether the master has them, and whose writes have ended: to be asked about.
     *
     * @param max how many, at most.
     * @return the oldest of them, but for those that had to wait already, which are last.
     */
    public List<UnsettledExtent> unsettled(final int max) {
        return map.unsettled(max);
    }

    /**
     * What the master says of an extent that was unsettled. About one that is settled by now it does nothing.
     *
     * @param extent  as it was listed.
     * @param verdict GONE frees it, COMPLETE commits it, without a checksum, WAIT leaves it as it is.
     * @return whether it can be read now. When the master counts it as complete and this is false, the replica is not
     *         there: it was not written well, or was dropped meanwhile.
     */
    public boolean settle(final UnsettledExtent extent, final Verdict verdict) {
        return map.settle(extent, verdict);
    }

    /**
     * The master has taken what {@link #recovered()} or {@link #committed()} offered.
     *
     * @param extent    as it was offered.
     * @param replicaId what it calls the replica now.
     * @return whether it can be read now; false when it was dropped meanwhile, or is not as it was offered.
     */
    public boolean adopt(final StoredExtent extent, final long replicaId) {
        return map.adopt(extent, replicaId);
    }

    /**
     * The master does not want what {@link #recovered()} or {@link #committed()} offered: it goes, as by {@link #drop}.
     *
     * @param extent as it was offered; does nothing when it is not there so any more.
     */
    public void refuse(final StoredExtent extent) {
        map.refuse(extent);
    }

    /**
     * Sets who is told when extents have become {@linkplain #unsettled unsettled} though no reservation was closed: a
     * sync that failed may have lost what they have, and the master counts them as complete.
     *
     * @param told is run by the thread of the index, without a lock; must not block.
     */
    public void whenInDoubt(final Runnable told) {
        if (index != null) {
            index.whenInDoubt(told);
        }
    }

    /**
     * What there is now.
     *
     * @return counts that belong together.
     */
    public GdsStorageStats stats() {
        return map.stats();
    }

    /**
     * Waits until what was committed and dropped by now has been written down, so that a restart finds the one and not
     * the other, and what was dropped is free unless it is held. Without a warm restart it does nothing.
     *
     * @throws StoreException FILE_WRITE_FAIL when that failed; it is tried again with the next change.
     */
    public void flush() {
        if (index != null) {
            index.flush();
        }
    }

    /**
     * Refuses what comes from now on, writes down what is committed, waits for the transfers that run, and closes the
     * files. What is reserved or unsettled is lost. A second call does nothing.
     *
     * @throws StoreException FILE_WRITE_FAIL when the index could not be written; all is closed then too.
     */
    @Override
    public void close() {
        if (!closed.compareAndSet(false, true)) {
            return;
        }
        try (Closings closing = new Closings()) {
            closing.add(fileLock::close);
            closing.add(map::close);
            // Behind the index, which makes the values durable through it.
            closing.add(file::close);
            if (index != null) {
                closing.add(index::close);
            }
            map.refuseAll();
        }
    }
}
