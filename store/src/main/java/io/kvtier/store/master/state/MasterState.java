package io.kvtier.store.master.state;

import io.kvtier.store.BatchResult;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreException;
import io.kvtier.store.config.MasterSettings;
import io.kvtier.store.protocol.AdminCommand;
import io.kvtier.store.protocol.AdminCommand.EvictReply;
import io.kvtier.store.protocol.AdminCommand.TickReply;
import io.kvtier.store.protocol.Batch;
import io.kvtier.store.protocol.Command;
import io.kvtier.store.protocol.Command.Ack;
import io.kvtier.store.protocol.DiskCommand;
import io.kvtier.store.protocol.GdsCommand;
import io.kvtier.store.protocol.MasterStats;
import io.kvtier.store.protocol.ObjectCommand;
import io.kvtier.store.protocol.OffloadTask;
import io.kvtier.store.protocol.PageCommand;
import io.kvtier.store.protocol.SegmentCommand;
import io.kvtier.store.protocol.SegmentCommand.Medium;
import io.kvtier.store.protocol.TaskCommand;
import io.kvtier.store.replica.Replica;
import io.kvtier.store.replica.ReplicaDescriptor;
import io.kvtier.store.replica.ReplicaType;
import io.kvtier.store.snapshot.SavedObject;
import io.kvtier.store.snapshot.SavedTasks;
import io.kvtier.store.snapshot.Snapshot;
import io.kvtier.store.snapshot.SnapshotHead;
import io.kvtier.store.snapshot.SnapshotSource;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/**
 * The master's state machine: gives each command to the owners of the state that it concerns.
 *
 * <p><b>Time</b> passes here and nowhere else: with the first command of each millisecond, before that command is
 * looked at, all that is due by then ends, in one order. Of what takes long, leases that end by the thousands, what
 * lies in segments and on disks that are gone, drains, a part of about a millisecond is done on that occasion. So a
 * command finds whatever ends at its time ended, and the state needs no clock, only commands; when there are none,
 * whoever runs it applies a {@link AdminCommand.Tick} now and then.
 *
 * <p><b>Threading:</b> one command at a time. <b>Lifetime:</b> closing frees the tables of the allocators.
 */
public final class MasterState implements StateMachine {
    private final ObjectCopies objectCopies = new ObjectCopies();
    private final AwayObjects away = new AwayObjects();
    private final SoftPins pins;
    private final Tenants tenants;
    private final ObjectCatalogue catalogue;
    private final Segments segments;
    private final Clients clients;
    private final Offloads offloads;
    private final Tiers tiers;
    private final Reads reads;
    private final Writes writes;
    private final KeyFileWrites keyFiles;
    private final Promotions promotions;
    private final Replications replications;
    private final Tasks tasks;
    private final Drains drains;
    private final Copies copies;
    private final Removals removals;
    private final Returns returns;
    private final SegmentCommands segmentCommands;
    private final GdsCommands gdsCommands;
    private final PageSpace pageSpace;
    private final HotValues hot;
    private final PageWrites pageWrites;
    private final PageCommands pageCommands;
    private final PageRecords pageRecords;
    private final Sweeps sweeps;
    private final Effects effects;
    private final long term;
    /** Up to when time has passed. */
    private long passedMs = Long.MIN_VALUE;
    /** Whether more is to be done of what takes long. */
    private boolean busy;

    /**
     * An empty state.
     *
     * @param settings what it is told once.
     * @param term     a number greater than that of any master before it by at least one for each million objects that
     *                 one wrote, such as the milliseconds of a wall clock at its start; by it clients see that it is
     *                 another one, and versions and replica ids differ from all earlier ones.
     * @param effects  called while a command is applied.
     */
    public MasterState(final MasterSettings settings, final long term, final Effects effects) {
        this.term = term;
        pins = new SoftPins(settings.pins(), objectCopies);
        tenants = new Tenants(settings.strictTenants());
        catalogue = new ObjectCatalogue(pins, tenants, objectCopies, term);
        final DiskReplicas disk = new DiskReplicas(settings.remoteReaders(), catalogue, away, pins,
            new KeyFileReplicas(settings.files(), catalogue, effects), effects);
        pageSpace = PageSpace.create(settings.pages().layout(), catalogue);
        segments = new Segments(new Placement(settings.strategy(), disk, pageSpace), settings.leaseMs(),
            Math.max(settings.leaseMs(), settings.liveness().releaseMs()));
        pageSpace.buckets().forEach(segments::mount);
        clients = new Clients(settings.liveness().clientTtlMs());
        offloads = new Offloads(settings.diskRetryMs(), settings.liveness().releaseMs(), pageSpace::isOpen);
        final SpaceTier.Owners owners =
            new SpaceTier.Owners(settings, catalogue, segments, disk, offloads, effects);
        tiers = new Tiers(catalogue, segments, SpaceTier.ofMemory(owners), SpaceTier.ofDevices(owners),
            new GdsStorages(owners), SpaceTier.ofPages(owners), disk, pins);
        final Admission admission = new Admission(tenants, segments, tiers.memory());
        hot = new HotValues(settings, segments, disk, effects);
        reads = new Reads(settings.leaseMs(), tiers, hot);
        keyFiles = new KeyFileWrites(tiers, clients, effects, settings.liveness().releaseMs());
        writes = new Writes(settings, tiers, clients, admission, keyFiles);
        promotions = new Promotions(settings.liveness().releaseMs(), tiers, clients, admission, hot);
        replications = new Replications(settings.liveness(), tiers, clients, admission);
        tasks = new Tasks(settings.tasks(), effects);
        drains = new Drains(settings.tasks(), tiers, tasks, effects);
        pageWrites = new PageWrites(settings, tiers, pageSpace, offloads);
        pageCommands = new PageCommands(settings, tiers, clients, offloads, pageSpace, pageWrites, hot);
        pageRecords = new PageRecords(settings, tiers, pageSpace);
        copies = new Copies(promotions, replications, tasks, pageCommands, keyFiles);
        removals = new Removals(tiers, promotions);
        returns = new Returns(tiers, away, removals);
        segmentCommands = new SegmentCommands(settings, term, tiers, clients, offloads, copies, returns);
        gdsCommands = new GdsCommands(tiers, clients, writes, removals);
        sweeps = new Sweeps(tiers, writes, copies);
        this.effects = effects;
    }

    /**
     * Lets time pass up to a command's, and then applies it.
     *
     * @param <R>     the answer's type.
     * @param command what happens.
     * @param nowMs   when, in milliseconds of any clock, 0 or more; never earlier than the command before.
     * @return the answer.
     * @throws StoreException when it is refused; nothing of what it asked for has happened then, though time has
     *                        passed, and values may have been evicted for it. Two refusals say what has ended
     *                        nevertheless: that of a replication whose replicas are gone, and that of the cancelling
     *                        of a drain with moves under way.
     */
    @Override
    @SuppressWarnings("unchecked") // Each case answers with the type that its command names.
    public <R> R apply(final Command<R> command, final long nowMs) {
        // Nothing becomes due between two commands of the same time; a tick is there for the next part of the rest.
        if (nowMs > passedMs || command instanceof AdminCommand.Tick) {
            letTimePass(nowMs);
        }
        return (R) switch (command) {
            case ObjectCommand<?> object -> object(object, nowMs);
            case SegmentCommand<?> segment -> segment(segment, nowMs);
            case DiskCommand<?> disk -> disk(disk, nowMs);
            case GdsCommand<?> gds -> gdsCommands.apply(gds, nowMs);
            case PageCommand<?> page -> pageCommands.apply(page, nowMs);
            case AdminCommand<?> admin -> admin(admin, nowMs);
            case TaskCommand<?> task -> task(task, nowMs);
            case Batch<?> batch -> batch(batch, nowMs);
        };
    }

    /** Ends what has run out; all costs what it ends, or a bounded part of the leases that did and of what is swept. */
    private void letTimePass(final long nowMs) {
        passedMs = nowMs;
        segmentCommands.expire(nowMs);
        returns.expire(nowMs);
        writes.expire(nowMs);
        copies.expire(nowMs);
        for (PlacedReplica late = offloads.nextExpired(nowMs); late != null; late = offloads.nextExpired(nowMs)) {
            tiers.memory().offloadEnded(late, false, nowMs);
        }
        for (ObjectEntry entry = pins.nextEnded(nowMs); entry != null; entry = pins.nextEnded(nowMs)) {
            tiers.pinChanged(entry, nowMs);
        }
        if (tiers.segments().wake(nowMs)) {
            effects.spaceFreed();
        }
        final boolean memoryBusy = tiers.memory().expireLeases(nowMs);
        final boolean nofBusy = tiers.nof().expireLeases(nowMs);
        final boolean gdsBusy = tiers.gds().expireLeases(nowMs);
        final boolean pagesBusy = tiers.pages().expireLeases(nowMs);
        drains.advance(nowMs);
        final boolean sweeping = sweeps.advance(nowMs);
        busy = memoryBusy || nofBusy || gdsBusy || pagesBusy || sweeping;
    }

    private Object object(final ObjectCommand<?> command, final long nowMs) {
        return switch (command) {
            case ObjectCommand.ReadStart read -> reads.start(read, nowMs);
            case ObjectCommand.ReadDone done -> reads.done(done, nowMs);
            case ObjectCommand.PutStart put -> writes.start(put, nowMs);
            case ObjectCommand.PutEnd put -> writes.end(put, nowMs);
            case ObjectCommand.PutRevoke put -> writes.revoke(put, nowMs);
            case ObjectCommand.Exists exists -> reads.exists(exists, nowMs);
            case ObjectCommand.Query query -> reads.query(query);
            case ObjectCommand.Remove remove -> removals.remove(remove, nowMs);
            case ObjectCommand.Find find -> reads.find(find, nowMs);
            case ObjectCommand.RemoveMatching remove -> removals.removeMatching(remove, nowMs);
            case ObjectCommand.ReplicaClear clear -> removals.clear(clear, nowMs);
            case ObjectCommand.ReplicaUnreadable unreadable -> unreadable(unreadable, nowMs);
            case ObjectCommand.AddGdsReplicaStart add -> writes.addGds(add, nowMs);
            case ObjectCommand.CreateGdsOnlyObject create -> writes.startInFile(create, nowMs);
        };
    }

    private Object segment(final SegmentCommand<?> command, final long nowMs) {
        return switch (command) {
            case SegmentCommand.Ping ping -> segmentCommands.ping(ping, nowMs);
            case SegmentCommand.Mount mount -> segmentCommands.mount(mount, nowMs);
            case SegmentCommand.Unmount unmount -> segmentCommands.unmount(unmount, nowMs);
            case SegmentCommand.Segments ignored -> segments.list();
            case SegmentCommand.Probed probed -> segmentCommands.probed(probed);
            case SegmentCommand.Clients ignored -> clients.list(nowMs);
            case SegmentCommand.FetchReturning fetch -> returns.fetch(fetch);
            case SegmentCommand.ReturnReplicas give -> returns.give(give, nowMs);
        };
    }

    private Object disk(final DiskCommand<?> command, final long nowMs) {
        return switch (command) {
            case DiskCommand.MountDisk mount -> mountDisk(mount, nowMs);
            case DiskCommand.UnmountDisk unmount -> segmentCommands.unmountDisk(unmount.clientId(), nowMs);
            case DiskCommand.FetchOffloads fetch -> fetchOffloads(fetch, nowMs);
            case DiskCommand.OffloadDone done -> offloadDone(done, nowMs);
            case DiskCommand.PromotionStart start -> promotions.start(start, nowMs);
            case DiskCommand.PromotionEnd end -> promotions.end(end, nowMs);
            case DiskCommand.EvictDisk evict -> tiers.disk().evict(evict, nowMs);
            case DiskCommand.AdoptDisk adopt ->
                tiers.disk().adopt(adopt, offer -> removals.makeWay(offer, nowMs));
            case DiskCommand.FetchDrops fetch -> tiers.disk().fetchDrops(fetch);
            case DiskCommand.FetchDiskPromotions fetch -> hot.fetchOwn(fetch.clientId(), fetch.max(), nowMs);
            case DiskCommand.QueryKeyFolder ignored -> keyFiles.folder();
            case DiskCommand.MountKeyFiles mount -> keyFiles.mount(mount, nowMs);
            case DiskCommand.UnmountKeyFiles gone -> keyFiles.clientGone(gone.clientId(), nowMs);
            case DiskCommand.FetchKeyFiles fetch -> keyFiles.fetch(fetch.clientId(), fetch.max());
            case DiskCommand.KeyFileWritten done -> keyFiles.written(done, nowMs);
            case DiskCommand.FetchKeyFileDrops fetch ->
                tiers.disk().files().fetch(fetch.clientId(), fetch.max(), fetch.done());
            case DiskCommand.FindKeyFiles find -> keyFiles.find(find);
        };
    }

    private Object task(final TaskCommand<?> command, final long nowMs) {
        return switch (command) {
            case TaskCommand.ReplicationStart start -> replications.start(start, nowMs);
            case TaskCommand.ReplicationEnd end -> replications.end(end, nowMs);
            case TaskCommand.CreateTask create -> tasks.add(create, replications.carrier(create), nowMs);
            case TaskCommand.FetchTasks fetch -> tasks.fetch(fetch, nowMs);
            case TaskCommand.MarkTask mark -> tasks.mark(mark);
            case TaskCommand.QueryTask query -> tasks.query(query.taskId());
            case TaskCommand.CreateDrain create -> drains.create(create);
            case TaskCommand.QueryDrain query -> drains.query(query.drainId());
            case TaskCommand.CancelDrain cancel -> drains.cancel(cancel.drainId(), nowMs);
        };
    }

    private Object admin(final AdminCommand<?> command, final long nowMs) {
        return switch (command) {
            case AdminCommand.Tick ignored -> new TickReply(busy);
            case AdminCommand.Statistics ignored -> statistics();
            case AdminCommand.Evict evict -> {
                final Evicted evicted = tiers.memory().evict(evict.share(), evict.least(), nowMs);
                yield new EvictReply(evicted.objects(), evicted.bytes());
            }
            case AdminCommand.SetQuota quota -> tenants.set(quota);
            case AdminCommand.DeleteQuota quota -> tenants.delete(quota);
            case AdminCommand.Quotas ignored -> tenants.list(segments.capacity(Medium.MEMORY));
        };
    }

    private List<BatchResult<Object>> batch(final Batch<?> batch, final long nowMs) {
        final List<BatchResult<Object>> results = new ArrayList<>(batch.items().size());
        for (final Command<?> item : batch.items()) {
            try {
                results.add(new BatchResult<>(apply(item, nowMs), null));
            } catch (final StoreException e) {
                results.add(new BatchResult<>(null, e));
            }
        }
        return results;
    }

    /**
     * Takes what a snapshot has, before the first command: numbers, quotas, tasks, removals and what lies in the shared
     * files, or has a file for itself, at once, all other objects as they come back.
     *
     * @param snapshot what was read; the term that this state was given is beyond its own.
     * @param nowMs    the time.
     * @param waitMs   milliseconds after which what has not come back is forgotten.
     * @throws StoreException when values of it lie on the same pages of the shared files, or where there are none by
     *                        the settings of this master.
     */
    public void restore(final Snapshot snapshot, final long nowMs, final long waitMs) {
        final SnapshotHead head = snapshot.head();
        catalogue.versionSeen(head.lastVersion());
        catalogue.replicaSeen(head.lastReplicaId());
        tenants.restore(head.tenants());
        tasks.restore(head.tasks().lastTask(), head.tasks().tasks(), nowMs);
        drains.restore(head.tasks().lastDrain(), head.tasks().drains());
        tiers.disk().restore(head, nowMs);
        pageCommands.volume().restore(head.sharedVolume());
        away.restore(snapshot, waitMs > Long.MAX_VALUE - nowMs ? Long.MAX_VALUE : nowMs + waitMs);
        pageRecords.restore(pagesOf(snapshot), nowMs);
        snapshot.objects().forEach(this::restoreFile);
    }

    /** What a snapshot says of a value that has a file for itself, which needs no owner to come back. */
    private void restoreFile(final SavedObject object) {
        for (final Replica replica : object.replicas()) {
            if (replica.descriptor() instanceof ReplicaDescriptor.Disk file && object.checksummed()) {
                tiers.disk().look();
                final ObjectEntry entry = tiers.disk().entryFor(new DiskReplicas.Offer(PageSpace.NOBODY, object.key(),
                    object.version(), file.objectSize(), true, object.checksum()));
                if (entry != null && KeyFileReplicas.of(entry) == null) {
                    tiers.disk().files().stored(entry, catalogue.nextReplicaId(), file.filePath(),
                        object.checksum());
                }
            }
        }
    }

    @Override
    public SnapshotSource snapshots() {
        return new SnapshotSource() {
            @Override
            public SnapshotHead begin() {
                final ObjectCopies.Gone gone =
                    new ObjectCopies.Gone(segments.gone(), tiers.disk().gone());
                objectCopies.begin(catalogue, gone.isEmpty() ? null : gone::isThere, passedMs);
                return new SnapshotHead(term, catalogue.lastVersion(), catalogue.lastReplicaId(),
                    Stream.concat(segments.save().stream(), away.saveSegments().stream()).toList(),
                    tiers.gds().save(), tenants.save(),
                    new SavedTasks(tasks.lastId(), tasks.save(), drains.lastId(), drains.save()),
                    tiers.disk().saveRemovals(), away.save(), pageCommands.volume().save());
            }

            @Override
            public Slice next(final int most) {
                return objectCopies.next(most);
            }

            @Override
            public void end() {
                objectCopies.end();
            }
        };
    }

    /** Objects of a restored snapshot that may still come back, those among them that have. */
    long away() {
        return away.size();
    }

    /** What a snapshot says of values in the shared files, which need no owner to come back. */
    private static List<PageRecords.PageRecord> pagesOf(final Snapshot snapshot) {
        final List<PageRecords.PageRecord> records = new ArrayList<>();
        for (final SavedObject object : snapshot.objects()) {
            for (final Replica replica : object.replicas()) {
                if (replica.descriptor() instanceof ReplicaDescriptor.DistributedDisk place && object.checksummed()) {
                    records.add(new PageRecords.PageRecord(object.key(), object.version(), place, object.checksum()));
                }
            }
        }
        return records;
    }

    /** The complete values in the shared files, for a snapshot. */
    List<PageRecords.PageRecord> pageRecords() {
        return pageRecords.all();
    }

    /** Takes them back from a snapshot, before the first command; see {@link PageRecords#restore}. */
    int restorePages(final List<PageRecords.PageRecord> records, final long nowMs) {
        return pageRecords.restore(records, nowMs);
    }

    @Override
    public void close() {
        segments.close();
    }

    private Ack mountDisk(final DiskCommand.MountDisk mount, final long nowMs) {
        clients.checkLender(mount.clientId());
        clients.appeared(mount.clientId(), nowMs);
        tiers.disk().mount(mount);
        offloads.mount(mount.clientId(), ReplicaType.LOCAL_DISK);
        return Ack.OK;
    }

    private List<OffloadTask> fetchOffloads(final DiskCommand.FetchOffloads fetch, final long nowMs) {
        final List<PlacedReplica> orphans = new ArrayList<>();
        final List<OffloadTask> tasks = offloads.fetch(fetch.clientId(), fetch.maxBytes(), orphans, nowMs);
        orphans.forEach(orphan -> tiers.memory().release(orphan, nowMs));
        return tasks;
    }

    private Ack offloadDone(final DiskCommand.OffloadDone done, final long nowMs) {
        if (done.result() == DiskCommand.OffloadResult.STORED && done.task().target() != ReplicaType.LOCAL_DISK) {
            throw new StoreException(ErrorCode.INVALID_PARAMS, "the offload of " + done.task().key() + " was to "
                + done.task().target() + "; that it is stored there is told with NotifyDistributedDiskSuccess");
        }
        final ObjectEntry known = catalogue.find(done.task().key(), done.task().version());
        // Bytes that were changed in memory would be vouched for by a checksum of their own.
        final boolean wrong = known != null && done.result() == DiskCommand.OffloadResult.STORED
            && !DiskReplicas.isOf(known, done.checksum());
        final DiskCommand.OffloadResult result = wrong ? DiskCommand.OffloadResult.VALUE_REFUSED : done.result();
        final PlacedReplica replica = offloads.end(done.clientId(), done.task(), result, nowMs);
        if (replica == null) {
            return known != null && result == DiskCommand.OffloadResult.STORED
                && tiers.disk().has(known, done.clientId()) ? Ack.OK : Ack.STALE;
        }
        final ObjectEntry entry = replica.owner();
        final boolean stored = entry != null && result == DiskCommand.OffloadResult.STORED;
        if (stored) {
            tiers.disk().stored(entry, done.clientId(), done.checksum());
        }
        tiers.memory().offloadEnded(replica, stored, nowMs);
        return entry == null || wrong ? Ack.STALE : Ack.OK;
    }

    private Ack unreadable(final ObjectCommand.ReplicaUnreadable unreadable, final long nowMs) {
        final ObjectEntry entry = catalogue.find(unreadable.key(), unreadable.version());
        if (entry == null) {
            return Ack.STALE;
        }
        final PlacedReplica replica = tiers.find(entry, unreadable.replicaId());
        if (replica != null && replica.segment().medium() != Medium.MEMORY) {
            tiers.of(replica).dropLeased(replica, nowMs);
            return Ack.OK;
        }
        return tiers.disk().unreadable(entry, unreadable.replicaId()) ? Ack.OK : Ack.STALE;
    }

    private MasterStats statistics() {
        return new MasterStats(catalogue.size(), segments.capacity(Medium.MEMORY), segments.used(Medium.MEMORY),
            segments.replicas(Medium.MEMORY), held(), tiers.memory().counts().evictions(),
            tiers.memory().counts().withoutCopy(), tiers.disk().count() + tiers.disk().files().count(),
            tiers.disk().evictions(), offloads.ended(), offloads.failed(), offloads.pending(),
            tiers.disk().promotions(), segments.capacity(Medium.NOF),
            segments.used(Medium.NOF), tiers.nof().counts().evictions(), tiers.disk().capacity(), clients.size(),
            writes.pending(), writes.discarded(), writes.released(), promotions.active(), pins.pinned(),
            catalogue.groups(), tiers.disk().used() + tiers.disk().files().used(), reads.counted(),
            tiers.memory().counts().runs(), tiers.nof().counts().runs(), writes.allocations(), promotions.counted(),
            segmentCommands.probes(), new MasterStats.GdsTotals(tiers.gds().size(), segments.capacity(Medium.GDS),
                segments.used(Medium.GDS), segments.replicas(Medium.GDS), tiers.gds().counts(),
                tiers.gds().told()), pageTotals());
    }

    private MasterStats.PageTotals pageTotals() {
        final EvictionCounts evicted = tiers.pages().counts();
        return new MasterStats.PageTotals(segments.capacity(Medium.DISTRIBUTED_DISK),
            segments.used(Medium.DISTRIBUTED_DISK), segments.replicas(Medium.DISTRIBUTED_DISK), pageWrites.active(),
            pageSpace.allocations(), pageSpace.frees(), pageSpace.failures(), evicted.evictions(), evicted.bytes(),
            pageWrites.reaped(), pageWrites.stale(),
            new MasterStats.Hot(hot.size(), hot.queued(), hot.rejected()));
    }

    private long held() {
        return tiers.memory().held() + tiers.nof().held() + tiers.gds().held() + tiers.pages().held();
    }
}
