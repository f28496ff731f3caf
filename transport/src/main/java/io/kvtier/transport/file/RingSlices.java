package io.kvtier.transport.file;

import io.kvtier.bindings.posix.Errno;
import io.kvtier.bindings.posix.ErrnoException;
import io.kvtier.bindings.uring.CompletionHandler;
import io.kvtier.bindings.uring.RegisteredBuffer;
import io.kvtier.bindings.uring.UringFile;
import io.kvtier.bindings.uring.UringRing;
import io.kvtier.transport.Direction;
import io.kvtier.transport.Slice;
import io.kvtier.transport.TransferFailure;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The slices that one ring is moving: a slot for each, with at most one operation of it in the kernel, which carries
 * the slot's number. Operations of one slice follow one another as {@link AlignedIo} plans them, because a part of a
 * block that goes through the page cache must not overtake the blocks beside it; slices overlap.
 *
 * <p>Invariants between two calls: a slot is free, or its slice has one operation prepared or in the kernel, or waits
 * for staging memory. A slice is completed after its slot was freed, so that what the completion starts finds room.
 *
 * <p><b>Threading:</b> the thread of the ring. <b>Allocation:</b> none for an aligned slice in pinned memory, else one
 * memory segment an operation; failures make more.
 */
final class RingSlices implements CompletionHandler {
    /** Staging memory of one ring. */
    static final int BOUNCES = 8;
    static final long BOUNCE_BYTES = 256 << 10;
    /** How often an operation is tried again that the kernel put off or a signal interrupted. */
    static final int MAX_RETRIES = 16;

    /**
     * Errors of the file rather than of the ring, which the next transport would meet as well. Any other is worth a try
     * there: a kernel may refuse to a ring what it allows to a system call.
     */
    private static final Set<Integer> FINAL_ERRNOS = Set.of(Errno.ENOSPC, Errno.EDQUOT, Errno.EROFS, Errno.EFBIG);

    private final int worker;
    private final AtomicInteger load;
    private final RingBuffers buffers = new RingBuffers();
    private final List<UringSegment> known = new ArrayList<>();
    private final Slice[] slices;
    private final AlignedIo[] ios;
    private final boolean[] inKernel;
    private final boolean[] cancelAsked;
    private final int[] retries;
    private final int[] free;
    private int freeCount;
    /** Slots that wait for staging memory, in order; a circle. */
    private final int[] waiting;
    private int waitingHead;
    private int waitingCount;
    private BouncePool bounces = new BouncePool(BOUNCES, BOUNCE_BYTES);
    private UringRing ring;
    private boolean aborting;

    /**
     * No slices.
     *
     * @param worker index of the ring.
     * @param depth  most slices.
     * @param load   counted down for each slice that ends.
     */
    RingSlices(final int worker, final int depth, final AtomicInteger load) {
        this.worker = worker;
        this.load = load;
        slices = new Slice[depth];
        ios = new AlignedIo[depth];
        inKernel = new boolean[depth];
        cancelAsked = new boolean[depth];
        retries = new int[depth];
        free = new int[depth];
        waiting = new int[depth];
        for (int slot = depth - 1; slot >= 0; slot--) {
            ios[slot] = new AlignedIo(BOUNCE_BYTES);
            free[freeCount++] = slot;
        }
    }

    RingBuffers buffers() {
        return buffers;
    }

    /** Works with a ring from now on, new or the first one. */
    void use(final UringRing next) {
        ring = next;
        buffers.registerAgain(next);
    }

    boolean hasRoom() {
        return freeCount > 0;
    }

    boolean isEmpty() {
        return freeCount == slices.length;
    }

    /** Prepares the first operation of a slice; there must be room. */
    void start(final Slice slice) {
        if (aborting || !slice.wanted()) {
            load.decrementAndGet();
            slice.canceled();
            return;
        }
        final int slot = free[--freeCount];
        slices[slot] = slice;
        retries[slot] = 0;
        cancelAsked[slot] = false;
        if (slice.region() != null) {
            ios[slot].begin(slice, ((UringSegment) slice.handle()).handle());
        }
        goOn(slot);
    }

    /** Gives staging memory that has become free to those that wait for it. */
    void resumeWaiting() {
        while (waitingCount > 0) {
            final MemorySegment piece = bounces.poll();
            if (piece == null) {
                return;
            }
            final int slot = waiting[waitingHead];
            waitingHead = next(waitingHead);
            waitingCount--;
            ios[slot].lend(piece);
            goOn(slot);
        }
    }

    @Override
    public void completed(final long userData, final int result) {
        final int slot = (int) userData;
        final Slice slice = slices[slot];
        inKernel[slot] = false;
        if (result >= 0) {
            took(slot, result);
        } else if (isUnwanted(slice) && (result == -Errno.ECANCELED || isTransient(result))) {
            finish(slot, canceledUnderWay(slice));
        } else if (isTransient(result) && retries[slot]++ < MAX_RETRIES) {
            goOn(slot);
        } else {
            finish(slot, failure(slice, failedOperation(slot, -result)));
        }
    }

    /** Ends what nobody wants any more, or asks the kernel to; everything once {@link #abort} was called. */
    void cancelUnwanted() {
        for (int slot = 0; slot < slices.length; slot++) {
            if (slices[slot] != null && isUnwanted(slices[slot]) && inKernel[slot] && !cancelAsked[slot]) {
                cancelAsked[slot] = true;
                ring.cancel(slot);
            }
        }
        for (int left = waitingCount; left > 0; left--) {
            final int slot = waiting[waitingHead];
            waitingHead = next(waitingHead);
            waitingCount--;
            if (isUnwanted(slices[slot])) {
                finish(slot, canceledUnderWay(slices[slot]));
            } else {
                await(slot);
            }
        }
    }

    void abort() {
        aborting = true;
    }

    /** Fails everything; nothing of it may be in the kernel. */
    void failAll(final Throwable cause) {
        waitingCount = 0;
        for (int slot = 0; slot < slices.length; slot++) {
            if (slices[slot] != null) {
                inKernel[slot] = false;
                finish(slot, failure(slices[slot], cause));
            }
        }
    }

    /** Fails what is not in the kernel. */
    void failWaiting(final Throwable cause) {
        for (; waitingCount > 0; waitingCount--) {
            final int slot = waiting[waitingHead];
            waitingHead = next(waitingHead);
            finish(slot, failure(slices[slot], cause));
        }
    }

    /**
     * Gives up on slices whose operations do not end, and on the staging memory that they may still be written to: they
     * are never completed.
     *
     * @return how many.
     */
    int abandon() {
        int abandoned = 0;
        for (int slot = 0; slot < slices.length; slot++) {
            if (slices[slot] != null) {
                slices[slot] = null;
                inKernel[slot] = false;
                ios[slot] = new AlignedIo(BOUNCE_BYTES);
                free[freeCount++] = slot;
                load.decrementAndGet();
                abandoned++;
            }
        }
        bounces = new BouncePool(BOUNCES, BOUNCE_BYTES);
        return abandoned;
    }

    /** The ring is closed, and with it what it knew of files and memory. */
    void forgetRing() {
        known.forEach(segment -> segment.forget(worker));
        known.clear();
        buffers.forget();
        ring = null;
    }

    /** Takes a segment's files off the ring. */
    void detach(final UringSegment segment) {
        if (known.remove(segment)) {
            segment.detach(worker);
        }
    }

    /** Completes a slice that was never started here. */
    static void fail(final Slice slice, final Throwable cause) {
        slice.failed(failure(slice, cause));
    }

    void close() {
        bounces.close();
    }

    private boolean isUnwanted(final Slice slice) {
        return aborting || !slice.wanted();
    }

    private static boolean isTransient(final int result) {
        return result == -Errno.EINTR || result == -Errno.EAGAIN;
    }

    private void took(final int slot, final int count) {
        final Slice slice = slices[slot];
        if (slice.region() == null) {
            finish(slot, null);
            return;
        }
        final AlignedIo io = ios[slot];
        try {
            io.moved(count);
        } catch (final RuntimeException | Error e) {
            finish(slot, failure(slice, e));
            return;
        }
        if (isUnwanted(slice) && io.plan()) {
            finish(slot, canceledUnderWay(slice));
        } else {
            goOn(slot);
        }
    }

    /** Prepares the next operation of a slice, or ends it. */
    private void goOn(final int slot) {
        final Slice slice = slices[slot];
        try {
            if (slice.region() == null) {
                prepareSync(slot);
                return;
            }
            final AlignedIo io = ios[slot];
            if (!io.plan()) {
                finish(slot, null);
            } else if (io.needsBounce() && !lend(io)) {
                await(slot);
            } else {
                io.stage();
                prepare(slot);
            }
        } catch (final RuntimeException | Error e) {
            finish(slot, failure(slice, e));
        }
    }

    private boolean lend(final AlignedIo io) {
        io.lend(waitingCount == 0 ? bounces.poll() : null);
        return io.bounce() != null;
    }

    private void await(final int slot) {
        waiting[(waitingHead + waitingCount++) % waiting.length] = slot;
    }

    private int next(final int position) {
        return position + 1 == waiting.length ? 0 : position + 1;
    }

    private void prepare(final int slot) {
        final AlignedIo io = ios[slot];
        final UringFile file = named((UringSegment) io.slice().handle(), io.isDirect());
        final RegisteredBuffer pinned = io.isBounced() ? null : buffers.find(io.address(), io.length());
        final boolean reads = io.slice().direction() == Direction.READ;
        final boolean taken;
        if (pinned == null) {
            taken = reads ? ring.read(file, io.memory(), io.fileOffset(), slot)
                : ring.write(file, io.memory(), io.fileOffset(), slot);
        } else {
            final long start = io.address() - pinned.memory().address();
            taken = reads ? ring.readFixed(file, pinned, start, (int) io.length(), io.fileOffset(), slot)
                : ring.writeFixed(file, pinned, start, (int) io.length(), io.fileOffset(), slot);
        }
        checkTaken(slot, taken);
    }

    /** As {@link FileHandle#forSync}. */
    private void prepareSync(final int slot) {
        final UringSegment segment = (UringSegment) slices[slot].handle();
        checkTaken(slot, ring.sync(named(segment, segment.handle().direct() != null), slot));
    }

    private UringFile named(final UringSegment segment, final boolean direct) {
        final boolean first = !segment.isKnown(worker);
        final UringFile file = segment.named(worker, ring, direct);
        if (first) {
            known.add(segment);
        }
        return file;
    }

    private void checkTaken(final int slot, final boolean taken) {
        if (!taken) {
            throw new IllegalStateException("the ring takes " + slices.length + " operations and refused one of "
                + ring.inFlight());
        }
        inKernel[slot] = true;
    }

    private void finish(final int slot, final TransferFailure problem) {
        final Slice slice = slices[slot];
        final AlignedIo io = ios[slot];
        final long done = io.done();
        if (slice.region() != null) {
            if (io.bounce() != null) {
                bounces.put(io.bounce());
            }
            io.clear();
        }
        slices[slot] = null;
        free[freeCount++] = slot;
        load.decrementAndGet();
        if (problem != null) {
            slice.failed(problem);
        } else if (slice.region() != null && done < slice.length()) {
            slice.endedShort(done);
        } else {
            slice.completed();
        }
    }

    private TransferFailure canceledUnderWay(final Slice slice) {
        return slice.failure(TransferFailure.Kind.CANCELED, aborting && slice.wanted()
            ? "given up because the transfer engine is closing" : "cancelled while it was being moved");
    }

    private ErrnoException failedOperation(final int slot, final int errno) {
        final Slice slice = slices[slot];
        final FileHandle handle = ((UringSegment) slice.handle()).handle();
        if (slice.region() == null) {
            return new ErrnoException("fdatasync", errno, handle.buffered().path() + ", by io_uring");
        }
        final AlignedIo io = ios[slot];
        return new ErrnoException(slice.direction() == Direction.READ ? "pread" : "pwrite", errno,
            io.file().path() + ", offset " + io.fileOffset() + ", length " + io.length() + ", by io_uring");
    }

    private static TransferFailure failure(final Slice slice, final Throwable cause) {
        final int errno = cause instanceof ErrnoException e ? e.errno() : 0;
        return new TransferFailure(TransferFailure.Kind.FAILED, errno == 0 ? "" : TransferFailure.ERRNO, errno,
            !FINAL_ERRNOS.contains(errno), slice.segment().name(), slice.offset(), slice.length(),
            String.valueOf(cause.getMessage()));
    }
}
