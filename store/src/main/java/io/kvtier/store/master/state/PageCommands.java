package io.kvtier.store.master.state;

import io.kvtier.store.ErrorCode;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.StoreException;
import io.kvtier.store.config.MasterSettings;
import io.kvtier.store.protocol.Batch;
import io.kvtier.store.protocol.Command.Ack;
import io.kvtier.store.protocol.PageCommand;
import io.kvtier.store.protocol.PageCommand.DistributedDiskTerms;
import io.kvtier.store.protocol.PageCommand.PageAllocation;
import io.kvtier.store.protocol.PageCommand.PageMapping;
import io.kvtier.store.protocol.PageCommand.PageRequest;
import io.kvtier.store.protocol.SegmentCommand.Medium;
import io.kvtier.store.replica.PageLayout;
import io.kvtier.store.replica.ReplicaType;
import java.util.List;
import java.util.UUID;

/** What clients say and ask of the files that all of them mount. */
final class PageCommands {
    private final MasterSettings settings;
    private final Tiers tiers;
    private final Clients clients;
    private final Offloads offloads;
    private final PageSpace space;
    private final PageWrites writes;
    private final HotValues hot;
    private final SharedVolume volume;

    PageCommands(final MasterSettings settings, final Tiers tiers, final Clients clients, final Offloads offloads,
        final PageSpace space, final PageWrites writes, final HotValues hot) {
        this.settings = settings;
        this.tiers = tiers;
        this.clients = clients;
        this.offloads = offloads;
        this.space = space;
        this.writes = writes;
        this.hot = hot;
        final PageLayout layout = space.layout();
        this.volume = new SharedVolume(layout == null ? "" : layout.rootDir(), clients);
    }

    Object apply(final PageCommand<?> command, final long nowMs) {
        if (command instanceof PageCommand.DistributedBuckets) {
            return space.list();
        }
        if (!settings.pages().isOn()) {
            throw new StoreException(ErrorCode.UNAVAILABLE_IN_CURRENT_MODE, "this master has no page mode; start it "
                + "with distributed_page_mode, or the client without MOONCAKE_DISTRIBUTED_PAGE_MODE");
        }
        return switch (command) {
            case PageCommand.MountDistributedDisk mount -> mount(mount, nowMs);
            case PageCommand.UnmountDistributedDisk gone -> unmount(gone.clientId(), nowMs);
            case PageCommand.AllocateDistributedPage allocate ->
                allocate(allocate.clientId(), List.of(allocate.request()), nowMs).getFirst();
            case PageCommand.BatchAllocateDistributedPage all -> allocate(all.clientId(), all.requests(), nowMs);
            case PageCommand.FreeDistributedPage free -> writes.free(free.clientId(), free.release(), nowMs);
            case PageCommand.BatchFreeDistributedPage all -> limited(all.releases()).stream()
                .map(release -> writes.free(all.clientId(), release, nowMs)).toList();
            case PageCommand.GetDistributedPageMapping get -> mapping(get.key(), nowMs);
            case PageCommand.BatchGetDistributedPageMapping all -> limited(all.keys()).stream()
                .map(key -> mapping(key, nowMs)).toList();
            case PageCommand.NotifyDistributedDiskSuccess notify -> limited(notify.values()).stream()
                .map(value -> writes.stored(notify.clientId(), value, nowMs)).toList();
            case PageCommand.FetchPromotions fetch -> hot.fetch(fetch.clientId(), fetch.max(), nowMs);
            case PageCommand.DistributedBuckets ignored -> space.list();
        };
    }

    /** A command is applied with nobody between: what may take long by itself is refused. */
    private static <T> List<T> limited(final List<T> items) {
        if (items.size() > Batch.MAX_ITEMS) {
            throw new StoreException(ErrorCode.INVALID_PARAMS, "there are " + items.size()
                + " values in one command; at most " + Batch.MAX_ITEMS + " can be");
        }
        return items;
    }

    /** Which folder of which file system they are in. */
    SharedVolume volume() {
        return volume;
    }

    private DistributedDiskTerms mount(final PageCommand.MountDistributedDisk mount, final long nowMs) {
        if (!space.layout().equals(mount.layout())) {
            throw new StoreException(ErrorCode.INVALID_PARAMS, "the client and the master are set up for different "
                + "shared files: " + mount.layout().differences(space.layout())
                + "; give both the same settings (MOONCAKE_DISTRIBUTED_* or the master's distributed_* options)");
        }
        clients.checkLender(mount.clientId());
        final boolean inUse = tiers.segments().used(Medium.DISTRIBUTED_DISK) > 0;
        volume.check(mount.clientId(), mount.volume(), inUse);
        clients.appeared(mount.clientId(), nowMs);
        final UUID client = clients.shared(mount.clientId());
        volume.found(client, mount.volume());
        if (!mount.readOnly()) {
            offloads.mount(client, ReplicaType.DISTRIBUTED_DISK);
        }
        hot.mount(client);
        return new DistributedDiskTerms(settings.pages().clusterId(), settings.liveness().releaseMs(),
            volume.wanted(inUse));
    }

    private Ack unmount(final UUID clientId, final long nowMs) {
        final boolean mounted = hot.isMounted(clientId);
        clientGone(clientId, nowMs);
        return mounted ? Ack.OK : Ack.STALE;
    }

    /** A client is gone; what is complete stays. */
    void clientGone(final UUID clientId, final long nowMs) {
        writes.clientGone(clientId, nowMs);
        hot.clientGone(clientId, nowMs);
        volume.clientGone(clientId);
    }

    /** Ends what has run out. */
    void expire(final long nowMs) {
        writes.expire(nowMs);
        hot.expire(nowMs);
    }

    private List<PageAllocation> allocate(final UUID clientId, final List<PageRequest> requests, final long nowMs) {
        if (!offloads.isMounted(clientId, ReplicaType.DISTRIBUTED_DISK)) {
            throw new StoreException(ErrorCode.UNAVAILABLE_IN_CURRENT_STATUS, "client " + clientId
                + " has not mounted the shared files, or only to read them, or was taken for dead since; mount them "
                + "first");
        }
        // Nothing is allocated before the whole is known not to be refused.
        limited(requests).forEach(writes::check);
        return requests.stream().map(request -> writes.allocate(clientId, request, nowMs)).toList();
    }

    private PageMapping mapping(final ObjectKey key, final long nowMs) {
        final ObjectEntry entry = tiers.catalogue().find(key);
        final Residency there = entry == null ? null : entry.residency(Medium.DISTRIBUTED_DISK);
        if (there == null) {
            return PageMapping.NONE;
        }
        entry.lease(nowMs + settings.leaseMs());
        tiers.used(entry, nowMs);
        return new PageMapping(entry.record().version(), there.first().id(), there.first().place(),
            entry.record().checksum(), settings.leaseMs());
    }
}
