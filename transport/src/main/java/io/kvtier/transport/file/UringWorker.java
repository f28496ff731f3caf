package io.kvtier.transport.file;

import io.kvtier.bindings.uring.UringOptions;
import io.kvtier.bindings.uring.UringRing;
import io.kvtier.transport.IoThreads;
import io.kvtier.transport.Slice;
import io.kvtier.transport.Uninterrupted;
import java.lang.System.Logger;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import java.util.function.Function;

/**
 * One ring and the thread that it belongs to. The thread takes slices and commands in, prepares operations, and waits
 * in the kernel for an end or for somebody to wake it.
 *
 * <p>No hand-over is lost. Who hands something over publishes it first and reads {@link #sleeping} then; the thread
 * sets that first and looks for something then. All of these are volatile, so one of the two sees the other. Waking is
 * a system call, and is made only for a thread that sleeps.
 *
 * <p>A ring that fails for good (see {@link UringRing}) is closed, and another one opened. What waited fails, to be
 * tried on another transport. What was in the kernel fails too, but only once closing has proved that the kernel has
 * let go of it; else it is never completed, and the ring is leaked and counted. Without a ring everything fails at
 * once, and every second at most another one is tried.
 *
 * <p><b>Threading:</b> the methods are for any thread, but for those that say otherwise. <b>Lifetime:</b> a daemon
 * thread, from {@link #start()} to {@link #close()}.
 */
final class UringWorker {
    private static final Logger LOG = System.getLogger(UringWorker.class.getName());
    private static final long NANOS_BETWEEN_ATTEMPTS = TimeUnit.SECONDS.toNanos(1);

    private final int index;
    private final UringOptions options;
    private final Function<UringOptions, UringRing> rings;
    private final Thread thread;
    private final CompletableFuture<Void> opened = new CompletableFuture<>();
    private final SliceInbox inbox = new SliceInbox();
    private final Queue<Runnable> commands = new ConcurrentLinkedQueue<>();
    /** Slices that were handed over and have not ended. */
    private final AtomicInteger load = new AtomicInteger();
    private volatile boolean sleeping;
    private volatile boolean sweep;
    private volatile boolean aborting;
    private volatile boolean stopping;
    private volatile boolean ended;
    private volatile UringRing ring;

    // The thread's own.
    private final SliceQueue queued = new SliceQueue();
    private final RingSlices slices;
    private Throwable failure;
    private long lastAttempt;

    /**
     * A worker that is not started.
     *
     * @param index   its number, from 0.
     * @param options of the ring.
     * @param rings   opens the ring, on the thread.
     */
    UringWorker(final int index, final UringOptions options, final Function<UringOptions, UringRing> rings) {
        this.index = index;
        this.options = options;
        this.rings = rings;
        slices = new RingSlices(index, options.depth(), load);
        thread = IoThreads.newThread("kvtier-uring-" + (index + 1), this::run);
    }

    /** Starts the thread; the future completes when the ring is open, or with why it could not be opened. */
    CompletableFuture<Void> start() {
        try {
            thread.start();
        } catch (final OutOfMemoryError e) {
            ended = true;
            slices.close();
            opened.completeExceptionally(e);
        }
        return opened;
    }

    int index() {
        return index;
    }

    /** Slices that were handed over and have not ended. */
    int load() {
        return load.get();
    }

    boolean isUsable() {
        return ring != null;
    }

    /** Takes a slice; {@link #wakeIfNeeded} lets the thread know. */
    void add(final Slice slice) {
        load.incrementAndGet();
        inbox.add(slice);
    }

    void wakeIfNeeded() {
        if (sleeping && !inbox.isEmpty()) {
            wake();
        }
    }

    /** Looks for slices that are not wanted any more. */
    void cancelUnwanted() {
        sweep = true;
        wakeIfSleeping();
    }

    /** Ends everything early that can be. */
    void abort() {
        aborting = true;
        cancelUnwanted();
    }

    /** Pins memory; fails when the ring cannot. */
    CompletableFuture<Void> attach(final MemorySegment memory) {
        return command(done -> {
            if (ring == null) {
                throw new IllegalStateException("the ring failed and could not be opened again: " + failure);
            }
            slices.buffers().add(ring, memory);
            done.complete(null);
        });
    }

    /** Takes memory off once the operations on it have ended. */
    CompletableFuture<Void> detach(final MemorySegment memory) {
        return command(done -> slices.buffers().remove(memory, done));
    }

    /** Takes a segment's files off the ring; no slice of it is under way. */
    CompletableFuture<Void> detach(final UringSegment segment) {
        return command(done -> {
            slices.detach(segment);
            done.complete(null);
        });
    }

    /** Asks the thread to end once nothing is left; {@link #thread()} tells when it has. */
    void close() {
        stopping = true;
        wakeIfSleeping();
    }

    Thread thread() {
        return thread;
    }

    /**
     * Has something done by all workers; does not wait.
     *
     * @param workers all.
     * @param what    a command.
     * @return when each has done it.
     */
    static List<CompletableFuture<Void>> tellAll(final List<UringWorker> workers,
        final Function<UringWorker, CompletableFuture<Void>> what) {
        final List<CompletableFuture<Void>> all = new ArrayList<>();
        workers.forEach(worker -> all.add(what.apply(worker)));
        return all;
    }

    /**
     * Waits for what workers were told to do, unless the caller is a thread of a transport, which would wait for
     * itself. An interrupt is kept for the caller, who must not hold a lock that such a thread may ask for.
     *
     * @param told      what {@link #tellAll} gave.
     * @param timeoutMs milliseconds to wait for each.
     * @return the first failure; null for none.
     */
    static Throwable awaitAll(final List<CompletableFuture<Void>> told, final long timeoutMs) {
        Throwable first = null;
        if (!IoThreads.isIoThread()) {
            for (final CompletableFuture<Void> one : told) {
                final Throwable problem = await(one, timeoutMs);
                first = first == null ? problem : first;
            }
        }
        return first;
    }

    /** Waits; gives why it failed, or null. */
    static Throwable await(final CompletableFuture<Void> future, final long timeoutMs) {
        final long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(timeoutMs);
        return Uninterrupted.get(() -> {
            try {
                future.get(deadline - System.nanoTime(), TimeUnit.NANOSECONDS);
                return null;
            } catch (final ExecutionException e) {
                return e.getCause();
            } catch (final TimeoutException e) {
                return new IllegalStateException("a thread of io_uring did not answer within " + timeoutMs
                    + " ms; a file or device does not answer", e);
            }
        });
    }

    private CompletableFuture<Void> command(final Consumer<CompletableFuture<Void>> what) {
        final CompletableFuture<Void> done = new CompletableFuture<>();
        commands.add(() -> {
            try {
                what.accept(done);
            } catch (final RuntimeException | Error e) {
                done.completeExceptionally(e);
            }
        });
        if (ended) {
            runCommandsOfTheEnded();
        } else {
            wakeIfSleeping();
        }
        return done;
    }

    /** The thread may have ended between a command and its wake-up; what it knew is gone, and commands find nothing. */
    private void runCommandsOfTheEnded() {
        synchronized (commands) {
            runCommands();
        }
    }

    private void wakeIfSleeping() {
        if (sleeping) {
            wake();
        }
    }

    private void wake() {
        final UringRing present = ring;
        if (present == null) {
            LockSupport.unpark(thread);
        } else {
            present.wakeup();
        }
    }

    private void run() {
        try {
            openRing();
        } catch (final RuntimeException | Error e) {
            ended = true;
            slices.close();
            opened.completeExceptionally(e);
            return;
        }
        opened.complete(null);
        while (!stopping || !isIdle()) {
            try {
                turn();
            } catch (final RuntimeException | Error e) {
                sleeping = false;
                replaceRing(e);
            }
        }
        end();
    }

    private boolean isIdle() {
        return queued.isEmpty() && slices.isEmpty() && isNothingNew();
    }

    private boolean isNothingNew() {
        return inbox.isEmpty() && commands.isEmpty() && !sweep;
    }

    private void turn() {
        takeIn();
        final boolean more = !queued.isEmpty() && slices.hasRoom();
        sleeping = true;
        final boolean sleep = isNothingNew() && !more && !(stopping && isIdle());
        if (ring == null) {
            if (sleep) {
                LockSupport.park(this);
            }
            sleeping = false;
            return;
        }
        ring.submitAndWait(sleep ? 1 : 0, Long.MAX_VALUE);
        sleeping = false;
        ring.reap(slices);
        slices.buffers().removeUnused();
    }

    private void takeIn() {
        runCommands();
        inbox.drainTo(queued);
        if (ring == null && !queued.isEmpty()) {
            openAgain();
        }
        if (sweep) {
            sweep = false;
            if (aborting) {
                slices.abort();
            }
            dropUnwanted();
            if (ring != null) {
                slices.cancelUnwanted();
            }
        }
        if (ring != null) {
            slices.resumeWaiting();
            while (slices.hasRoom() && !queued.isEmpty()) {
                slices.start(queued.poll());
            }
        } else {
            failQueued();
        }
    }

    private void runCommands() {
        Runnable next = commands.poll();
        while (next != null) {
            next.run();
            next = commands.poll();
        }
    }

    /** Ends what is queued and not wanted; the rest keeps its order. */
    private void dropUnwanted() {
        final SliceQueue kept = new SliceQueue();
        Slice next = queued.poll();
        while (next != null) {
            if (aborting || !next.wanted()) {
                load.decrementAndGet();
                next.canceled();
            } else {
                kept.add(next);
            }
            next = queued.poll();
        }
        next = kept.poll();
        while (next != null) {
            queued.add(next);
            next = kept.poll();
        }
    }

    private void failQueued() {
        Slice next = queued.poll();
        while (next != null) {
            load.decrementAndGet();
            RingSlices.fail(next, failure);
            next = queued.poll();
        }
    }

    private void openRing() {
        lastAttempt = System.nanoTime();
        final UringRing fresh = rings.apply(options);
        ring = fresh;
        slices.use(fresh);
    }

    private void openAgain() {
        if (System.nanoTime() - lastAttempt < NANOS_BETWEEN_ATTEMPTS) {
            return;
        }
        try {
            openRing();
        } catch (final RuntimeException | Error e) {
            failure = e;
        }
    }

    private void replaceRing(final Throwable cause) {
        LOG.log(Logger.Level.WARNING, "a ring failed and is replaced; its slices are tried on another transport",
            cause);
        failure = cause;
        final UringRing broken = ring;
        ring = null;
        inbox.drainTo(queued);
        failQueued();
        slices.failWaiting(cause);
        if (broken != null) {
            giveUp(broken, cause);
        }
        try {
            openRing();
        } catch (final RuntimeException | Error e) {
            failure = e;
            LOG.log(Logger.Level.WARNING, "no ring could be opened instead; io_uring is not used until one can", e);
        }
    }

    private void giveUp(final UringRing broken, final Throwable cause) {
        try {
            // What has ended well; its slices go no further, as the ring takes nothing more.
            broken.reap(slices);
        } catch (final RuntimeException e) {
            cause.addSuppressed(e);
        }
        try {
            broken.close();
            slices.failAll(cause);
        } catch (final RuntimeException e) {
            LOG.log(Logger.Level.ERROR, slices.abandon() + " slices are never completed, for the kernel may still "
                + "touch their memory", e);
        }
        slices.forgetRing();
    }

    private void end() {
        final UringRing last = ring;
        ring = null;
        boolean drained = true;
        if (last != null) {
            try {
                last.close();
            } catch (final RuntimeException e) {
                drained = false;
                LOG.log(Logger.Level.ERROR, "a ring could not be closed", e);
            }
        }
        slices.forgetRing();
        if (drained) {
            slices.close();
        }
        ended = true;
        runCommandsOfTheEnded();
    }
}
