package io.kvtier.store.protocol.wire;

import io.kvtier.store.protocol.Batch;
import io.kvtier.store.protocol.Command.Ack;
import io.kvtier.store.protocol.PageCommand.AllocateDistributedPage;
import io.kvtier.store.protocol.PageCommand.BatchAllocateDistributedPage;
import io.kvtier.store.protocol.PageCommand.BatchFreeDistributedPage;
import io.kvtier.store.protocol.PageCommand.BatchGetDistributedPageMapping;
import io.kvtier.store.protocol.PageCommand.BucketInfo;
import io.kvtier.store.protocol.PageCommand.DistributedBuckets;
import io.kvtier.store.protocol.PageCommand.DistributedDiskTerms;
import io.kvtier.store.protocol.PageCommand.FetchPromotions;
import io.kvtier.store.protocol.PageCommand.FreeDistributedPage;
import io.kvtier.store.protocol.PageCommand.GetDistributedPageMapping;
import io.kvtier.store.protocol.PageCommand.MountDistributedDisk;
import io.kvtier.store.protocol.PageCommand.NotifyDistributedDiskSuccess;
import io.kvtier.store.protocol.PageCommand.PageAllocation;
import io.kvtier.store.protocol.PageCommand.PageMapping;
import io.kvtier.store.protocol.PageCommand.PageOutcome;
import io.kvtier.store.protocol.PageCommand.PageRelease;
import io.kvtier.store.protocol.PageCommand.PageRequest;
import io.kvtier.store.protocol.PageCommand.PromotionTask;
import io.kvtier.store.protocol.PageCommand.StoredPages;
import io.kvtier.store.protocol.PageCommand.UnmountDistributedDisk;
import io.kvtier.store.protocol.wire.Method.Message;
import io.kvtier.store.replica.PageLayout;
import io.kvtier.store.replica.ReplicaDescriptor;
import io.kvtier.transport.rpc.MalformedMessageException;
import java.util.List;
import java.util.UUID;

/** What concerns the files that all clients mount; {@code store/MESSAGES.md} has the fields. */
final class PageMessages {
    private static final Message<List<Ack>> ACKS = Message.of((e, acks) -> {
        e.array(1).array(acks.size());
        acks.forEach(ack -> e.number(Numbers.ACK.number(ack)));
    }, d -> d.list(Batch.MAX_ITEMS, a -> Numbers.ACK.constant(a.number())));

    private PageMessages() {
    }

    static List<Method<?, ?>> methods() {
        return List.of(
            Method.of(128, AllocateDistributedPage.class, true, Message.of((e, allocate) ->
                request(e.array(2).uuid(allocate.clientId()), allocate.request()),
                d -> new AllocateDistributedPage(d.uuid(), d.record(PageMessages::request))),
                Message.of(PageMessages::allocation, PageMessages::allocation)),
            Method.of(129, BatchAllocateDistributedPage.class, true, allocateAll(), Message.of((e, allocations) -> {
                e.array(1).array(allocations.size());
                allocations.forEach(one -> allocation(e, one));
            }, d -> d.records(Batch.MAX_ITEMS, PageMessages::allocation))),
            Method.of(130, FreeDistributedPage.class, true, Message.of((e, free) ->
                release(e.array(2).uuid(free.clientId()), free.release()),
                d -> new FreeDistributedPage(d.uuid(), d.record(PageMessages::release))), CommonMessages.ACK),
            Method.of(131, BatchFreeDistributedPage.class, true, Message.of((e, free) -> {
                e.array(2).uuid(free.clientId()).array(free.releases().size());
                free.releases().forEach(one -> release(e, one));
            }, d -> new BatchFreeDistributedPage(d.uuid(), d.records(Batch.MAX_ITEMS, PageMessages::release))), ACKS),
            Method.of(132, GetDistributedPageMapping.class, true, Message.of((e, get) -> e.array(2).key(get.key()),
                d -> new GetDistributedPageMapping(d.key())),
                Message.of(PageMessages::mapping, PageMessages::mapping)),
            Method.of(133, BatchGetDistributedPageMapping.class, true, Message.of((e, get) -> e.array(1)
                .keys(get.keys()), d -> new BatchGetDistributedPageMapping(d.records(Batch.MAX_ITEMS, Decoder::key))),
                Message.of((e, mappings) -> {
                    e.array(1).array(mappings.size());
                    mappings.forEach(one -> mapping(e, one));
                }, d -> d.records(Batch.MAX_ITEMS, PageMessages::mapping))),
            Method.of(134, NotifyDistributedDiskSuccess.class, true, stored(), ACKS),
            Method.of(135, MountDistributedDisk.class, true, mount(), Message.of((e, terms) ->
                volume(e.array(3).text(terms.clusterId()).number(terms.writeMs()), terms.volume()),
                d -> new DistributedDiskTerms(d.name(), d.count(), volume(d)))),
            Method.of(136, UnmountDistributedDisk.class, true, Message.of((e, gone) -> e.array(1)
                .uuid(gone.clientId()), d -> new UnmountDistributedDisk(d.uuid())), CommonMessages.ACK),
            Method.of(137, FetchPromotions.class, false, Message.of((e, fetch) -> e.array(2).uuid(fetch.clientId())
                .number(fetch.max()), d -> new FetchPromotions(d.uuid(), d.count(Integer.MAX_VALUE))), promotions()),
            Method.of(138, DistributedBuckets.class, true, CommonMessages.empty(new DistributedBuckets()),
                buckets()));
    }

    /** An array of five fields. */
    private static void request(final Encoder e, final PageRequest request) {
        e.array(5).key(request.key()).number(request.version()).number(request.size()).number(request.sourceId());
    }

    private static PageRequest request(final Decoder d) {
        return new PageRequest(d.key(), d.number(), d.count(), d.has() ? d.number() : 0);
    }

    private static Message<BatchAllocateDistributedPage> allocateAll() {
        return Message.of((e, allocate) -> {
            e.array(2).uuid(allocate.clientId()).array(allocate.requests().size());
            allocate.requests().forEach(one -> request(e, one));
        }, d -> new BatchAllocateDistributedPage(d.uuid(), d.records(Batch.MAX_ITEMS, PageMessages::request)));
    }

    /** An array of three fields, or of the outcome alone. */
    private static void allocation(final Encoder e, final PageAllocation allocation) {
        e.array(allocation.place() == null ? 1 : 3).number(Numbers.PAGE_OUTCOME.number(allocation.outcome()));
        if (allocation.place() != null) {
            place(e.number(allocation.replicaId()), allocation.place());
        }
    }

    private static PageAllocation allocation(final Decoder d) {
        final PageOutcome outcome = Numbers.PAGE_OUTCOME.constant(d.number());
        return outcome == PageOutcome.ALLOCATED || outcome == PageOutcome.STORED
            ? new PageAllocation(outcome, d.number(), place(d)) : PageAllocation.none(outcome);
    }

    /** The descriptor's array. */
    private static void place(final Encoder e, final ReplicaDescriptor.DistributedDisk place) {
        e.array(3).text(place.filePath()).number(place.offset()).number(place.objectSize());
    }

    private static ReplicaDescriptor.DistributedDisk place(final Decoder d) {
        return d.record(Decoder::distributedDisk);
    }

    /** An array of five fields. */
    private static void release(final Encoder e, final PageRelease release) {
        e.array(5).key(release.key()).number(release.version()).number(release.replicaId()).flag(release.settled());
    }

    private static PageRelease release(final Decoder d) {
        return new PageRelease(d.key(), d.number(), d.number(), !d.has() || d.flag());
    }

    /** An array of five fields, or 0 alone. */
    private static void mapping(final Encoder e, final PageMapping mapping) {
        if (mapping.place() == null) {
            e.array(1).number(0);
            return;
        }
        place(e.array(5).number(mapping.version()).number(mapping.replicaId()), mapping.place());
        e.number(mapping.checksum()).number(mapping.leaseMs());
    }

    private static PageMapping mapping(final Decoder d) {
        final long version = d.number();
        return version == 0 ? PageMapping.NONE
            : new PageMapping(version, d.number(), place(d), d.number(), d.count());
    }

    private static Message<NotifyDistributedDiskSuccess> stored() {
        return Message.of((e, notify) -> {
            e.array(2).uuid(notify.clientId()).array(notify.values().size());
            notify.values().forEach(one -> e.array(5).key(one.key()).number(one.version()).number(one.replicaId())
                .number(one.checksum()));
        }, d -> new NotifyDistributedDiskSuccess(d.uuid(), d.records(Batch.MAX_ITEMS,
            s -> new StoredPages(s.key(), s.number(), s.number(), s.number()))));
    }

    private static Message<MountDistributedDisk> mount() {
        return Message.of((e, mount) -> volume(e.array(7).uuid(mount.clientId()).text(mount.layout().rootDir())
            .number(mount.layout().buckets()).number(mount.layout().pageBytes())
            .number(mount.layout().bucketBytes()), mount.volume()).flag(mount.readOnly()),
            d -> new MountDistributedDisk(d.uuid(), layout(d), volume(d), d.has() && d.flag()));
    }

    /** A field that came later. */
    private static Encoder volume(final Encoder e, final UUID volume) {
        return volume == null ? e.nothing() : e.uuid(volume);
    }

    private static UUID volume(final Decoder d) {
        return d.has() && !d.in().nothing() ? d.uuid() : null;
    }

    private static PageLayout layout(final Decoder d) {
        try {
            return new PageLayout(d.text(ReplicaDescriptor.DistributedDisk.MAX_PATH_BYTES),
                d.count(Integer.MAX_VALUE), d.number(), d.number());
        } catch (final IllegalArgumentException e) {
            throw new MalformedMessageException("the layout of a shared disk cannot be one: " + e.getMessage());
        }
    }

    private static Message<List<PromotionTask>> promotions() {
        return Message.of((e, tasks) -> {
            e.array(1).array(tasks.size());
            tasks.forEach(task -> {
                place(e.array(5).key(task.key()).number(task.version()), task.place());
                e.number(task.checksum());
            });
        }, d -> d.records(Integer.MAX_VALUE, t -> new PromotionTask(t.key(), t.number(), place(t), t.number())));
    }

    private static Message<List<BucketInfo>> buckets() {
        return Message.of((e, buckets) -> {
            e.array(1).array(buckets.size());
            buckets.forEach(one -> e.array(3).text(one.path()).number(one.pages()).number(one.allocated()));
        }, d -> d.records(PageLayout.MAX_BUCKETS, b -> new BucketInfo(
            b.text(ReplicaDescriptor.DistributedDisk.MAX_PATH_BYTES), b.count(), b.count())));
    }
}
