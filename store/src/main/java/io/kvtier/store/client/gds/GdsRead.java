package io.kvtier.store.client.gds;

import io.kvtier.alloc.HostMemory;
import io.kvtier.alloc.RegionSlice;
import io.kvtier.bindings.posix.Errno;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.StoreException;
import io.kvtier.store.client.transfer.Bounces;
import io.kvtier.store.client.transfer.Move;
import io.kvtier.store.client.transfer.RemoteTransfer;
import io.kvtier.store.storage.GdsLease;
import io.kvtier.transport.Direction;
import io.kvtier.transport.Transfer;
import io.kvtier.transport.TransferException;
import io.kvtier.transport.TransferFailure;
import java.lang.foreign.MemorySegment;
import java.util.List;

/**
 * A part of a value on its way from this client's own file straight into a caller's memory; what a transfer cannot use
 * goes through staging memory.
 *
 * <p>The extent cannot be used for anything else while it is leased. That the value is still the one that was asked
 * for is looked at before the read and after it.
 *
 * <p><b>Threading:</b> one thread. <b>Lifetime:</b> started once; given up by {@link #finish} alone, which gives the
 * lease back, or by a start that throws.
 */
final class GdsRead implements Move {
    private final GdsTier tier;
    private final GdsLease lease;
    private final ObjectKey key;
    private final long version;
    private final Bounces bounces;
    private Transfer transfer;

    GdsRead(final GdsTier tier, final GdsLease lease, final ObjectKey key, final long version) {
        this.tier = tier;
        this.bounces = new Bounces(tier.staging(), Direction.READ);
        this.lease = lease;
        this.key = key;
        this.version = version;
    }

    /** Starts to read into memory that transfers can use. */
    Move start(final long offset, final List<RegionSlice> target, final boolean alone) {
        try {
            return begin(offset, target, alone);
        } catch (final TransferException e) {
            end();
            return failed(e);
        } catch (final RuntimeException | Error e) {
            end();
            throw e;
        }
    }

    /**
     * Starts to read into a caller's memory as it is, some of it of a GPU.
     *
     * @throws StoreException INVALID_PARAMS, when the engine refuses the memory: the value is there all the same, and a
     *                        miss would not say what is wrong.
     */
    Move startStraight(final long offset, final List<RegionSlice> target, final boolean alone) {
        try {
            for (final RegionSlice slice : target) {
                if (slice.region() instanceof HostMemory) {
                    RemoteTransfer.check(List.of(slice.segment()), Direction.READ);
                }
            }
            return begin(offset, target, alone);
        } catch (final TransferException e) {
            end();
            if (e.failure().kind() == TransferFailure.Kind.INVALID) {
                throw new StoreException(ErrorCode.INVALID_PARAMS, "value " + key + " cannot be read into this memory: "
                    + e.getMessage(), e);
            }
            return failed(e);
        } catch (final RuntimeException | Error e) {
            end();
            throw e;
        }
    }

    private Move begin(final long offset, final List<RegionSlice> target, final boolean alone) {
        long length = 0;
        for (final RegionSlice slice : target) {
            length += slice.length();
        }
        if (length > 0) {
            transfer = lease.read(offset, target, alone && bounces.isEmpty());
        }
        return this;
    }

    private Move failed(final TransferException e) {
        tier.counters().readFailures.increment();
        return Move.failed(String.valueOf(e.getMessage()));
    }

    /** Starts to read into memory of the host, whatever it is. */
    Move startHost(final long offset, final List<MemorySegment> target, final long bytes, final boolean alone) {
        final List<MemorySegment> pieces;
        try {
            RemoteTransfer.check(target, Direction.READ);
            pieces = bounces.usable(target, bytes);
        } catch (final RuntimeException | Error e) {
            end();
            throw e;
        }
        return start(offset, GdsTier.slices(pieces), alone);
    }

    @Override
    public String finish() {
        try {
            if (transfer != null) {
                transfer.await();
            }
            if (!lease.isStillValid()) {
                tier.counters().stale.increment();
                return "it was dropped while it was read";
            }
            bounces.deliver();
            return null;
        } catch (final TransferException e) {
            tier.counters().readFailures.increment();
            if (!transfer.isSettled()) {
                // Another replica would be read into memory that a device may still write to.
                throw new StoreException(ErrorCode.TRANSFER_FAIL, "value " + key + " could not be read: "
                    + e.getMessage(), e);
            }
            if (isOfTheFile(e.failure())) {
                // Nobody else reads the file, so nobody would find better bytes there.
                tier.forget(key, version, lease.replicaId());
            }
            return "it could not be read: " + e.getMessage();
        } finally {
            end();
        }
    }

    /** Whether the file is to blame: what is wrong with a caller's memory or GPU is not wrong with the value. */
    private static boolean isOfTheFile(final TransferFailure failure) {
        return failure.kind() == TransferFailure.Kind.SHORT || failure.kind() == TransferFailure.Kind.FAILED
            && failure.domain().equals(TransferFailure.ERRNO) && failure.code() != Errno.EFAULT;
    }

    @Override
    public boolean isSettled() {
        return transfer == null || transfer.isSettled();
    }

    private void end() {
        // Staging memory that a device may still write to is never given to anybody else.
        if (isSettled()) {
            bounces.close();
        }
        lease.close();
    }
}
