package io.kvtier.store.storage;

import io.kvtier.alloc.RegionSlice;
import io.kvtier.transport.Transfer;
import java.util.List;

/**
 * An extent that a value is being written to, from {@link GdsStorageManager#reserve} on.
 *
 * <p>Its owner writes the value, offers the extent to the master, and commits it when both went well:
 *
 * <pre>{@code
 * try (GdsReservation reservation = storage.reserve(key, size)) {
 *     final Transfer transfer = reservation.write(source);
 *     reservation.offered();                        // before the master is asked
 *     ... the master answers with a version and a replica ...
 *     reservation.accepted(version, replicaId);
 *     transfer.await();
 *     ... the master is told that the replica is complete ...
 *     reservation.commit(true, checksum);
 * }
 * }</pre>
 *
 * <p>What it was when it is closed decides what becomes of the extent: never offered, or declined, it is free;
 * committed, it stays; in between nobody here knows whether the master has it, and it is {@linkplain
 * GdsStorageManager#unsettled unsettled}. However it ends, the extent is not used again before the write has ended.
 *
 * <p><b>Threading:</b> thread-safe; meant for one owner. <b>Lifetime:</b> until closed, once; the manager may be closed
 * before. <b>Blocking:</b> {@link #write} while the engine has no room for another transfer, nothing else.
 */
public final class GdsReservation implements AutoCloseable {
    private final ExtentMap map;
    private final ExtentFile file;
    private final ExtentEntry entry;

    GdsReservation(final ExtentMap map, final ExtentFile file, final ExtentEntry entry) {
        this.map = map;
        this.file = file;
        this.entry = entry;
    }

    /**
     * Where the value goes.
     *
     * @return the extent; at least as long as the value.
     */
    public Extent extent() {
        return entry.extent;
    }

    /**
     * Starts to write the value, from the beginning of the extent on, one slice behind the other. Once only.
     *
     * @param source the value's bytes; all slices together as long as the value, or longer by a padding of which no
     *               more than what is left of the extent. Nobody may change them until the transfer has ended.
     * @return the transfer, submitted. It stays the reservation's until that is committed or closed: it may be waited
     *         for and cancelled, not filled anew.
     * @throws IllegalArgumentException      when the slices are too short or too long.
     * @throws IllegalStateException         when it was written, committed or closed already.
     * @throws io.kvtier.transport.TransferException INVALID or BUSY, as by {@code TransferEngine.submit}; nothing was
     *                                       started then, and it may be tried again.
     */
    public Transfer write(final List<RegionSlice> source) {
        final long length = ExtentFile.length(source);
        if (length < entry.size || length > entry.extent.bytes()) {
            throw new IllegalArgumentException("the slices have " + length + " bytes; the value of " + entry.key
                + " has " + entry.size + ", and its extent " + entry.extent.bytes());
        }
        final Transfer transfer = file.writing(entry.extent, source);
        map.writing(entry, transfer);
        boolean submitted = false;
        try {
            file.submit(transfer);
            submitted = true;
        } finally {
            if (!submitted) {
                map.writeRefused(entry);
            }
        }
        transfer.future().whenComplete((ended, problem) -> map.lookAgain());
        return transfer;
    }

    /**
     * From now on the master may know of the extent; to be called before it is told. A second call does nothing.
     *
     * @throws IllegalStateException when it was accepted, committed or closed.
     */
    public void offered() {
        map.offered(entry);
    }

    /**
     * The master does not know of the extent, for sure: it has refused it, or has revoked it.
     *
     * @throws IllegalStateException when it was committed or closed.
     */
    public void declined() {
        map.declined(entry);
    }

    /**
     * The master has made a replica of the extent, which is not complete yet.
     *
     * @param version   of the value.
     * @param replicaId what the master calls the replica; unique for ever.
     * @throws IllegalStateException when it was not offered, or was accepted, committed or closed.
     */
    public void accepted(final long version, final long replicaId) {
        map.accepted(entry, version, replicaId);
    }

    /**
     * The master counts the replica as complete: the value can be read from now on, unless the master has dropped it
     * meanwhile.
     *
     * @param checksummed whether the checksum is known.
     * @param checksum    XXH64 of the value.
     * @return whether it can be read. If not, either the master has dropped it, or its bytes may have been lost by a
     *         sync that failed, or the manager is closed; the extent is given up.
     * @throws IllegalStateException when it was not accepted, or its write has not ended or not ended well.
     */
    public boolean commit(final boolean checksummed, final long checksum) {
        return map.commit(entry, checksummed, checksum);
    }

    /** Ends it; see the class. A second call does nothing. */
    @Override
    public void close() {
        map.close(entry);
    }
}
