package io.kvtier.store.client.work;

import io.kvtier.alloc.HostMemory;
import io.kvtier.alloc.RegionSlice;
import io.kvtier.alloc.Units;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.StoreConfig;
import io.kvtier.store.StoreException;
import io.kvtier.store.client.call.BatchCalls;
import io.kvtier.store.client.call.Counters;
import io.kvtier.store.client.call.WorkSignal;
import io.kvtier.store.client.shared.DistributedPageBackend;
import io.kvtier.store.client.transfer.ReplicaMemory;
import io.kvtier.store.protocol.Command.Ack;
import io.kvtier.store.protocol.DiskCommand;
import io.kvtier.store.protocol.DiskCommand.OffloadResult;
import io.kvtier.store.protocol.DiskCommand.StoredObject;
import io.kvtier.store.protocol.Master;
import io.kvtier.store.protocol.ObjectCommand;
import io.kvtier.store.protocol.OffloadTask;
import io.kvtier.store.replica.ReplicaType;
import io.kvtier.store.storage.StorageBackend;
import io.kvtier.store.storage.StorageBackend.Item;
import io.kvtier.store.storage.StorageBackend.Outcome;
import io.kvtier.store.storage.StorageBackend.Result;
import io.kvtier.store.storage.StoredValue;
import io.kvtier.transport.RareLog;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Queue;
import java.util.UUID;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.agrona.CloseHelper;

/**
 * The threads that copy values from memory to disk, this client's own or the shared one, when the master asks for it:
 * on memory pressure, not on a timer.
 *
 * <p><b>Threading:</b> {@link #wake()} from any thread; everything else on its own platform thread. <b>Lifetime:</b>
 * {@link #close()} lets the batch under way end. Every task that was fetched is answered, whatever happens.
 */
public final class Offloader implements AutoCloseable {
    /** What is fetched at once. */
    private static final long BATCH_BYTES = 32L << 20;
    /** A thread that has nothing to do takes a moment to end; 0 would be for ever. */
    private static final long LEAST_JOIN_MS = 100;
    /** A part of a batch shares one fdatasync of the data and one of the log; its memory comes free together. */
    private static final long PART_BYTES = 8L << 20;
    /** What has not been used for longer, or nobody knows since when, is as old as anything. */
    private static final long MOST_IDLE_MS = TimeUnit.DAYS.toMillis(3650);
    private static final System.Logger LOG = System.getLogger(Offloader.class.getName());

    private final UUID clientId;
    private final Master master;
    private final StorageBackend backend;
    private final DistributedPageBackend pages;
    private final ReplicaMemory memory;
    private final Counters counters;
    private final long closeTimeoutMs;
    private final Runnable removeDropped;
    private final AtomicBoolean dropped = new AtomicBoolean();
    private final WorkSignal work = new WorkSignal();
    private final Thread thread = Thread.ofPlatform().daemon().name("kvtier-offloader").unstarted(this::run);
    /** While one part is made durable, the other thread writes the next. */
    private final ExecutorService second =
        Executors.newSingleThreadExecutor(Thread.ofPlatform().daemon().name("kvtier-offloader-2").factory());
    private final AtomicBoolean started = new AtomicBoolean();
    private final AtomicBoolean unsettled = new AtomicBoolean();
    private final RareLog notes = new RareLog(LOG);
    private volatile boolean stopping;

    /**
     * Where values go.
     *
     * @param disk  this client's own; null without one.
     * @param pages of the shared disk; null without one.
     */
    public record Places(StorageBackend disk, DistributedPageBackend pages) {
    }

    Offloader(final UUID clientId, final Master master, final StorageBackend backend, final ReplicaMemory memory,
        final Counters counters, final long closeTimeoutMs, final Runnable removeDropped) {
        this(clientId, master, new Places(backend, null), memory, counters, closeTimeoutMs, removeDropped);
    }

    /** Not started yet. */
    public Offloader(final UUID clientId, final Master master, final Places places, final ReplicaMemory memory,
        final Counters counters, final long closeTimeoutMs, final Runnable removeDropped) {
        this.clientId = clientId;
        this.master = master;
        this.backend = places.disk();
        this.pages = places.pages();
        this.memory = memory;
        this.counters = counters;
        this.closeTimeoutMs = closeTimeoutMs;
        this.removeDropped = removeDropped;
    }

    /** Begins, or looks for work at once when it has begun. */
    public void start() {
        if (started.compareAndSet(false, true)) {
            thread.start();
        }
        wake();
    }

    /** The master has offloads for this client. Never blocks. */
    public void wake() {
        work.wake();
    }

    /** Has what the master has forgotten removed from the disk; by the thread, since the caller may hold its locks. */
    public void wakeForDrops() {
        dropped.set(true);
        work.wake();
    }

    /** Whether the master does not know all that is on the disk, since an answer to it was lost. */
    public boolean takeUnsettled() {
        return unsettled.getAndSet(false);
    }

    /** Ends the thread; a second call does nothing. */
    @Override
    public void close() {
        stopping = true;
        work.wake();
        // It does what it was given before; the first waits for that.
        second.shutdown();
        try {
            thread.join(Math.max(LEAST_JOIN_MS, closeTimeoutMs));
        } catch (final InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Whether the thread is still in a batch, which then still uses memory and files. */
    public boolean isRunning() {
        return thread.isAlive();
    }

    private void run() {
        boolean again = false;
        while (!stopping) {
            work.await(again);
            again = false;
            try {
                again = dropped.get() && !removeAllDropped();
                offloadAll();
            } catch (final StoreException e) {
                // The announcement was taken, and nobody repeats it; the master names again what was not answered.
                again = true;
                notes.warn("the master could not be asked what to offload or remove", e::getMessage);
            } catch (final RuntimeException | Error e) {
                // A fault of the store. The thread lives on: without it every put would wait for room in vain.
                LOG.log(System.Logger.Level.ERROR, "an offload ended in an unforeseen way", e);
            }
        }
    }

    /** False when the disk took it badly, which must not keep memory from coming free: it is tried again. */
    private boolean removeAllDropped() {
        // Before: what is announced from here on is looked for once more.
        dropped.set(false);
        boolean done = false;
        try {
            removeDropped.run();
            done = true;
        } catch (final StoreException e) {
            if (e.code() != ErrorCode.FILE_WRITE_FAIL) {
                throw e;
            }
            notes.warn("the removal of values could not be written down", e::getMessage);
        } finally {
            if (!done) {
                dropped.set(true);
            }
        }
        return done;
    }

    private void offloadAll() {
        List<OffloadTask> tasks = fetch();
        while (!tasks.isEmpty()) {
            offload(tasks);
            tasks = fetch();
        }
    }

    private List<OffloadTask> fetch() {
        return stopping ? List.of() : master.apply(new DiskCommand.FetchOffloads(clientId, BATCH_BYTES));
    }

    private void offload(final List<OffloadTask> tasks) {
        final List<OffloadTask> shared =
            tasks.stream().filter(task -> task.target() == ReplicaType.DISTRIBUTED_DISK).toList();
        final List<OffloadTask> own = shared.isEmpty() ? tasks
            : tasks.stream().filter(task -> task.target() != ReplicaType.DISTRIBUTED_DISK).toList();
        if (!own.isEmpty()) {
            storeParts(own);
        }
        if (!shared.isEmpty()) {
            share(shared);
        }
    }

    /** Puts wait for memory that comes free with a part, so parts are small; two at a time keep the disk busy. */
    private void storeParts(final List<OffloadTask> tasks) {
        final Queue<List<OffloadTask>> parts = new ConcurrentLinkedQueue<>(parts(tasks));
        final Future<?> other = parts.size() > 1 ? helped(parts) : null;
        try {
            storeAll(parts);
        } finally {
            if (other != null) {
                await(other);
            }
        }
    }

    private static List<List<OffloadTask>> parts(final List<OffloadTask> tasks) {
        final List<List<OffloadTask>> parts = new ArrayList<>();
        long bytes = 0;
        for (final OffloadTask task : tasks) {
            if (parts.isEmpty() || bytes + task.source().size() > PART_BYTES) {
                parts.add(new ArrayList<>());
                bytes = 0;
            }
            parts.getLast().add(task);
            bytes += task.source().size();
        }
        return parts;
    }

    /** Null when the store is being closed: then this thread does all of it. */
    private Future<?> helped(final Queue<List<OffloadTask>> parts) {
        try {
            return second.submit(() -> storeAll(parts));
        } catch (final RejectedExecutionException e) {
            return null;
        }
    }

    private void storeAll(final Queue<List<OffloadTask>> parts) {
        for (List<OffloadTask> part = parts.poll(); part != null; part = parts.poll()) {
            final List<Result> results = store(part);
            for (int i = 0; i < part.size(); i++) {
                answer(part.get(i), results.get(i));
            }
        }
    }

    /** However often it is interrupted: what is under way uses memory that is the store's to give back. */
    private static void await(final Future<?> other) {
        boolean ended = false;
        while (!ended) {
            try {
                other.get();
                ended = true;
            } catch (final InterruptedException e) {
                LOG.log(System.Logger.Level.DEBUG, "interrupted; it waits all the same");
            } catch (final ExecutionException e) {
                switch (e.getCause()) {
                    case RuntimeException failure -> throw failure;
                    case Error failure -> throw failure;
                    default -> throw new IllegalStateException(e.getCause());
                }
            }
        }
    }

    /**
     * Stores values in the shared disk. The master hears of those that are durable with their pages, and that ends
     * their tasks; of the others it is told here.
     */
    private void share(final List<OffloadTask> tasks) {
        final DistributedPageBackend.Result gone =
            new DistributedPageBackend.Result(DistributedPageBackend.Outcome.NOT_NEEDED, null);
        final List<ReplicaMemory.OwnRange> ranges = new ArrayList<>(tasks.size());
        final List<DistributedPageBackend.Item> items = new ArrayList<>(tasks.size());
        List<DistributedPageBackend.Result> results;
        try {
            for (final OffloadTask task : tasks) {
                final ReplicaMemory.OwnRange range = memory.own(task.source(), task.source().size());
                ranges.add(range);
                if (range != null) {
                    items.add(new DistributedPageBackend.Item(task.key(), task.version(), range.slice(),
                        task.source().size(), task.replicaId()));
                }
            }
            final Iterator<DistributedPageBackend.Result> stored = pages.store(items).iterator();
            results = ranges.stream().map(range -> range == null ? gone : stored.next()).toList();
        } catch (final StoreException e) {
            // The master did not give pages: it names the tasks again.
            throw e;
        } catch (final RuntimeException | Error e) {
            // An error: no memory is left, say.
            results = tasks.stream().map(task ->
                new DistributedPageBackend.Result(DistributedPageBackend.Outcome.FAILED, e)).toList();
        } finally {
            CloseHelper.closeAll(ranges);
        }
        for (int i = 0; i < tasks.size(); i++) {
            tell(tasks.get(i), results.get(i));
        }
    }

    private void tell(final OffloadTask task, final DistributedPageBackend.Result result) {
        final OffloadResult told = switch (result.outcome()) {
            // The first has ended; the other is named again if it has not.
            case STORED, UNKNOWN -> null;
            case NOT_NEEDED -> OffloadResult.OBSOLETE;
            case NO_SPACE -> OffloadResult.VALUE_REFUSED;
            case FAILED -> OffloadResult.DISK_FAILED;
        };
        if (result.cause() != null) {
            LOG.log(System.Logger.Level.WARNING, "offload of {0} ({1} bytes) to the shared disk failed: {2}",
                task.key(), task.source().size(), result.cause().getMessage());
        }
        if (told != null) {
            master.apply(new DiskCommand.OffloadDone(clientId, task, told, 0));
        }
    }

    private List<Result> store(final List<OffloadTask> tasks) {
        final long namedNanos = System.nanoTime();
        final Result gone = new Result(Outcome.REMOVED_MEANWHILE, 0, null);
        final List<ReplicaMemory.OwnRange> ranges = new ArrayList<>(tasks.size());
        final List<Item> items = new ArrayList<>(tasks.size());
        try {
            for (final OffloadTask task : tasks) {
                final ReplicaMemory.OwnRange range = memory.own(task.source(),
                    Units.taken(task.source().size(), StoreConfig.UNIT_BYTES));
                ranges.add(range);
                if (range != null) {
                    items.add(item(task, range.slice(), namedNanos));
                }
            }
            final Iterator<Result> stored = backend.store(items, owner()).iterator();
            // Memory that was taken back meanwhile: the master has forgotten the value as well.
            return ranges.stream().map(range -> range == null ? gone : stored.next()).toList();
        } catch (final RuntimeException | Error e) {
            // An error: pages of its memory are gone, for the file behind them was cut.
            return tasks.stream().map(task -> new Result(Outcome.FAILED, 0, e)).toList();
        } finally {
            CloseHelper.closeAll(ranges);
        }
    }

    /** With the padding to a whole unit, which may hold an earlier value's bytes until here: nobody else reads it. */
    private static Item item(final OffloadTask task, final RegionSlice memory, final long namedNanos) {
        final long size = task.source().size();
        memory.segment().asSlice(size).fill((byte) 0);
        ((HostMemory) memory.region()).raiseFault();
        return new Item(task.key(), task.version(), memory, size,
            namedNanos - TimeUnit.MILLISECONDS.toNanos(Math.min(task.idleMs(), MOST_IDLE_MS)));
    }

    private void answer(final OffloadTask task, final Result result) {
        final OffloadResult told = switch (result.outcome()) {
            case STORED -> OffloadResult.STORED;
            case REMOVED_MEANWHILE -> OffloadResult.OBSOLETE;
            case TOO_LARGE, NO_SPACE -> OffloadResult.VALUE_REFUSED;
            case FAILED -> OffloadResult.DISK_FAILED;
        };
        if (result.cause() != null) {
            LOG.log(System.Logger.Level.WARNING, "offload of {0} ({1} bytes) failed: {2}", task.key(),
                task.source().size(), result.cause().getMessage());
        }
        if (result.outcome() == Outcome.STORED) {
            counters.diskWrittenBytes().add(task.source().size());
        }
        try {
            final Ack ack = master.apply(new DiskCommand.OffloadDone(clientId, task, told, result.checksum()));
            if (result.outcome() == Outcome.STORED && ack == Ack.STALE) {
                discard(task);
            }
        } catch (final StoreException e) {
            // The value stays on the disk; what the master knows of it is settled when it can be asked again.
            unsettled.set(true);
            LOG.log(System.Logger.Level.WARNING, "the master could not be told how the offload of {0} ended: {1}",
                task.key(), e.getMessage());
        }
    }

    /** Removed between the commit and the answer; whoever removed it wrote that down, or was told that it failed. */
    private void discard(final OffloadTask task) {
        try {
            backend.remove(task.key(), task.version());
        } catch (final StoreException e) {
            LOG.log(System.Logger.Level.WARNING, "the removal of " + task.key() + " could not be written", e);
        }
    }

    private StorageBackend.Owner owner() {
        return new StorageBackend.Owner() {
            @Override
            public List<Boolean> mayEvict(final List<StoredValue> victims) {
                return evict(victims, false);
            }

            @Override
            public List<Boolean> mayEvictCopies(final List<StoredValue> victims) {
                return evict(victims, true);
            }

            private List<Boolean> evict(final List<StoredValue> victims, final boolean copies) {
                return BatchCalls.each(master.apply(new DiskCommand.EvictDisk(clientId,
                    victims.stream().map(Offloader::object).toList(), copies)), victims.size());
            }

            @Override
            public boolean isCurrent(final ObjectKey key, final long version) {
                return master.apply(new ObjectCommand.Query(key)).version() == version;
            }
        };
    }

    /** As the master names it. */
    public static StoredObject object(final StoredValue value) {
        return new StoredObject(value.key(), value.version(), value.size(), value.checksum());
    }
}
