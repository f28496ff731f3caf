package io.kvtier.store.cli.bench;

import io.kvtier.alloc.page.BitmapPageAllocator;
import io.kvtier.store.BatchResult;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.PutOptions;
import io.kvtier.store.protocol.Batch;
import io.kvtier.store.protocol.Command.Ack;
import io.kvtier.store.protocol.Master;
import io.kvtier.store.protocol.ObjectCommand.PutEnd;
import io.kvtier.store.protocol.ObjectCommand.PutStart;
import io.kvtier.store.protocol.ObjectCommand.Scope;
import io.kvtier.store.protocol.PageCommand.AllocateDistributedPage;
import io.kvtier.store.protocol.PageCommand.BatchAllocateDistributedPage;
import io.kvtier.store.protocol.PageCommand.BatchFreeDistributedPage;
import io.kvtier.store.protocol.PageCommand.FreeDistributedPage;
import io.kvtier.store.protocol.PageCommand.MountDistributedDisk;
import io.kvtier.store.protocol.PageCommand.PageAllocation;
import io.kvtier.store.protocol.PageCommand.PageOutcome;
import io.kvtier.store.protocol.PageCommand.PageRelease;
import io.kvtier.store.protocol.PageCommand.PageRequest;
import io.kvtier.store.protocol.PutStartReply;
import io.kvtier.store.protocol.SegmentCommand.Medium;
import io.kvtier.store.protocol.SegmentCommand.Mount;
import io.kvtier.store.protocol.SegmentCommand.SegmentSpec;
import io.kvtier.store.replica.PageLayout;
import io.kvtier.store.replica.SegmentAddress;
import io.kvtier.transport.AccessToken;
import io.kvtier.transport.Closings;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.UUID;
import java.util.stream.LongStream;

/**
 * Asks a master in page mode for pages, in the name of a client whose values are in memory that does not exist: no
 * bytes are moved. Pages that were allocated are given back at once, as those of a write that was never begun.
 *
 * <p><b>Threading:</b> one thread; what it makes for threads is for one thread each.
 */
final class PageLoad {
    private static final long UNIT_BYTES = 64L << 10;
    private static final int PART = 1024;

    private final Master master;
    private final PageLayout layout;
    private final UUID clientId = UUID.randomUUID();
    private final List<PageRequest> requests = new ArrayList<>();
    /** Each fill has an order of its own, the same on both sides. */
    private long fills;
    private long homeFills;

    private PageLoad(final Master master, final PageLayout layout) {
        this.master = master;
        this.layout = layout;
    }

    /**
     * Puts values for which pages can be asked.
     *
     * @param master in page mode, with this layout and no values yet.
     * @param layout of its files.
     * @param sizes  bytes of each value.
     * @return a load.
     */
    static PageLoad open(final Master master, final PageLayout layout, final LongStream sizes) throws IOException {
        final PageLoad load = new PageLoad(master, layout);
        final long[] all = sizes.toArray();
        load.lend(LongStream.of(all).map(size -> Math.ceilDiv(size, UNIT_BYTES) * UNIT_BYTES).sum());
        master.apply(new MountDistributedDisk(load.clientId, layout, null, false));
        for (int from = 0; from < all.length; from += PART) {
            load.put(all, from, Math.min(all.length, from + PART));
        }
        return load;
    }

    /** Twice as much as is put: nothing is evicted. */
    private void lend(final long bytes) {
        master.apply(new Mount(clientId, new SegmentSpec("bench", Medium.MEMORY, 2 * bytes, UNIT_BYTES,
            new SegmentAddress(UUID.randomUUID(), "tcp://127.0.0.1:9/bench", AccessToken.random()), true)));
    }

    private void put(final long[] sizes, final int from, final int to) throws IOException {
        final List<PutStart> starts = new ArrayList<>(to - from);
        for (int i = from; i < to; i++) {
            starts.add(new PutStart(clientId, i, ObjectKey.of("block-" + i), sizes[i], PutOptions.DEFAULT, false));
        }
        final List<PutEnd> ends = new ArrayList<>(to - from);
        for (final BatchResult<PutStartReply> reply : master.apply(new Batch<PutStartReply>(starts))) {
            final PutStart start = starts.get(ends.size());
            if (!(reply.orThrow() instanceof PutStartReply.Started started)) {
                throw new IOException("the master does not take " + start.key() + ": " + reply);
            }
            ends.add(new PutEnd(clientId, start.key(), started.version(), Scope.ALL, false, 0));
            requests.add(new PageRequest(start.key(), started.version(), start.size(), 0));
        }
        for (final BatchResult<Ack> result : master.apply(new Batch<Ack>(ends))) {
            result.orThrow();
        }
    }

    /** Asks for the pages of one value and gives them back, two calls; counts one. */
    Crowd.Work single(final int thread, final int threads) {
        final Share share = new Share(thread, threads);
        return () -> {
            final PageRequest request = share.next();
            final PageRelease release =
                release(request, master.apply(new AllocateDistributedPage(clientId, request)));
            freed(release, master.apply(new FreeDistributedPage(clientId, release)));
            return 1;
        };
    }

    /** The same of many values at once, two calls; counts each value. */
    Crowd.Work batch(final int thread, final int threads, final int count) {
        final Share share = new Share(thread, threads);
        return () -> {
            final List<PageRequest> wanted = new ArrayList<>(count);
            for (int i = 0; i < count; i++) {
                wanted.add(share.next());
            }
            final List<PageAllocation> given =
                master.apply(new BatchAllocateDistributedPage(clientId, wanted));
            final List<PageRelease> releases = new ArrayList<>(count);
            for (int i = 0; i < count; i++) {
                releases.add(release(wanted.get(i), given.get(i)));
            }
            free(releases);
            return count;
        };
    }

    private PageRelease release(final PageRequest request, final PageAllocation given) throws IOException {
        if (given.outcome() != PageOutcome.ALLOCATED || given.place().objectSize() != request.size()) {
            throw new IOException("the master gives no pages for " + request + ": " + given);
        }
        return new PageRelease(request.key(), request.version(), given.replicaId(), true);
    }

    private void free(final List<PageRelease> releases) throws IOException {
        for (int from = 0; from < releases.size(); from += PART) {
            final List<PageRelease> part = releases.subList(from, Math.min(releases.size(), from + PART));
            final List<Ack> acks = master.apply(new BatchFreeDistributedPage(clientId, part));
            for (int i = 0; i < part.size(); i++) {
                freed(part.get(i), acks.get(i));
            }
        }
    }

    private static void freed(final PageRelease release, final Ack ack) throws IOException {
        if (ack != Ack.OK) {
            throw new IOException("the master does not take back " + release + ": " + ack);
        }
    }

    private List<PageRequest> shuffled(final long seed) {
        final List<PageRequest> order = new ArrayList<>(requests);
        Collections.shuffle(order, new Random(seed));
        return order;
    }

    /** Asks for pages of one value after the other until there are none; which share of all bytes the values are. */
    double fill() throws IOException {
        final List<PageRequest> order = shuffled(fills++);
        final List<PageRelease> given = new ArrayList<>(order.size());
        long bytes = 0;
        boolean full = false;
        for (int from = 0; from < order.size() && !full; from += PART) {
            final List<PageRequest> part = order.subList(from, Math.min(order.size(), from + PART));
            final List<PageAllocation> answers = master.apply(new BatchAllocateDistributedPage(clientId, part));
            for (int i = 0; i < part.size(); i++) {
                if (answers.get(i).outcome() == PageOutcome.NO_SPACE) {
                    full = true;
                } else {
                    // What came after the first that found no room is given back, and does not count.
                    bytes += full ? 0 : part.get(i).size();
                    given.add(release(part.get(i), answers.get(i)));
                }
            }
        }
        free(given);
        return share(full, bytes);
    }

    /** The same values in the same order, each in its home file or not at all; nobody is asked. */
    double fillHomes() throws IOException {
        try (Closings homes = new Closings()) {
            final List<BitmapPageAllocator> files = new ArrayList<>();
            for (int i = 0; i < layout.buckets(); i++) {
                files.add(homes.keep(BitmapPageAllocator.create(layout.bucketBytes() / layout.pageBytes()),
                    BitmapPageAllocator::close));
            }
            long bytes = 0;
            for (final PageRequest request : shuffled(homeFills++)) {
                final long pages = Math.ceilDiv(request.size(), layout.pageBytes());
                if (files.get(layout.home(request.key().key())).allocate(pages) == BitmapPageAllocator.NO_SPACE) {
                    return share(true, bytes);
                }
                bytes += request.size();
            }
            return share(false, bytes);
        }
    }

    private double share(final boolean full, final long bytes) throws IOException {
        if (!full) {
            throw new IOException("all values found room, " + bytes + " bytes in files of " + layout.capacity());
        }
        return (double) bytes / layout.capacity();
    }

    /** The values that a thread asks for, one after the other and again; nobody else asks for them. */
    private final class Share {
        private final int threads;
        private int last;

        Share(final int thread, final int threads) {
            this.threads = threads;
            this.last = thread - threads;
        }

        PageRequest next() {
            last += threads;
            if (last >= requests.size()) {
                last %= threads;
            }
            return requests.get(last);
        }
    }
}
