package io.kvtier.transport.gds;

import io.kvtier.bindings.cufile.CuFileDriver;
import io.kvtier.bindings.cufile.CuFileException;
import io.kvtier.bindings.cufile.PoolSlabs;
import io.kvtier.transport.IoThreads;
import io.kvtier.transport.Slice;
import io.kvtier.transport.ThreadEnds;
import io.kvtier.transport.Uninterrupted;
import java.lang.System.Logger;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * A GPU that is served by batches, each of them on one of a few threads; by synchronous calls, once a batch could not
 * be set up.
 *
 * <p><b>Threading:</b> thread-safe. <b>Lifetime:</b> its threads live until {@link #close()}.
 */
final class BatchLane implements Lane {
    private static final Logger LOG = System.getLogger(BatchLane.class.getName());
    /** Most bytes of an entry where the driver names no buffers: what one request moves before it is split anyway. */
    private static final long USUAL_ENTRY_BYTES = 16L << 20;
    /** Longer inside one submission, and it is said so when the engine gives up waiting. */
    private static final long STALL_NS = TimeUnit.SECONDS.toNanos(1);

    private final LaneParts shared;
    private final int depth;
    private final long maxEntryBytes;
    private final Consumer<CuFileException> whenFallingBack;
    private final LaneQueue queue = new LaneQueue();
    private final List<BatchOwner> owners = new ArrayList<>();
    private final List<Thread> threads = new ArrayList<>();
    private final CountDownLatch begun;
    private volatile RuntimeException beginFailure;
    private volatile SyncLane fallback;
    private volatile boolean fallenBack;
    private volatile Throwable broken;

    /**
     * Starts the threads, each of which sets up a batch before this returns.
     *
     * @param shared          driver, registrations, configuration and GPU.
     * @param whenFallingBack is told once when synchronous calls take the place of batches.
     * @throws CuFileException when no batch can be set up.
     */
    BatchLane(final LaneParts shared, final Consumer<CuFileException> whenFallingBack) {
        this.shared = shared;
        this.whenFallingBack = whenFallingBack;
        this.depth = Math.min(shared.config().ioBatchDepth(), shared.driver().properties().maxBatchEntries());
        this.maxEntryBytes = shared.driver().posixPool().stream().mapToLong(PoolSlabs::slabBytes).max()
            .orElse(USUAL_ENTRY_BYTES);
        final int count = shared.config().threadsFor(GdsConfig.Mode.BATCH);
        begun = new CountDownLatch(count);
        try {
            for (int i = 1; i <= count; i++) {
                final BatchOwner owner = new BatchOwner(this);
                final Thread thread = IoThreads.newThread(shared.threadName() + '-' + i, owner);
                thread.start();
                owners.add(owner);
                threads.add(thread);
            }
            awaitBegun();
        } catch (final RuntimeException | Error e) {
            close();
            throw e;
        }
    }

    private void awaitBegun() {
        Uninterrupted.await(begun::await);
        if (beginFailure != null) {
            throw beginFailure;
        }
    }

    /** Each thread says once that it has its first batch, or why not; in the latter case it has ended. */
    void began(final RuntimeException failure) {
        if (failure != null) {
            beginFailure = failure;
        }
        begun.countDown();
    }

    /** Has slices moved by synchronous calls, because no batch can be had for them. */
    void fallBack(final ArrayDeque<Slice> slices, final CuFileException why) {
        final SyncLane instead = fallbackFor(why);
        while (!slices.isEmpty()) {
            instead.submit(slices.poll());
        }
        instead.flush();
    }

    private SyncLane fallbackFor(final CuFileException why) {
        synchronized (queue) {
            if (fallback == null) {
                LOG.log(Logger.Level.WARNING, "synchronous calls take the place of batches: {0}", why.getMessage());
                fallback = new SyncLane(shared);
            }
            if (!why.retryable() && !fallenBack) {
                fallenBack = true;
                whenFallingBack.accept(why);
            }
            return fallback;
        }
    }

    /** From now on every slice fails with this. */
    void breakDown(final Throwable why) {
        broken = why;
    }

    @Override
    public void submit(final Slice slice) {
        if (broken != null) {
            slice.failed(broken);
        } else if (fallenBack) {
            fallback.submit(slice);
        } else {
            queue.add(slice);
        }
    }

    @Override
    public void flush() {
        if (fallenBack) {
            fallback.flush();
        }
        queue.wake();
    }

    @Override
    public void cancel() {
        owners.forEach(BatchOwner::cancel);
        queue.wake();
    }

    @Override
    public void abort() {
        final long now = System.nanoTime();
        for (int i = 0; i < owners.size(); i++) {
            final long since = owners.get(i).insideSinceNanos();
            if (since != 0 && now - since > STALL_NS) {
                LOG.log(Logger.Level.WARNING, "{0} has been inside cuFileBatchIOSubmit for {1} ms and may never come "
                    + "back: another user of cuFile in this process may hold the buffers of compatibility mode "
                    + "(posix_pool_slab_count in cufile.json)", threads.get(i).getName(),
                    TimeUnit.NANOSECONDS.toMillis(now - since));
            }
            owners.get(i).abort();
        }
        final SyncLane instead = fallback;
        if (instead != null) {
            instead.abort();
        }
        queue.wake();
    }

    @Override
    public void close() {
        queue.close();
        ThreadEnds.await(threads);
        final SyncLane instead = fallback;
        if (instead != null) {
            instead.close();
        }
    }

    void inContext(final Runnable body) {
        shared.inContext(body);
    }

    CuFileDriver driver() {
        return shared.driver();
    }

    GdsConfig config() {
        return shared.config();
    }

    Registrations registrations() {
        return shared.registrations();
    }

    LaneQueue queue() {
        return queue;
    }

    int depth() {
        return depth;
    }

    long maxEntryBytes() {
        return maxEntryBytes;
    }
}
