package io.kvtier.store.storage;

import io.kvtier.store.ObjectKey;
import io.kvtier.transport.Transfer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * An extent of an {@link ExtentMap}.
 *
 * <p><b>Threading:</b> what is final may be read by anybody; the rest belongs to the map, and is guarded by its lock.
 */
final class ExtentEntry {
    /** How many drops of other ids are kept. */
    static final int KEPT_DROPS = 8;

    final long number;
    final ObjectKey key;
    final Extent extent;
    final long size;
    State state;
    /** The write of a reservation; null before it, and once it has ended well and was looked at. */
    Transfer write;
    boolean written;
    /** Syncs that had failed when the write began. */
    long failedSyncsBefore;
    boolean checksummed;
    long checksum;
    long leases;
    /** Whether a record of it may be in the index. Its bytes are durable then. */
    boolean inIndex;
    /** Whether the master has given it a replica, as far as this side knows. */
    private boolean named;
    private long version;
    private long replicaId;
    /** Drops of ids that it does not have, or whose owner has to end first; null for none. */
    private List<Long> drops;

    /** How far an extent is; see {@link ExtentMap}. */
    enum State { RESERVED, OFFERED, ACCEPTED, COMMITTED, UNSETTLED, RECOVERED, DROPPED }

    ExtentEntry(final long number, final ObjectKey key, final Extent extent, final long size, final State state) {
        this.number = number;
        this.key = key;
        this.extent = extent;
        this.size = size;
        this.state = state;
    }

    /** Of a value that an index told of. */
    void recover(final StoredExtent value) {
        name(value.version(), value.replicaId());
        checksummed = value.checksummed();
        checksum = value.checksum();
        inIndex = true;
    }

    void name(final long itsVersion, final long itsReplicaId) {
        named = true;
        version = itsVersion;
        replicaId = itsReplicaId;
    }

    /** Gives it another replica; whether that is another one. */
    boolean rename(final long itsReplicaId) {
        final boolean other = replicaId != itsReplicaId;
        replicaId = itsReplicaId;
        return other;
    }

    /** The master has no replica of it, and none that it has dropped was this one. */
    void forgetName() {
        named = false;
        version = 0;
        replicaId = 0;
        drops = null;
    }

    long replicaId() {
        return replicaId;
    }

    /**
     * Whether it can be read by who comes with a descriptor of the master's: he has heard of its completion, perhaps
     * before the thread has that wrote or offered it, or though that never does. Where the master does not count it as
     * complete there is no such descriptor. What a sync that failed may have lost is not read, whoever has heard what.
     */
    boolean isReadable(final long failedSyncsNow) {
        return switch (state) {
            case COMMITTED, RECOVERED -> true;
            case ACCEPTED, UNSETTLED -> isSound(failedSyncsNow) && !isDropped();
            case RESERVED, OFFERED, DROPPED -> false;
        };
    }

    /**
     * Whether what it is known as is gone when a replica is: it is that one, or the master has since given another one
     * to an offer of it that came late, and whose answer was not heard.
     */
    boolean isGoneWith(final long itsReplicaId) {
        return named && (replicaId == itsReplicaId
            || itsReplicaId > replicaId && (state == State.COMMITTED || state == State.RECOVERED));
    }

    boolean holds(final ObjectKey itsKey, final long itsVersion, final Extent there, final long itsSize) {
        return version == itsVersion && size == itsSize && extent.equals(there) && key.equals(itsKey);
    }

    /** Whether its write may still change it: also when that has ended for those who waited, and a device goes on. */
    boolean isWriting() {
        return write != null && !write.isSettled();
    }

    /** Whether that will never be known. */
    boolean isLost() {
        return isWriting() && write.isDone();
    }

    boolean hasWritten() {
        return written || write != null && write.isDone() && write.failure() == null;
    }

    /** Whether its bytes are those of the value, as far as anybody here can know. */
    boolean isSound(final long failedSyncsNow) {
        return hasWritten() && failedSyncsBefore == failedSyncsNow;
    }

    void keepDrop(final long ofReplicaId) {
        if (drops == null) {
            drops = new ArrayList<>(1);
        }
        if (!drops.contains(ofReplicaId)) {
            if (drops.size() == KEPT_DROPS) {
                drops.removeFirst();
            }
            drops.add(ofReplicaId);
        }
    }

    /** Whether the master has dropped the replica that it has. */
    boolean isDropped() {
        return named && drops != null && drops.contains(replicaId);
    }

    StoredExtent stored() {
        return new StoredExtent(key, version, extent, size, checksummed, checksum, replicaId);
    }

    UnsettledExtent unsettled() {
        return new UnsettledExtent(number, key, extent, size, named, version, replicaId);
    }

    /** Refuses a step that does not go from where it is. */
    void check(final String step, final State... from) {
        if (!Arrays.asList(from).contains(state)) {
            throw new IllegalStateException("the extent of " + key + " cannot be " + step + ": it is " + state
                + ", and would have to be " + Arrays.toString(from));
        }
    }
}
