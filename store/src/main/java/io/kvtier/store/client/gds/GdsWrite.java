package io.kvtier.store.client.gds;

import io.kvtier.store.BatchResult;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.StoreException;
import io.kvtier.store.client.request.PutRequest;
import io.kvtier.store.client.transfer.Move;
import io.kvtier.store.client.transfer.WholeBlocks;
import io.kvtier.store.protocol.ObjectCommand.AddGdsReplicaStart;
import io.kvtier.store.protocol.ObjectCommand.CreateGdsOnlyObject;
import io.kvtier.store.protocol.ObjectCommand.PutStart;
import io.kvtier.store.protocol.PutStartReply;
import io.kvtier.store.replica.Replica;
import io.kvtier.store.replica.ReplicaType;
import io.kvtier.store.storage.GdsReservation;
import io.kvtier.transport.Transfer;
import io.kvtier.transport.TransferException;

/**
 * A value on its way to this client's own file: room that was reserved, offered to the master, written.
 *
 * <p>From the moment that it is offered the room is no longer this client's to free, until the master has said no: it
 * may have it without this client having heard so. What is closed in doubt is asked about by {@link GdsTier}.
 *
 * <p><b>Threading:</b> one thread. <b>Lifetime:</b> closed exactly once, after the end of its move.
 */
public final class GdsWrite implements AutoCloseable {
    private static final System.Logger LOG = System.getLogger(GdsWrite.class.getName());

    private final GdsTier tier;
    private final ObjectKey key;
    private final GdsReservation room;
    private boolean accepted;
    private long version;
    private long replicaId;
    private int mounts;
    private boolean alone;
    private boolean doubtful;
    private boolean committed;

    GdsWrite(final GdsTier tier, final ObjectKey key, final GdsReservation room) {
        this.tier = tier;
        this.key = key;
        this.room = room;
    }

    /** The command that offers the room for a put that has started; its answer is to be told, whatever it is. */
    AddGdsReplicaStart besides(final long ofVersion) {
        offer();
        return new AddGdsReplicaStart(tier.clientId(), key, ofVersion, tier.extent(room.extent()));
    }

    /** The command that starts a put in this room alone; its answer is to be told, whatever it is. */
    CreateGdsOnlyObject alone(final PutStart put) {
        offer();
        alone = true;
        return new CreateGdsOnlyObject(put, tier.extent(room.extent()));
    }

    private void offer() {
        mounts = tier.mounts();
        room.offered();
    }

    /** What the master said to {@link #besides}. */
    void answered(final long ofVersion, final BatchResult<Long> answer) {
        if (answer.failure() != null) {
            failed(answer.failure());
        } else if (answer.outcome() == AddGdsReplicaStart.STALE) {
            room.declined();
        } else {
            accepted(ofVersion, answer.outcome());
        }
    }

    private void accepted(final long itsVersion, final long itsReplicaId) {
        room.accepted(itsVersion, itsReplicaId);
        accepted = true;
        version = itsVersion;
        replicaId = itsReplicaId;
    }

    /** What the master said to {@link #alone}. */
    void created(final PutStartReply reply) {
        if (!(reply instanceof PutStartReply.Started started)) {
            room.declined();
            return;
        }
        for (final Replica replica : started.replicas()) {
            if (replica.type() == ReplicaType.GDS) {
                accepted(started.version(), replica.id());
            }
        }
        if (!accepted) {
            // An earlier start of the same put in memory, after all.
            room.declined();
        }
    }

    /** The master refused, or could not be asked. */
    void failed(final StoreException why) {
        tier.counters().refused.increment();
        LOG.log(System.Logger.Level.WARNING, "{0} is not written to the GDS file: {1}", key, why.getMessage());
        doubtful = isDoubtful(why.code());
        if (!doubtful) {
            room.declined();
        }
    }

    /** Whether the master may have done what it was asked for all the same. */
    private static boolean isDoubtful(final ErrorCode code) {
        return code == ErrorCode.RPC_FAIL || code == ErrorCode.RPC_TIMEOUT || code == ErrorCode.DESERIALIZE_FAIL
            || code == ErrorCode.INTERNAL_ERROR;
    }

    /** Whether the master has taken the room: then the value has to be written there. */
    public boolean isAccepted() {
        return accepted;
    }

    /** Whether the master may have taken the room though it was not heard to say so. */
    public boolean isDoubtful() {
        return doubtful;
    }

    /** Whether the bytes pass through memory of the host. */
    public boolean isHost(final PutRequest value) {
        return !tier.isWrittenStraight(value.regions());
    }

    /** Begins to write; whatever is wrong is what the move says. */
    public Move start(final PutRequest value) {
        final boolean straight = tier.isWrittenStraight(value.regions());
        final WholeBlocks blocks = straight ? null : new WholeBlocks(tier.staging(), value.source());
        boolean moving = false;
        try {
            final Transfer transfer = room.write(straight ? value.regions().slices(value.byteSize())
                : GdsTier.slices(blocks.pieces()));
            moving = true;
            return () -> finish(transfer, blocks);
        } catch (final TransferException e) {
            tier.counters().writeFailures.increment();
            return Move.failed(String.valueOf(e.getMessage()));
        } finally {
            if (!moving && blocks != null) {
                blocks.close();
            }
        }
    }

    private String finish(final Transfer transfer, final WholeBlocks blocks) {
        try {
            transfer.await();
            return null;
        } catch (final TransferException e) {
            tier.counters().writeFailures.increment();
            return String.valueOf(e.getMessage());
        } finally {
            // Staging memory that a device may still read is never given to anybody else.
            if (blocks != null && transfer.isSettled()) {
                blocks.close();
            }
        }
    }

    /** The master says that the put has ended, so that the value can be read. */
    public void committed(final long size, final boolean checksummed, final long checksum) {
        if (mounts != tier.mounts()) {
            // In doubt: it is asked about.
            return;
        }
        committed = true;
        if (!room.commit(checksummed, checksum)) {
            LOG.log(System.Logger.Level.DEBUG, "{0} was dropped from the GDS file before its put had ended", key);
            // If not by the master, because a sync has failed that may have lost it, then the master does not know.
            tier.forget(key, version, replicaId);
            return;
        }
        (alone ? tier.counters().onlyPuts : tier.counters().puts).increment();
        tier.counters().writtenBytes.add(size);
    }

    @Override
    public void close() {
        room.close();
        if ((accepted || doubtful) && !committed) {
            tier.wake();
        }
    }
}
