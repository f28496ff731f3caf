package io.kvtier.store.client.lending;

import io.kvtier.alloc.HostMemory;
import io.kvtier.alloc.HostRegion;
import io.kvtier.alloc.RegionSlice;
import io.kvtier.alloc.Units;
import io.kvtier.bindings.NativeException;
import io.kvtier.bindings.NativeTag;
import io.kvtier.store.StoreConfig;
import io.kvtier.store.client.engine.Exports;
import io.kvtier.store.client.engine.SharedMemory;
import io.kvtier.store.client.transfer.ReplicaMemory;
import io.kvtier.store.protocol.SegmentCommand.Medium;
import io.kvtier.store.protocol.SegmentCommand.SegmentSpec;
import io.kvtier.store.replica.SegmentAddress;
import io.kvtier.transport.AccessToken;
import io.kvtier.transport.Gate;
import io.kvtier.transport.tcp.Permission;
import java.util.UUID;
import org.agrona.CloseHelper;

/**
 * Memory that this process lends to the store, and the exports through which others reach it.
 *
 * <p>What is lent at one time is a generation with an id, a name and a token of its own. When it is lent anew (the
 * master has forgotten it) the old generation ends first: requests of others on it have ended or are refused, and no
 * thread of this process is inside. So nobody who still has an old address can touch what is lent next. Memory in
 * shared files cannot be taken away from who has mapped it: there the next generation is other memory.
 *
 * <p><b>Threading:</b> {@link #enter} from any thread; lending and closing one at a time. <b>Blocking:</b>
 * {@link #renew} and {@link #close} wait for requests that are running.
 */
public final class LentMemory implements AutoCloseable {
    private static final System.Logger LOG = System.getLogger(LentMemory.class.getName());

    private final Exports exports;
    private final String name;
    private final long bytes;
    private final SharedMemory shared;
    private volatile Generation current;
    /** Private memory outlives its generations. */
    private HostRegion own;
    /** Shared memory that was lent before, as long as values are brought back from it. */
    private HostMemory kept;

    /** What is lent at one time. */
    static final class Generation {
        private final SegmentAddress address;
        private final HostMemory region;
        private final Exports.Export export;
        private final boolean fresh;
        private final Gate gate = new Gate();

        Generation(final SegmentAddress address, final HostMemory region, final Exports.Export export,
            final boolean fresh) {
            this.address = address;
            this.region = region;
            this.export = export;
            this.fresh = fresh;
        }

        SegmentAddress address() {
            return address;
        }

        HostMemory region() {
            return region;
        }

        /** Whether a range lies inside, whatever the numbers are. */
        boolean has(final long offset, final long length) {
            return offset >= 0 && length >= 0 && length <= region.byteSize() - offset;
        }

        /** A range of it, while it is entered; left when the range is closed, or at once, for null, if it is none. */
        ReplicaMemory.OwnRange range(final long offset, final long length) {
            if (!has(offset, length)) {
                gate.leave();
                return null;
            }
            final RegionSlice slice = region.slice(offset, length);
            return new ReplicaMemory.OwnRange() {
                @Override
                public RegionSlice slice() {
                    return slice;
                }

                @Override
                public void close() {
                    gate.leave();
                }
            };
        }

        void leave() {
            gate.leave();
        }
    }

    /**
     * Memory to be lent.
     *
     * @param exports serve it; null when there is none.
     * @param name    of the segment.
     * @param bytes   how much; whole units are lent. 0 for none: then it is never renewed, and nothing is ever entered.
     * @param shared  where other processes of this host map it; null when they do not.
     */
    public LentMemory(final Exports exports, final String name, final long bytes, final SharedMemory shared) {
        this.exports = exports;
        this.name = name;
        this.bytes = Units.down(bytes, StoreConfig.UNIT_BYTES);
        this.shared = shared;
    }

    /**
     * Ends what is lent now, if anything, and prepares the next generation.
     *
     * @return what to mount.
     */
    SegmentSpec renew() {
        return renew(false);
    }

    /**
     * As {@link #renew()}.
     *
     * @param keeps whether what is in the memory is wanted again: until {@link #letGo} it is in {@link #former}, also
     *              when it is lent anew once more.
     */
    SegmentSpec renew(final boolean keeps) {
        if (!keeps) {
            letGo();
        }
        end(keeps);
        final UUID id = UUID.randomUUID();
        final AccessToken token = AccessToken.random();
        final boolean fresh = shared != null || own == null;
        final HostMemory region;
        if (shared != null) {
            region = create(token);
        } else {
            own = own == null ? HostRegion.allocate(NativeTag.HOST_REGION, bytes) : own;
            region = own;
        }
        try {
            final Exports.Export export = exports.export(region, token, Permission.READ_WRITE);
            current = new Generation(new SegmentAddress(id, export.endpoint(), token), region, export, fresh);
        } catch (final RuntimeException | Error e) {
            if (shared != null) {
                region.close();
            }
            throw e;
        }
        return new SegmentSpec(name, Medium.MEMORY, bytes, StoreConfig.UNIT_BYTES, current.address, fresh);
    }

    /** Shared memory; where there is not enough for both, what was lent before goes. */
    private HostMemory create(final AccessToken token) {
        if (kept == null) {
            return shared.create(bytes, token.bytes());
        }
        try {
            return shared.create(bytes, token.bytes());
        } catch (final NativeException e) {
            LOG.log(System.Logger.Level.INFO, "there is no room for shared memory beside that of before, so that "
                + "nothing comes back from it: {0}", e.getMessage());
            letGo();
            return shared.create(bytes, token.bytes());
        }
    }

    /** Where values lie that were lent before the last time; null when that is not known any more. */
    HostMemory former() {
        return shared == null ? own : kept;
    }

    /** Nothing of what was lent before is wanted any more. */
    void letGo() {
        CloseHelper.close(kept);
        kept = null;
    }

    /** Whether there is any to lend. */
    public boolean isAny() {
        return bytes > 0;
    }

    /** What is lent now; null when nothing is. */
    public SegmentAddress address() {
        final Generation now = current;
        return now == null ? null : now.address;
    }

    /** Begins to use a segment's memory; null when it is not what is lent now. To be left. */
    Generation enter(final UUID segmentId) {
        final Generation now = current;
        return now != null && now.address.segmentId().equals(segmentId) && now.gate.tryEnter() ? now : null;
    }

    private void end(final boolean keeps) {
        final Generation last = current;
        if (last != null) {
            current = null;
            last.gate.close();
            last.export.close();
            last.gate.awaitEmpty(Long.MAX_VALUE);
            if (shared != null && keeps && kept == null) {
                kept = last.region;
            } else if (shared != null) {
                last.region.close();
            }
        }
    }

    /** Takes the memory back, and frees it. */
    @Override
    public void close() {
        try {
            letGo();
            end(false);
        } finally {
            CloseHelper.close(own);
        }
    }
}
