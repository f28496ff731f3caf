package io.kvtier.store.simulation;

import io.kvtier.store.ObjectKey;
import io.kvtier.store.protocol.Command;
import io.kvtier.store.protocol.Command.Ack;
import io.kvtier.store.protocol.DiskCommand;
import io.kvtier.store.protocol.ObjectCommand;
import io.kvtier.store.protocol.PageCommand;
import io.kvtier.store.protocol.PageCommand.BucketInfo;
import io.kvtier.store.protocol.PageCommand.PageAllocation;
import io.kvtier.store.protocol.PageCommand.PageMapping;
import io.kvtier.store.protocol.PageCommand.PageOutcome;
import io.kvtier.store.protocol.PageCommand.PageRelease;
import io.kvtier.store.protocol.PageCommand.PageRequest;
import io.kvtier.store.protocol.PageCommand.StoredPages;
import io.kvtier.store.protocol.PromotionReply;
import io.kvtier.store.protocol.ReadReply;
import io.kvtier.store.replica.Replica;
import io.kvtier.store.replica.ReplicaDescriptor.DistributedDisk;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.function.Consumer;

/**
 * Looks over a master's shoulder when it gives pages away: until when each of them is somebody's at least, and until
 * when at most, is known from what it has answered before. A page is a readable value's; a writer's, until he says how
 * it ended, or until he can be under way no more and a lease is over; or it rests for a lease after its value went.
 * What lies in pages of readable values is looked at too.
 */
final class PageAuditor {
    /** Later than the master by the millisecond in which it counts. */
    private static final long ROUNDING_MS = 1;

    private final World world;
    private final Map<String, Page[]> files = new HashMap<>();
    private long looks;

    /** One page, as far as answers tell. */
    private static final class Page {
        /** Whose value is there; 0 for nobody's. */
        private long version;
        private long seenMs;
        private long seenBy;
        /** Who was given it last, for which version. */
        private UUID writer;
        private long written;
        private long allocation;
        private long atLeastMs;
        private long atMostMs;

        private boolean isTaken(final long nowMs) {
            return version != 0 || nowMs < atLeastMs;
        }

        private void until(final long ms) {
            atLeastMs = ms;
            atMostMs = ms;
        }
    }

    PageAuditor(final World world) {
        this.world = world;
        for (int i = 0; i < SharedFiles.BUCKETS; i++) {
            final Page[] pages = new Page[SharedFiles.PAGES];
            for (int j = 0; j < pages.length; j++) {
                pages[j] = new Page();
            }
            files.put(SharedFiles.LAYOUT.path(i), pages);
        }
    }

    private List<Page> of(final DistributedDisk place) {
        return List.of(files.get(place.filePath())).subList(SharedFiles.firstPage(place),
            SharedFiles.firstPage(place) + SharedFiles.pages(place));
    }

    /** Before something that may free pages, or give them away. */
    void before(final SimulatedMaster master, final Command<?> command, final long nowMs) {
        switch (command) {
            case PageCommand.AllocateDistributedPage ignored -> look(master, nowMs);
            case PageCommand.BatchAllocateDistributedPage ignored -> look(master, nowMs);
            case ObjectCommand.Remove ignored -> look(master, nowMs);
            case ObjectCommand.ReplicaUnreadable ignored -> look(master, nowMs);
            default -> {
                // What it frees is found at the next look.
            }
        }
    }

    /** Something was answered. */
    void answered(final SimulatedMaster master, final Command<?> command, final Object reply, final long nowMs) {
        switch (command) {
            case PageCommand.BatchAllocateDistributedPage all -> {
                final List<?> allocations = (List<?>) reply;
                for (int i = 0; i < allocations.size(); i++) {
                    given(master, all.clientId(), all.requests().get(i), (PageAllocation) allocations.get(i), nowMs);
                }
            }
            case PageCommand.BatchFreeDistributedPage all -> {
                for (int i = 0; i < all.releases().size(); i++) {
                    freed(all.releases().get(i), (Ack) ((List<?>) reply).get(i), nowMs);
                }
            }
            case PageCommand.NotifyDistributedDiskSuccess all -> {
                for (int i = 0; i < all.values().size(); i++) {
                    said(all.values().get(i), (Ack) ((List<?>) reply).get(i), nowMs);
                }
                look(master, nowMs);
            }
            case PageCommand.BatchGetDistributedPageMapping ignored -> ((List<?>) reply).forEach(mapping ->
                leased((PageMapping) mapping, nowMs));
            case ObjectCommand.ReadStart ignored -> leased((ReadReply) reply, nowMs);
            case DiskCommand.PromotionStart start when ((PromotionReply) reply).accepted() ->
                held(master, start.key(), nowMs);
            default -> {
                // Nothing that concerns pages.
            }
        }
    }

    private void given(final SimulatedMaster master, final UUID clientId, final PageRequest request,
        final PageAllocation allocation, final long nowMs) {
        if (allocation.outcome() != PageOutcome.ALLOCATED) {
            return;
        }
        for (final Page page : of(allocation.place())) {
            // Who asks again is given the same ones.
            if (page.version != 0 || page.isTaken(nowMs)
                && !(clientId.equals(page.writer) && page.written == request.version())) {
                throw new Violation("at " + nowMs + " ms version " + request.version() + " was given " + allocation
                    + ", where " + (page.version != 0 ? "version " + page.version + " is" : "it must rest until "
                    + page.atLeastMs + " ms"));
            }
        }
        world.shared().given(master.term(), world.client(clientId), request, allocation);
        for (final Page page : of(allocation.place())) {
            page.writer = clientId;
            page.written = request.version();
            page.allocation = allocation.replicaId();
            page.until(nowMs + Times.RELEASE + Times.LEASE);
        }
    }

    private void freed(final PageRelease release, final Ack ack, final long nowMs) {
        if (ack == Ack.OK && release.settled()) {
            each(release.replicaId(), page -> page.until(nowMs));
        }
    }

    private void said(final StoredPages value, final Ack ack, final long nowMs) {
        // One that is not wanted any more is free at once, unless it was reaped before.
        each(value.replicaId(), page -> {
            page.atLeastMs = Math.min(page.atLeastMs, nowMs);
            page.atMostMs = ack == Ack.OK ? nowMs : page.atMostMs;
        });
    }

    private void each(final long allocation, final Consumer<Page> what) {
        for (final Page[] pages : files.values()) {
            for (final Page page : pages) {
                if (page.allocation == allocation) {
                    what.accept(page);
                }
            }
        }
    }

    private void leased(final ReadReply reply, final long nowMs) {
        for (final Replica replica : reply.replicas()) {
            if (replica.descriptor() instanceof DistributedDisk place) {
                seen(reply.version(), place, nowMs);
            }
        }
    }

    private void leased(final PageMapping mapping, final long nowMs) {
        if (mapping.place() != null) {
            seen(mapping.version(), mapping.place(), nowMs);
        }
    }

    private void seen(final long version, final DistributedDisk place, final long nowMs) {
        for (final Page page : of(place)) {
            page.version = version;
            page.seenMs = nowMs;
            page.seenBy = looks;
        }
    }

    /** Who copies a value up holds its pages, whatever becomes of it. */
    private void held(final SimulatedMaster master, final ObjectKey key, final long nowMs) {
        for (final Replica replica : master.look(new ObjectCommand.Query(key)).replicas()) {
            if (replica.descriptor() instanceof DistributedDisk place) {
                of(place).forEach(page -> page.atMostMs = Math.max(page.atMostMs, nowMs + Times.RELEASE + ROUNDING_MS));
            }
        }
    }

    /** Looks at all values: each has pages of its own, and its bytes are in them. */
    void look(final SimulatedMaster master, final long nowMs) {
        final List<DistributedDisk> places = new ArrayList<>();
        looks++;
        for (final ObjectKey key : world.keys()) {
            final ReadReply object = master.look(new ObjectCommand.Query(key));
            for (final Replica replica : object.replicas()) {
                if (replica.descriptor() instanceof DistributedDisk place) {
                    for (final DistributedDisk other : places) {
                        if (SharedFiles.overlap(place, other)) {
                            throw new Violation("two replicas overlap: " + place + " and " + other);
                        }
                    }
                    places.add(place);
                    world.shared().check(object.version(), place, "the master has it for " + key + " as " + replica);
                    seen(object.version(), place, nowMs);
                }
            }
        }
        for (final Page[] pages : files.values()) {
            for (final Page page : pages) {
                if (page.version != 0 && page.seenBy < looks) {
                    page.version = 0;
                    page.atLeastMs = Math.max(page.atLeastMs, page.seenMs + Times.LEASE);
                    page.atMostMs = Math.max(page.atMostMs, nowMs + Times.LEASE);
                }
            }
        }
    }

    /** Pages are allocated exactly when something has them. */
    void check(final SimulatedMaster master, final long nowMs) {
        look(master, nowMs);
        for (final BucketInfo bucket : master.look(new PageCommand.DistributedBuckets())) {
            long least = 0;
            long most = 0;
            for (final Page page : files.get(bucket.path())) {
                least += page.isTaken(nowMs) ? 1 : 0;
                most += page.version != 0 || nowMs <= page.atMostMs + ROUNDING_MS ? 1 : 0;
            }
            if (bucket.allocated() < least || bucket.allocated() > most) {
                throw new Violation("at " + nowMs + " ms " + bucket.allocated() + " pages of " + bucket.path()
                    + " are allocated, and not from " + least + " to " + most);
            }
        }
    }
}
