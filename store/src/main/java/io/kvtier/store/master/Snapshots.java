package io.kvtier.store.master;

import io.kvtier.store.snapshot.SnapshotCounts;
import io.kvtier.store.snapshot.SnapshotHead;
import io.kvtier.store.snapshot.SnapshotService;
import io.kvtier.store.snapshot.SnapshotSource.Slice;
import io.kvtier.store.snapshot.files.Manifest;
import io.kvtier.store.snapshot.files.SnapshotArchive;
import io.kvtier.store.snapshot.files.SupersededException;
import io.kvtier.transport.ThreadEnds;
import java.io.IOException;
import java.lang.System.Logger;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;

/**
 * Takes snapshots of a master that goes on meanwhile: now and then, when it is asked to, and at the end.
 *
 * <p>Objects are fetched from the state a slice at a time, each between two commands; this thread encodes and writes
 * them before it fetches the next ones. So a slice is all that the master's clients wait for, and a store that is slow
 * slows the snapshot and nothing else.
 *
 * <p><b>Threading:</b> thread-safe; a daemon thread {@code kvtier-snapshots}. One snapshot is taken at a time.
 * <b>Blocking:</b> {@link #take} until a snapshot is durable. <b>Lifetime:</b> {@link #close()} takes a last one.
 */
public final class Snapshots implements SnapshotService, AutoCloseable {
    private static final Logger LOG = System.getLogger(Snapshots.class.getName());
    /** About half a millisecond of the state's time, however many objects there are. */
    private static final int SLICE_OBJECTS = 1024;

    private final Conductor conductor;
    private final SnapshotArchive archive;
    private final long term;
    private final long intervalMs;
    private final ReentrantLock taking = new ReentrantLock();
    private final CountDownLatch stop = new CountDownLatch(1);
    private final Thread thread = Thread.ofPlatform().daemon().name("kvtier-snapshots").unstarted(this::run);
    private volatile SnapshotCounts counts = SnapshotCounts.NONE;

    Snapshots(final Conductor conductor, final SnapshotArchive archive, final long term, final long intervalMs) {
        this.conductor = conductor;
        this.archive = archive;
        this.term = term;
        this.intervalMs = intervalMs;
    }

    void start() {
        thread.start();
    }

    private void run() {
        try {
            while (!stop.await(intervalMs, TimeUnit.MILLISECONDS)) {
                if (!takeAndTell()) {
                    return;
                }
            }
        } catch (final InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** False when no other one is to be taken. */
    private boolean takeAndTell() {
        try {
            take();
            return true;
        } catch (final SupersededException e) {
            LOG.log(Logger.Level.ERROR, "no snapshots are taken any more: {0}", e.getMessage());
            return false;
        } catch (final IOException | RuntimeException | Error e) {
            LOG.log(e instanceof Error ? Logger.Level.ERROR : Logger.Level.WARNING, "a snapshot could not be taken; "
                + "the one before still counts, and it is tried again after snapshot_interval_seconds", e);
            return true;
        }
    }

    @Override
    public SnapshotCounts take() throws IOException {
        taking.lock();
        try {
            takeOne();
            final SnapshotCounts done = counts;
            LOG.log(Logger.Level.INFO, "snapshot {0} in {1}: {2} objects, {3} bytes, {4} ms; {5} us of the state''s "
                + "time at once at most", done.lastId(), archive, String.valueOf(done.lastObjects()),
                String.valueOf(done.lastBytes()), String.valueOf(done.lastMs()),
                String.valueOf(TimeUnit.NANOSECONDS.toMicros(done.longestNanos())));
            return done;
        } catch (final IOException | RuntimeException | Error e) {
            counts = counts.failedOnce();
            throw e;
        } finally {
            taking.unlock();
        }
    }

    private void takeOne() throws IOException {
        final long began = System.nanoTime();
        try (SnapshotArchive.Writer writer = archive.begin(term, System.currentTimeMillis())) {
            long longest = 0;
            try {
                final StateCall<SnapshotHead> head = call(running -> running.snapshots().begin());
                longest = head.nanos();
                writer.head(head.await());
                boolean last = false;
                while (!last) {
                    final StateCall<Slice> slice = call(running -> running.snapshots().next(SLICE_OBJECTS));
                    longest = Math.max(longest, slice.nanos());
                    writer.objects(slice.await().objects());
                    last = slice.await().last();
                }
            } finally {
                end();
            }
            final Manifest manifest = writer.commit(TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - began));
            counts = new SnapshotCounts(counts.taken() + 1, counts.failed(), manifest.id().toString(),
                manifest.takenAtMs(), TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - began),
                manifest.payloadBytes(), manifest.objects(), longest);
        }
    }

    private void end() {
        call(running -> {
            running.snapshots().end();
            return null;
        });
    }

    /** Does something in the state, and waits for it. */
    private <T> StateCall<T> call(final Function<Running, T> work) {
        final StateCall<T> call = new StateCall<>(work);
        while (!conductor.submit(call)) {
            // The queue is full of commands, which are on their way.
            Thread.yield();
        }
        call.await();
        return call;
    }

    @Override
    public SnapshotCounts counts() {
        return counts;
    }

    @Override
    public String place() {
        return archive.toString();
    }

    /** Ends the thread and takes a last snapshot: of all that has happened, when nobody gives commands any more. */
    @Override
    public void close() {
        stop.countDown();
        ThreadEnds.await(thread);
        takeAndTell();
    }
}
