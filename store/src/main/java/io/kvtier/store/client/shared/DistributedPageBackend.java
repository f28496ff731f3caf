package io.kvtier.store.client.shared;

import io.kvtier.alloc.HostMemory;
import io.kvtier.alloc.RegionSlice;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.StoreException;
import io.kvtier.store.StoreStats;
import io.kvtier.store.client.request.ObjectRead;
import io.kvtier.store.protocol.Batch;
import io.kvtier.store.protocol.Command.Ack;
import io.kvtier.store.protocol.Master;
import io.kvtier.store.protocol.PageCommand.BatchAllocateDistributedPage;
import io.kvtier.store.protocol.PageCommand.BatchFreeDistributedPage;
import io.kvtier.store.protocol.PageCommand.BatchGetDistributedPageMapping;
import io.kvtier.store.protocol.PageCommand.NotifyDistributedDiskSuccess;
import io.kvtier.store.protocol.PageCommand.PageAllocation;
import io.kvtier.store.protocol.PageCommand.PageMapping;
import io.kvtier.store.protocol.PageCommand.PageOutcome;
import io.kvtier.store.protocol.PageCommand.PageRelease;
import io.kvtier.store.protocol.PageCommand.PageRequest;
import io.kvtier.store.protocol.PageCommand.StoredPages;
import io.kvtier.store.storage.BlockHash;
import io.kvtier.store.storage.shared.DistributedDiskReader;
import io.kvtier.store.storage.shared.DistributedPageWriter;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongSupplier;

/**
 * Puts values into pages of the shared disk, and gets them from there: asks the master for pages, writes all values of
 * a batch at the same time, syncs each file once, tells the master of exactly those that are durable, and gives the
 * pages of all others back in the same call. Nothing of what is there is kept here: the master knows it, so that there
 * is nothing to look for when a client begins.
 *
 * <p>A master that does not answer when it is told what is durable may have heard of it: those pages are not given
 * back. It reaps them if it has not.
 *
 * <p><b>Threading:</b> thread-safe. <b>Blocking:</b> on the file system and on the master.
 */
public final class DistributedPageBackend {
    private static final System.Logger LOG = System.getLogger(DistributedPageBackend.class.getName());

    private final UUID clientId;
    private final Master master;
    private final long pageBytes;
    private final DistributedPageWriter writer;
    private final DistributedDiskReader reader;
    private final LongSupplier writeMs;
    private final LongAdder values = new LongAdder();
    private final LongAdder pages = new LongAdder();
    private final LongAdder bytes = new LongAdder();
    private final LongAdder failures = new LongAdder();
    private final LongAdder leaksPrevented = new LongAdder();

    /**
     * A value to store.
     *
     * @param key      its name, with its tenant.
     * @param version  its version.
     * @param memory   its bytes, perhaps with padding behind them.
     * @param size     bytes of the value.
     * @param sourceId the memory replica of the offload task for which it is; 0 for none.
     */
    public record Item(ObjectKey key, long version, RegionSlice memory, long size, long sourceId) {
        private MemorySegment bytes() {
            return memory.segment().asSlice(0, size);
        }
    }

    /** What has become of a value that was to be stored. */
    public enum Outcome {
        /** It is durable, and the master has taken it; its offload task has ended. */
        STORED,
        /** Nothing has to be stored: it is there already, another client writes it, or it is not wanted any more. */
        NOT_NEEDED,
        /** There is no room for it. */
        NO_SPACE,
        /** It could not be written; its pages are given back. */
        FAILED,
        /** It is durable, and whether the master knows is not known. */
        UNKNOWN
    }

    /**
     * One value's result.
     *
     * @param outcome what has become of it.
     * @param cause   why it failed; null when it did not.
     */
    public record Result(Outcome outcome, Throwable cause) {
    }

    /** A value on its way. */
    private static final class Pending {
        private final Item item;
        private final PageAllocation allocation;
        private DistributedPageWriter.Page page;
        private long checksum;
        private Result result;

        private Pending(final Item item, final PageAllocation allocation) {
            this.item = item;
            this.allocation = allocation;
        }

        private boolean isWritten() {
            return result == null && page.problem() == null;
        }

        private StoredPages stored() {
            return new StoredPages(item.key(), item.version(), allocation.replicaId(), checksum);
        }

        /** What was sent and failed may show there later. */
        private PageRelease release() {
            return new PageRelease(item.key(), item.version(), allocation.replicaId(), page == null || !page.begun());
        }
    }

    /**
     * A part of a shared disk.
     *
     * @param pageBytes bytes of a page.
     * @param writer    writes to its files.
     * @param reader    reads them.
     * @param writeMs   milliseconds after which nothing may be written any more, counted from before pages are asked
     *                  for; as the master said last. 0 while it is not known whether the files are its own.
     */
    DistributedPageBackend(final UUID clientId, final Master master, final long pageBytes,
        final DistributedPageWriter writer, final DistributedDiskReader reader, final LongSupplier writeMs) {
        this.clientId = clientId;
        this.master = master;
        this.pageBytes = pageBytes;
        this.writer = writer;
        this.reader = reader;
        this.writeMs = writeMs;
    }

    /**
     * What was found when this began.
     *
     * @return nothing: the master knows what is there, whoever wrote it.
     */
    List<Item> recovered() {
        return List.of();
    }

    /**
     * Stores values; each succeeds or fails alone.
     *
     * @param items what to store, of any tenants.
     * @return one result an item, in order.
     * @throws StoreException when the master could not be asked for pages, or the files may not be its own: nothing was
     *                        written then.
     */
    public List<Result> store(final List<Item> items) {
        final List<Result> results = new ArrayList<>(items.size());
        for (int from = 0; from < items.size(); from += Batch.MAX_ITEMS) {
            results.addAll(storeSome(items.subList(from, Math.min(items.size(), from + Batch.MAX_ITEMS))));
        }
        return results;
    }

    private List<Result> storeSome(final List<Item> items) {
        // Before they are asked for: from then on the master counts.
        requireFiles();
        final long until =
            System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(ObjectRead.reliableMs(writeMs.getAsLong()));
        final List<PageAllocation> allocations = master.apply(new BatchAllocateDistributedPage(clientId, items.stream()
            .map(item -> new PageRequest(item.key(), item.version(), item.size(), item.sourceId())).toList()));
        if (allocations.size() != items.size()) {
            throw new StoreException(ErrorCode.DESERIALIZE_FAIL, "the master answered " + allocations.size()
                + " requests for pages of " + items.size() + "; is it another version?");
        }
        final List<Pending> all = new ArrayList<>(items.size());
        final List<Pending> given = new ArrayList<>(items.size());
        for (int i = 0; i < items.size(); i++) {
            final Pending pending = new Pending(items.get(i), allocations.get(i));
            pending.result = without(pending.allocation.outcome());
            all.add(pending);
            if (pending.result == null) {
                given.add(pending);
            }
        }
        try {
            // Once more: another master may have given these pages, of other files.
            requireFiles();
            write(given, until);
            notifyWritten(given.stream().filter(Pending::isWritten).toList(), until);
        } finally {
            giveBack(given.stream().filter(pending -> pending.result == null
                || pending.result.outcome() == Outcome.FAILED).toList());
        }
        return all.stream().map(pending -> pending.result).toList();
    }

    private void requireFiles() {
        if (writeMs.getAsLong() == 0) {
            throw new StoreException(ErrorCode.UNAVAILABLE_IN_CURRENT_STATUS, "the shared disk was not looked at for "
                + "this master yet; the master names again what is to go there");
        }
    }

    /** Null where there are pages. */
    private static Result without(final PageOutcome outcome) {
        return switch (outcome) {
            case ALLOCATED -> null;
            case STORED, TAKEN, STALE -> new Result(Outcome.NOT_NEEDED, null);
            case NO_SPACE -> new Result(Outcome.NO_SPACE, null);
        };
    }

    private void write(final List<Pending> given, final long until) {
        given.forEach(pending -> pending.page =
            new DistributedPageWriter.Page(pending.allocation.place(), pending.item.bytes()));
        // The processor takes checksums while the file system takes the bytes.
        writer.write(given.stream().map(pending -> pending.page).toList(), until,
            () -> given.forEach(DistributedPageBackend::takeChecksum));
        for (final Pending pending : given) {
            if (pending.result == null && pending.page.problem() != null) {
                pending.result = new Result(Outcome.FAILED, pending.page.problem());
            }
        }
    }

    private static void takeChecksum(final Pending pending) {
        try {
            pending.checksum = BlockHash.xxh64(pending.item.bytes());
            ((HostMemory) pending.item.memory().region()).raiseFault();
        } catch (final RuntimeException | Error e) {
            // An error: its pages of memory are gone, for the file behind them was cut.
            pending.result = new Result(Outcome.FAILED, e);
        }
    }

    private void notifyWritten(final List<Pending> written, final long until) {
        if (written.isEmpty()) {
            return;
        }
        final List<Ack> acks;
        try {
            acks = master.apply(new NotifyDistributedDiskSuccess(clientId, written.stream().map(Pending::stored)
                .toList()));
        } catch (final StoreException e) {
            written.forEach(pending -> pending.result = new Result(Outcome.UNKNOWN, e));
            return;
        }
        for (int i = 0; i < written.size(); i++) {
            final Item item = written.get(i).item;
            final boolean taken = i < acks.size() && acks.get(i) == Ack.OK;
            written.get(i).result = taken ? new Result(Outcome.STORED, null) : refused(item, until);
            if (taken) {
                values.increment();
                bytes.add(item.size());
                pages.add(Math.ceilDiv(item.size(), pageBytes));
            }
        }
    }

    /** Why the master does not take what is durable: it has no use for it, or had given its pages up before. */
    private Result refused(final Item item, final long until) {
        if (System.nanoTime() - until <= 0) {
            return new Result(Outcome.NOT_NEEDED, null);
        }
        return new Result(Outcome.FAILED, new StoreException(ErrorCode.FILE_WRITE_FAIL, "the file system had the "
            + item.size() + " bytes only when the " + writeMs.getAsLong() + " ms were over for which the master keeps "
            + "pages for a write; look at the file system, or give it more time (put_start_release_timeout_sec)"));
    }

    private void giveBack(final List<Pending> failed) {
        if (failed.isEmpty()) {
            return;
        }
        failures.add(failed.size());
        try {
            master.apply(new BatchFreeDistributedPage(clientId, failed.stream().map(Pending::release).toList()))
                .forEach(ack -> leaksPrevented.add(ack == Ack.OK ? 1 : 0));
        } catch (final StoreException e) {
            LOG.log(System.Logger.Level.WARNING, "the pages of {0} values could not be given back; the master reaps "
                + "them after a while by itself: {1}", failed.size(), e.getMessage());
        }
    }

    /**
     * A value to load.
     *
     * @param key    its name, with its tenant.
     * @param target room for it; native memory that any thread may touch.
     */
    record Wanted(ObjectKey key, MemorySegment target) {
    }

    /** A value that is being loaded. */
    private record Loading(Wanted wanted, PageMapping mapping, DistributedDiskReader.Read read) {
    }

    /**
     * Loads values from the shared disk, all at the same time, and compares them with their checksums.
     *
     * @param wanted    what to load, of any tenants.
     * @param timeoutMs milliseconds after which what has not begun is given up; 0 for no limit.
     * @return the size of each, in order; -1 for one that is not there, does not fit, cannot be read or is not what was
     *         written: what is in its memory then counts for nothing.
     */
    List<Long> load(final List<Wanted> wanted, final long timeoutMs) {
        final List<Long> sizes = new ArrayList<>(wanted.size());
        for (int from = 0; from < wanted.size(); from += Batch.MAX_ITEMS) {
            sizes.addAll(loadSome(wanted.subList(from, Math.min(wanted.size(), from + Batch.MAX_ITEMS)), timeoutMs));
        }
        return sizes;
    }

    private List<Long> loadSome(final List<Wanted> wanted, final long timeoutMs) {
        final List<PageMapping> mappings =
            master.apply(new BatchGetDistributedPageMapping(wanted.stream().map(Wanted::key).toList()));
        final List<Loading> loading = new ArrayList<>(wanted.size());
        final List<Long> sizes = new ArrayList<>(wanted.size());
        try {
            for (int i = 0; i < wanted.size(); i++) {
                final PageMapping mapping = i < mappings.size() ? mappings.get(i) : PageMapping.NONE;
                loading.add(new Loading(wanted.get(i), mapping, begin(wanted.get(i), mapping, timeoutMs)));
            }
        } finally {
            // Also after an error: whatever was begun fills the caller's memory until it has ended.
            loading.forEach(one -> sizes.add(finish(one)));
        }
        return sizes;
    }

    private DistributedDiskReader.Read begin(final Wanted wanted, final PageMapping mapping, final long timeoutMs) {
        if (mapping.place() == null || mapping.place().objectSize() > wanted.target().byteSize()) {
            return null;
        }
        try {
            return reader.start(mapping.place(), 0, List.of(wanted.target().asSlice(0, mapping.place().objectSize())),
                timeoutMs, false);
        } catch (final StoreException e) {
            LOG.log(System.Logger.Level.DEBUG, "{0} could not be loaded: {1}", wanted.key(), e.getMessage());
            return null;
        }
    }

    private static long finish(final Loading loading) {
        if (loading.read() == null) {
            return -1;
        }
        final long size = loading.mapping().place().objectSize();
        try {
            loading.read().await();
        } catch (final StoreException e) {
            LOG.log(System.Logger.Level.DEBUG, "{0} could not be loaded: {1}", loading.wanted().key(), e.getMessage());
            return -1;
        }
        if (BlockHash.xxh64(loading.wanted().target().asSlice(0, size)) != loading.mapping().checksum()) {
            loading.read().wrong();
            return -1;
        }
        return size;
    }

    StoreStats.SharedWrites stats() {
        return new StoreStats.SharedWrites(values.sum(), pages.sum(), bytes.sum(), failures.sum(),
            leaksPrevented.sum());
    }
}
