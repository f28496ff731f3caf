package io.kvtier.store.master.state;

import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreException;
import io.kvtier.store.config.MasterSettings;
import io.kvtier.store.protocol.Command.Ack;
import io.kvtier.store.protocol.MasterStats.Probes;
import io.kvtier.store.protocol.SegmentCommand;
import io.kvtier.store.protocol.SegmentCommand.Medium;
import io.kvtier.store.protocol.SegmentCommand.PingReply;
import io.kvtier.store.protocol.SegmentCommand.Status;
import io.kvtier.store.replica.ReplicaType;
import java.util.LinkedHashSet;
import java.util.Set;
import java.util.UUID;

/** Segments that come and go, and clients that do. */
final class SegmentCommands {
    private final MasterSettings settings;
    private final long term;
    private final Tiers tiers;
    private final Clients clients;
    private final Offloads offloads;
    private final Copies copies;
    private final Returns returns;
    /** Those whose graceful unmounting has begun. */
    private final Set<LentSegment> leaving = new LinkedHashSet<>();
    private long healthyProbes;
    private long failedProbes;
    private long lateProbes;
    private long probedAway;

    SegmentCommands(final MasterSettings settings, final long term, final Tiers tiers, final Clients clients,
        final Offloads offloads, final Copies copies, final Returns returns) {
        this.settings = settings;
        this.term = term;
        this.tiers = tiers;
        this.clients = clients;
        this.offloads = offloads;
        this.copies = copies;
        this.returns = returns;
    }

    PingReply ping(final SegmentCommand.Ping ping, final long nowMs) {
        return new PingReply(clients.ping(ping, nowMs), term, settings.leaseMs(), settings.liveness().clientTtlMs());
    }

    Ack mount(final SegmentCommand.Mount mount, final long nowMs) {
        if (mount.spec().medium() != Medium.MEMORY && mount.spec().medium() != Medium.NOF) {
            throw new StoreException(ErrorCode.INVALID_PARAMS, "segment " + mount.spec().name() + " is of medium "
                + mount.spec().medium() + "; memory and block devices are mounted, a file for GDS replicas is "
                + "registered, and the files that all clients mount are the master's settings");
        }
        clients.checkLender(mount.clientId());
        final AwayObjects.Segment former = returns.former(mount);
        final LentSegment segment =
            tiers.segments().mount(mount.clientId(), clients.host(mount.clientId()), mount.spec(), nowMs);
        if (former != null) {
            tiers.segments().returns(segment, former);
        }
        clients.appeared(mount.clientId(), nowMs);
        return Ack.OK;
    }

    Ack unmount(final SegmentCommand.Unmount unmount, final long nowMs) {
        final LentSegment segment = tiers.segments().find(unmount.segmentId());
        // Files are segments within the master alone, and go, if ever, by what they were registered as.
        if (segment == null || segment.gds() != null || segment.medium() == Medium.DISTRIBUTED_DISK
            || !segment.clientId().equals(unmount.clientId())) {
            throw new StoreException(ErrorCode.SEGMENT_NOT_FOUND, "client " + unmount.clientId()
                + " has no segment " + unmount.segmentId() + " mounted");
        }
        if (unmount.graceMs() <= 0) {
            tiers.segments().unmount(segment);
        } else {
            segment.status(Status.GRACEFULLY_UNMOUNTING);
            segment.unmountAt(unmount.graceMs() > Long.MAX_VALUE - nowMs ? Long.MAX_VALUE
                : nowMs + unmount.graceMs());
            leaving.add(segment);
        }
        return Ack.OK;
    }

    Ack probed(final SegmentCommand.Probed probed) {
        final LentSegment segment = tiers.segments().find(probed.segmentId());
        if (segment == null) {
            return Ack.STALE;
        }
        if (segment.medium() != Medium.NOF) {
            throw new StoreException(ErrorCode.INVALID_PARAMS, "segment " + probed.segmentId() + " is "
                + segment.medium() + "; only block devices are probed");
        }
        if (probed.healthy()) {
            healthyProbes++;
        } else {
            failedProbes++;
            lateProbes += probed.timedOut() ? 1 : 0;
        }
        if (segment.probed(probed.healthy()) >= settings.liveness().nofFailures()) {
            probedAway++;
            tiers.segments().unmount(segment);
        }
        return Ack.OK;
    }

    Probes probes() {
        return new Probes(healthyProbes, failedProbes, probedAway, lateProbes);
    }

    Ack unmountDisk(final UUID clientId, final long nowMs) {
        offloads.unmount(clientId, ReplicaType.LOCAL_DISK)
            .forEach(replica -> tiers.memory().offloadEnded(replica, false, nowMs));
        return tiers.disk().unmount(clientId) ? Ack.OK : Ack.STALE;
    }

    /** Ends what has run out: clients that are silent, and segments that were to go by now. */
    void expire(final long nowMs) {
        for (UUID gone = clients.nextExpired(nowMs); gone != null; gone = clients.nextExpired(nowMs)) {
            unmountDisk(gone, nowMs);
            copies.clientGone(gone, nowMs);
            tiers.gds().remove(gone);
            tiers.segments().of(gone).forEach(tiers.segments()::unmount);
        }
        if (!leaving.isEmpty()) {
            leaving.removeIf(segment -> hasLeft(segment, nowMs));
        }
    }

    private boolean hasLeft(final LentSegment segment, final long nowMs) {
        if (segment.isReadable() && segment.unmountAtMs() <= nowMs) {
            tiers.segments().unmount(segment);
        }
        return !segment.isReadable();
    }
}
