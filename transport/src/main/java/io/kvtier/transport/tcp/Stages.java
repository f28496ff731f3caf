package io.kvtier.transport.tcp;

import io.kvtier.alloc.HostMemory;
import io.kvtier.bindings.cuda.DevicePointer;
import io.kvtier.transport.Slice;
import io.kvtier.transport.TransferException;
import io.kvtier.transport.TransferFailure;
import io.kvtier.transport.device.CopyStream;
import io.kvtier.transport.device.CopyThreads;
import io.kvtier.transport.device.Gpus;
import java.lang.System.Logger;
import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Moves slices of GPU memory over connections that reach host memory only: in parts, each of which has a stage of
 * pinned memory from its first step to its last.
 *
 * <pre>
 *            ┌──write──> copied from the device ──> sent, and acknowledged ──┐
 *   free ────┤                                                               ├──> free
 *            └──read───> received ──> copied to the device, and waited for ──┘
 * </pre>
 *
 * <p>A slice has at most two parts under way, so that one is copied while the other is on the network. A slice waits
 * where no stage is free; the oldest gets the next one. Since a stage that is taken is always in the hands of somebody
 * who moves on (a copy thread, or a connection with its time limits), stages come free.
 *
 * <p>A stage is free again when its part has ended: after the stream was waited for, and after its connection has
 * answered, was closed, or passes over what still comes. A stage whose copy could not be waited for is never used
 * again, and then all of the pinned memory is kept for ever: a device may still be at it.
 *
 * <p><b>Threading:</b> thread-safe; slices are ended outside the lock, on any thread. <b>Lifetime:</b> owns copy
 * threads, streams and the pinned memory; closed after the connections. <b>Blocking:</b> only {@link #close()}.
 * A part makes about 200 bytes of objects on its way through CUDA and the copy threads.
 */
final class Stages implements AutoCloseable {
    private static final Logger LOG = System.getLogger(Stages.class.getName());

    private final int count;
    private final int stageBytes;
    private final HostMemory memory;
    private final CopyThreads copies;
    private final ReentrantLock lock = new ReentrantLock();
    private final ArrayDeque<Stage> free = new ArrayDeque<>();
    private final ArrayDeque<StagedSlice> waiting = new ArrayDeque<>();
    private final ArrayDeque<StagedSlice> spare = new ArrayDeque<>();
    private int lost;
    private volatile boolean closed;

    /**
     * Allocates.
     *
     * @param gpus   at least one.
     * @param config how much.
     * @throws io.kvtier.bindings.cuda.CudaException when there is not so much memory to be pinned.
     */
    Stages(final Gpus gpus, final TcpStaging config) {
        count = config.stages();
        stageBytes = config.stageBytes();
        memory = gpus.devices().pinned(gpus.contexts().getFirst(), config.bytes());
        try {
            copies = new CopyThreads("kvtier-tcp-copy", gpus, config.copyThreads(), 0);
        } catch (final RuntimeException | Error e) {
            memory.close();
            throw e;
        }
        for (int i = 0; i < count; i++) {
            free.add(new Stage(this, (long) i * stageBytes));
        }
    }

    HostMemory memory() {
        return memory;
    }

    /** Takes a slice of GPU memory that was checked. */
    void submit(final Slice slice) {
        final long most = Math.min(stageBytes, ((TcpSegment) slice.handle()).maxRequestBytes());
        lock.lock();
        try {
            final StagedSlice kept = spare.poll();
            final StagedSlice staged = (kept != null ? kept : new StagedSlice()).of(slice, most);
            staged.waiting(true);
            waiting.add(staged);
        } finally {
            lock.unlock();
        }
        advance();
    }

    /** Ends those that wait for a stage and that nobody wants any more, as far as nothing of them is under way. */
    void cancelUnwanted() {
        final List<StagedSlice> over = new ArrayList<>();
        lock.lock();
        try {
            for (final Iterator<StagedSlice> all = waiting.iterator(); all.hasNext();) {
                final StagedSlice staged = all.next();
                if (!isWanted(staged)) {
                    all.remove();
                    staged.waiting(false);
                    staged.fail(cancelled(staged));
                    if (staged.isOver()) {
                        over.add(staged);
                    }
                }
            }
        } finally {
            lock.unlock();
        }
        over.forEach(this::end);
    }

    /** Begins nothing any more; what is under way is ended by its connections. */
    void abort() {
        lock.lock();
        try {
            closed = true;
        } finally {
            lock.unlock();
        }
        cancelUnwanted();
    }

    /** The network is done with a part. */
    void moved(final Stage stage, final TransferFailure problem) {
        final StagedSlice staged = stage.slice();
        if (problem == null && !staged.isWrite()) {
            copyNext(stage);
        } else {
            settle(stage, problem == null ? null : new TransferException(problem), false);
        }
        advance();
    }

    /** The copy of a part, on a copy thread. */
    void copy(final Stage stage, final CopyStream stream) {
        final StagedSlice staged = stage.slice();
        Throwable problem = null;
        boolean isLost = false;
        if (isWanted(staged)) {
            try {
                give(stage, stream);
            } catch (final RuntimeException | Error e) {
                problem = e;
            }
            final Throwable wait = problemOfWait(stream);
            problem = problem != null ? problem : wait;
            // It may have told of something else: the copy itself may be over, or not.
            isLost = wait != null && problemOfWait(stream) != null;
        } else {
            problem = new TransferException(cancelled(staged));
        }
        if (isLost) {
            LOG.log(Logger.Level.ERROR, "a stage of {0} bytes is never used again: its copy cannot be waited for",
                stageBytes);
        }
        if (problem == null && staged.isWrite()) {
            sendNext(stage);
        } else {
            settle(stage, problem, isLost);
        }
        advance();
    }

    /** Ends the threads after the last copy, and frees the memory unless a device may still be at it. */
    @Override
    public void close() {
        abort();
        try {
            copies.close();
        } finally {
            free();
        }
    }

    private void free() {
        if (lost == 0) {
            memory.close();
        } else {
            LOG.log(Logger.Level.ERROR, "{0} bytes of pinned memory are kept for ever: a device may still use {1} of "
                + "{2} stages", memory.byteSize(), lost, count);
        }
    }

    /** Gives stages to slices as long as there are both, and ends the slices that were stopped. */
    private void advance() {
        while (true) {
            final StagedSlice staged;
            Stage stage = null;
            final boolean over;
            lock.lock();
            try {
                staged = waiting.peek();
                if (staged == null) {
                    return;
                }
                if (!isWanted(staged)) {
                    staged.fail(cancelled(staged));
                } else if (lost == count) {
                    staged.fail(staged.slice().failure(TransferFailure.Kind.FAILED, "all " + count + " stages of pinned"
                        + " memory were lost to a GPU that failed; open the transport anew"));
                } else {
                    stage = free.poll();
                    if (stage == null) {
                        return;
                    }
                    staged.begin(stage);
                }
                if (!staged.mayBegin()) {
                    waiting.poll();
                    staged.waiting(false);
                }
                over = staged.isOver();
            } finally {
                lock.unlock();
            }
            if (stage != null) {
                begin(stage);
            } else if (over) {
                end(staged);
            }
        }
    }

    private void begin(final Stage stage) {
        if (stage.slice().isWrite()) {
            copyNext(stage);
        } else {
            sendNext(stage);
        }
    }

    private void copyNext(final Stage stage) {
        try {
            copies.execute(stage.slice().region(), stage);
        } catch (final RuntimeException | Error e) {
            // Closed, or the system has no thread left to give.
            settle(stage, e, false);
        }
    }

    private void sendNext(final Stage stage) {
        if (!stage.slice().peer().submit(stage)) {
            settle(stage, new TransferException(stage.slice().slice().failure(TransferFailure.Kind.CANCELED,
                "the transport was closed")), false);
        }
    }

    private void give(final Stage stage, final CopyStream stream) {
        final StagedSlice staged = stage.slice();
        final MemorySegment pinned = memory.segment().asSlice(stage.offset(), stage.length());
        final DevicePointer device =
            staged.region().pointer().slice(staged.slice().localOffset() + stage.from(), stage.length());
        if (staged.isWrite()) {
            stream.toHost(device, pinned);
        } else {
            stream.toDevice(pinned, device);
        }
    }

    private static Throwable problemOfWait(final CopyStream stream) {
        try {
            stream.synchronize();
            return null;
        } catch (final RuntimeException | Error e) {
            return e;
        }
    }

    /** A part has ended: its stage is free, or lost, and its slice goes on or ends. */
    private void settle(final Stage stage, final Throwable problem, final boolean isLost) {
        final StagedSlice staged = stage.slice();
        final boolean over;
        lock.lock();
        try {
            stage.hold(null, 0, 0);
            if (isLost) {
                lost++;
            } else {
                // The one that was used last is still in the caches.
                free.addFirst(stage);
            }
            staged.ended(problem);
            if (staged.mayBegin() && !staged.isWaiting()) {
                staged.waiting(true);
                waiting.addFirst(staged);
            } else if (!staged.mayBegin() && staged.isWaiting()) {
                staged.waiting(false);
                waiting.remove(staged);
            }
            over = staged.isOver();
        } finally {
            lock.unlock();
        }
        if (over) {
            end(staged);
        }
    }

    /** Ends a slice of which nothing is under way and which waits for nothing. */
    private void end(final StagedSlice staged) {
        final Slice slice = staged.slice();
        final Throwable problem = staged.problem();
        lock.lock();
        try {
            staged.clear();
            spare.add(staged);
        } finally {
            lock.unlock();
        }
        if (problem == null) {
            slice.completed();
        } else {
            slice.failed(problem);
        }
    }

    private boolean isWanted(final StagedSlice staged) {
        return !closed && staged.slice().wanted();
    }

    private static TransferFailure cancelled(final StagedSlice staged) {
        return staged.slice().failure(TransferFailure.Kind.CANCELED, "cancelled on its way; how much of it was moved is"
            + " unknown");
    }
}
