package io.kvtier.store.master.state;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.store.ObjectKey;
import io.kvtier.store.PutOptions;
import io.kvtier.store.config.MasterSettings;
import io.kvtier.store.master.state.PageRecords.PageRecord;
import io.kvtier.store.protocol.Command.Ack;
import io.kvtier.store.protocol.DiskCommand;
import io.kvtier.store.protocol.DiskCommand.OffloadResult;
import io.kvtier.store.protocol.ObjectCommand;
import io.kvtier.store.protocol.OffloadTask;
import io.kvtier.store.protocol.PageCommand;
import io.kvtier.store.protocol.PageCommand.BucketInfo;
import io.kvtier.store.protocol.PageCommand.PageAllocation;
import io.kvtier.store.protocol.PageCommand.PageMapping;
import io.kvtier.store.protocol.PageCommand.PageOutcome;
import io.kvtier.store.protocol.PageCommand.PageRelease;
import io.kvtier.store.protocol.PageCommand.PageRequest;
import io.kvtier.store.protocol.PageCommand.PromotionTask;
import io.kvtier.store.protocol.PageCommand.StoredPages;
import io.kvtier.store.protocol.PromotionReply;
import io.kvtier.store.protocol.PutStartReply;
import io.kvtier.store.protocol.ReadReply;
import io.kvtier.store.replica.Replica;
import io.kvtier.store.replica.ReplicaDescriptor;
import io.kvtier.store.replica.ReplicaType;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.UUID;

/**
 * The shared files with what is really in them, clients that write there as long as they may and not a millisecond
 * longer, whatever has become of them and of the master in between, and readers who keep what they were told.
 *
 * <p>A page has the version whose bytes are in it, which stands for its checksum. Whatever the master calls complete
 * must have its version in all its pages, for as long as a reader's lease goes on; but what an older snapshot brought
 * back may be found to have another one, and then is dropped, as by a reader who compares checksums.
 */
final class PageModel {
    private static final List<UUID> CLIENTS = List.of(MasterRig.ALICE, MasterRig.BOB, MasterRig.CAROL);
    private static final List<String> TENANTS = List.of("red", "blue");
    private static final int KEYS = 5;
    private static final int MEMORY_PAGES = 24;

    private final Random random;
    private final MasterSettings settings;
    private final Map<String, long[]> files = new HashMap<>();
    private final List<Writer> writers = new ArrayList<>();
    private final List<Reader> readers = new ArrayList<>();
    private final List<Promoter> promoters = new ArrayList<>();
    /** Versions whose pages may have been overwritten since an older snapshot. */
    private final Set<Long> doubtful = new HashSet<>();
    private MasterRig rig;
    private List<PageRecord> older = List.of();
    private long term = 7;
    private long attempts;
    private long restored;

    /** Pages of a client; it writes there until then, or until it has said that it does not any more. */
    private record Writer(UUID client, PageRequest request, OffloadTask task, PageAllocation pages, long untilMs) {
    }

    private record Reader(long version, ReplicaDescriptor.DistributedDisk place, long untilMs) {
    }

    private record Promoter(UUID client, ObjectKey key, PromotionReply reply) {
    }

    PageModel(final Random random) {
        this.random = random;
        settings = MasterRig.withEviction(new MasterSettings.Eviction(0.9, 0.2, 1, 0, true)).withPages(
            PageRig.pages(0.9, 0.3, random.nextBoolean(), new MasterSettings.Promotion(random.nextBoolean(), 2, 3)));
        for (int i = 0; i < PageRig.BUCKETS; i++) {
            files.put(PageRig.LAYOUT.path(i), new long[PageRig.PAGES]);
        }
        rig = new MasterRig(settings, term, 1_000_000);
        mountAll();
    }

    void close() {
        rig.close();
    }

    private void mountAll() {
        rig.memory(MasterRig.ALICE, "alice", MEMORY_PAGES * PageRig.PAGE);
        rig.memory(MasterRig.BOB, "bob", MEMORY_PAGES * PageRig.PAGE);
        CLIENTS.forEach(this::mount);
    }

    private void mount(final UUID client) {
        rig.ping(client, "");
        rig.apply(new PageCommand.MountDistributedDisk(client, PageRig.LAYOUT, null, false));
    }

    private ObjectKey key() {
        return ObjectKey.of(TENANTS.get(random.nextInt(TENANTS.size())), "k" + random.nextInt(KEYS));
    }

    private UUID client() {
        return CLIENTS.get(random.nextInt(CLIENTS.size()));
    }

    private <T> T any(final List<T> some) {
        return some.isEmpty() ? null : some.remove(random.nextInt(some.size()));
    }

    void step() {
        switch (random.nextInt(20)) {
            case 0, 1, 2 -> put(random.nextInt(3) == 0);
            case 3, 4 -> allocate();
            case 5, 6 -> offload(client());
            case 7, 8, 9, 10 -> write();
            case 11, 12 -> say();
            case 13, 14 -> read();
            case 15 -> rig.apply(new ObjectCommand.Remove(key(), random.nextBoolean()));
            case 16 -> rig.evict(0.5, 0.2);
            case 17 -> promote(client());
            case 18 -> rig.passAlive(random.nextInt((int) MasterRig.LEASE_MS));
            default -> rareStep();
        }
        check();
    }

    private void rareStep() {
        switch (random.nextInt(8)) {
            case 0 -> {
                final UUID client = client();
                rig.silence(client);
                rig.passAlive(MasterRig.CLIENT_TTL_MS);
                mount(client);
            }
            case 1 -> rig.apply(new ObjectCommand.RemoveMatching(TENANTS.getFirst(), "k[0-2]", true, 0));
            case 2 -> rig.passAlive(random.nextInt((int) MasterRig.RELEASE_MS));
            case 3 -> {
                // A client that stops with the shared files, and begins anew.
                final UUID client = client();
                rig.apply(new PageCommand.UnmountDistributedDisk(client));
                mount(client);
            }
            case 4 -> older = rig.state().pageRecords();
            case 5 -> restart(rig.state().pageRecords(), false);
            case 6 -> restart(older, true);
            default -> rig.settle();
        }
    }

    private void put(final boolean replace) {
        final ObjectKey key = key();
        // Nobody replaces a value while it is copied.
        final boolean copied = promoters.stream().anyMatch(promoter -> promoter.key().equals(key));
        final UUID client = CLIENTS.get(random.nextInt(2));
        final PutStartReply reply = rig.apply(new ObjectCommand.PutStart(client, ++attempts, key,
            1 + random.nextInt(4 * (int) PageRig.PAGE), PutOptions.DEFAULT, replace && !copied));
        if (reply instanceof PutStartReply.Started started) {
            rig.apply(new ObjectCommand.PutEnd(client, key, started.version(), ObjectCommand.Scope.ALL,
                random.nextBoolean(), started.version()));
        }
    }

    /** Pages for a value without an offload task. */
    private void allocate() {
        final ObjectKey key = key();
        final ReadReply object = rig.apply(new ObjectCommand.Query(key));
        if (object.found()) {
            begin(client(), new PageRequest(key, object.version(), object.size(), 0), null);
        }
    }

    private void offload(final UUID client) {
        for (final OffloadTask task : rig.apply(new DiskCommand.FetchOffloads(client, 3 * PageRig.PAGE))) {
            if (writers.stream().noneMatch(writer -> task.equals(writer.task()))) {
                begin(client, new PageRequest(task.key(), task.version(), task.source().size(), task.replicaId()),
                    task);
            }
        }
    }

    private void begin(final UUID client, final PageRequest request, final OffloadTask task) {
        final PageAllocation pages = rig.apply(new PageCommand.AllocateDistributedPage(client, request));
        if (pages.outcome() == PageOutcome.ALLOCATED) {
            // Pages that it was given before: nobody asks again who has the answer, so that one was lost, and nothing
            // is written by it. Two writes of one client there would each vouch for the other.
            writers.removeIf(writer -> writer.client().equals(client)
                && writer.pages().place().equals(pages.place())
                && writer.request().version() == request.version());
            // It asked a while ago, and counts from then.
            writers.add(new Writer(client, request, task, pages, rig.nowMs() + MasterRig.RELEASE_MS));
        } else if (task != null) {
            rig.apply(new DiskCommand.OffloadDone(client, task, random.nextBoolean() ? OffloadResult.OBSOLETE
                : OffloadResult.DISK_FAILED, 0));
        }
    }

    /** A writer writes, at any moment of its time: whatever the master thinks of it by now. */
    private void write() {
        writers.removeIf(writer -> rig.nowMs() >= writer.untilMs());
        if (!writers.isEmpty()) {
            write(writers.get(random.nextInt(writers.size())));
        }
    }

    private void write(final Writer writer) {
        final long[] file = files.get(writer.pages().place().filePath());
        for (int page : pages(writer.pages().place())) {
            file[page] = writer.request().version();
        }
    }

    private static int[] pages(final ReplicaDescriptor.DistributedDisk place) {
        final int first = (int) (place.offset() / PageRig.PAGE);
        final int[] pages = new int[(int) ((place.objectSize() + PageRig.PAGE - 1) / PageRig.PAGE)];
        for (int i = 0; i < pages.length; i++) {
            pages[i] = first + i;
        }
        return pages;
    }

    /** A writer says what has become of its pages, and is heard or not. */
    private void say() {
        writers.removeIf(writer -> rig.nowMs() >= writer.untilMs());
        final Writer writer = any(writers);
        if (writer == null) {
            return;
        }
        switch (random.nextInt(5)) {
            case 0 -> free(writer, true);
            case 1 -> {
                free(writer, false);
                // It could not say that it had stopped, and so may go on.
                writers.add(new Writer(CLIENTS.getFirst(), writer.request(), null, writer.pages(), writer.untilMs()));
            }
            default -> {
                write(writer);
                notify(writer);
            }
        }
    }

    private void free(final Writer writer, final boolean settled) {
        rig.apply(new PageCommand.FreeDistributedPage(writer.client(), new PageRelease(writer.request().key(),
            writer.request().version(), writer.pages().replicaId(), settled)));
        if (writer.task() != null) {
            rig.apply(new DiskCommand.OffloadDone(writer.client(), writer.task(), OffloadResult.DISK_FAILED, 0));
        }
    }

    private void notify(final Writer writer) {
        final PageCommand.NotifyDistributedDiskSuccess notify = new PageCommand.NotifyDistributedDiskSuccess(
            writer.client(), List.of(new StoredPages(writer.request().key(), writer.request().version(),
                writer.pages().replicaId(), writer.request().version())));
        final List<Ack> acks = rig.apply(notify);
        if (random.nextInt(3) == 0) {
            assertEquals(acks, rig.apply(notify), "a repeated one is answered as before");
        }
        if (acks.getFirst() == Ack.OK) {
            assertEquals(writer.request().version(), rig.apply(new ObjectCommand.Query(writer.request().key()))
                .version());
        }
    }

    private void read() {
        final ObjectKey key = key();
        if (random.nextBoolean()) {
            final PageMapping mapping = rig.apply(new PageCommand.GetDistributedPageMapping(key));
            if (mapping.place() != null) {
                assertEquals(mapping.version(), mapping.checksum(), "the checksum of that very version");
                lease(key, mapping.version(), mapping.replicaId(), mapping.place());
            }
            return;
        }
        final ReadReply object = rig.apply(new ObjectCommand.ReadStart(key, false));
        for (final Replica replica : object.replicas()) {
            if (replica.descriptor() instanceof ReplicaDescriptor.DistributedDisk place) {
                lease(key, object.version(), replica.id(), place);
            }
        }
    }

    /** A reader compares the checksum, and reports what is wrong; what was right stays so for the lease. */
    private void lease(final ObjectKey key, final long version, final long replicaId,
        final ReplicaDescriptor.DistributedDisk place) {
        if (isThere(version, place)) {
            readers.add(new Reader(version, place, rig.nowMs() + MasterRig.LEASE_MS));
        } else {
            assertTrue(doubtful.contains(version), "only an older snapshot can name what is not there: " + place);
            rig.apply(new ObjectCommand.ReplicaUnreadable(key, version, replicaId));
        }
    }

    private boolean isThere(final long version, final ReplicaDescriptor.DistributedDisk place) {
        final long[] file = files.get(place.filePath());
        for (final int page : pages(place)) {
            if (file[page] != version) {
                return false;
            }
        }
        return true;
    }

    private void promote(final UUID client) {
        if (random.nextBoolean()) {
            final Promoter promoter = any(promoters);
            if (promoter != null) {
                rig.apply(new DiskCommand.PromotionEnd(promoter.client(), promoter.key(),
                    promoter.reply().replicaId(), random.nextBoolean()));
            }
            return;
        }
        for (final PromotionTask task : rig.apply(new PageCommand.FetchPromotions(client, 2))) {
            if (random.nextInt(4) > 0) {
                final PromotionReply reply =
                    rig.apply(new DiskCommand.PromotionStart(client, task.key(), task.version()));
                if (reply.accepted()) {
                    promoters.add(new Promoter(client, task.key(), reply));
                }
            }
        }
    }

    /** Another master, from a snapshot: the memory is lost, and writers of before go on with what they were told. */
    private void restart(final List<PageRecord> records, final boolean isOlder) {
        final long nowMs = rig.nowMs();
        rig.close();
        rig = new MasterRig(settings, ++term, nowMs);
        if (isOlder) {
            records.forEach(record -> doubtful.add(record.version()));
        }
        restored = rig.state().restorePages(records, nowMs);
        if (!isOlder) {
            assertEquals(records.size(), restored);
        }
        older = rig.state().pageRecords();
        promoters.clear();
        // A lease of the master before holds for what is in its last snapshot, and so does a promise to writers.
        readers.removeIf(reader -> isOlder);
        mountAll();
    }

    /** What the master says is so, and leases hold. */
    private void check() {
        readers.removeIf(reader -> rig.nowMs() >= reader.untilMs());
        for (final Reader reader : readers) {
            assertTrue(isThere(reader.version(), reader.place()) || doubtful.contains(reader.version()),
                "a reader's lease goes on: " + reader);
        }
        final Map<String, boolean[]> taken = new HashMap<>();
        for (final PageRecord record : rig.state().pageRecords()) {
            assertTrue(isThere(record.version(), record.place()) || doubtful.contains(record.version()),
                "it is said to be complete: " + record);
            claim(taken, record.place());
        }
        for (final BucketInfo bucket : rig.apply(new PageCommand.DistributedBuckets())) {
            int complete = 0;
            for (final boolean page : taken.getOrDefault(bucket.path(), new boolean[0])) {
                complete += page ? 1 : 0;
            }
            assertTrue(complete <= bucket.allocated(), "pages of complete values are allocated: " + bucket);
        }
    }

    private static void claim(final Map<String, boolean[]> taken, final ReplicaDescriptor.DistributedDisk place) {
        final boolean[] file = taken.computeIfAbsent(place.filePath(), path -> new boolean[PageRig.PAGES]);
        for (final int page : pages(place)) {
            assertFalse(file[page], "two complete values on one page: " + place);
            file[page] = true;
        }
    }

    /** Everybody says what there is to say, or time says it; then nothing is left. */
    void quiesce() {
        while (!writers.isEmpty()) {
            say();
        }
        rig.passAlive(MasterRig.RELEASE_MS + MasterRig.LEASE_MS);
        CLIENTS.forEach(client -> rig.apply(new DiskCommand.FetchOffloads(client, Long.MAX_VALUE))
            .forEach(task -> rig.apply(new DiskCommand.OffloadDone(client, task, OffloadResult.DISK_FAILED, 0))));
        for (final String tenant : TENANTS) {
            for (int i = 0; i < KEYS; i++) {
                rig.apply(new ObjectCommand.Remove(ObjectKey.of(tenant, "k" + i), true));
            }
        }
        rig.advance(MasterRig.LEASE_MS);
        rig.assertEmpty();
        assertEquals(0, rig.stats().pages().hot().waiting());
        assertEquals(rig.stats().pages().allocations() + restored, rig.stats().pages().frees());
        assertEquals(0, MasterRig.replicas(rig.query("k0"), ReplicaType.DISTRIBUTED_DISK));
    }
}
