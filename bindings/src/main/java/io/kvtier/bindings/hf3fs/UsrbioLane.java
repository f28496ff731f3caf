package io.kvtier.bindings.hf3fs;

import io.kvtier.bindings.posix.Errno;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/**
 * What one transfer needs: shared memory of so many blocks, and a ring for each direction, the second made when it is
 * first needed. A transfer is cut into blocks; each has a slot of the shared memory from when it is prepared until it
 * is reaped, so the caller's memory is only ever touched by the calling thread, whatever the client of 3FS does late.
 *
 * <p><b>Threading:</b> one thread at a time. <b>Lifetime:</b> the caller has a hold on the file; a transfer that throws
 * may leave entries outstanding: then {@link #settle()} must have returned true before the next one. <b>Blocking:</b> a
 * transfer waits for the client.
 */
final class UsrbioLane implements AutoCloseable {
    private static final System.Logger LOG = System.getLogger(UsrbioLane.class.getName());
    /** Until a wait is tried again that failed, which takes no time itself. */
    private static final long PAUSE_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final Usrbio usrbio;
    private final String mountPoint;
    private final UsrbioOptions options;
    /** Whether the channel is closed, and nobody waits any longer for what is not heard of. */
    private final BooleanSupplier closed;
    private final IoVector vector;
    private IoRing readRing;
    private IoRing writeRing;

    /** Of the entry in each slot: where in the caller's memory its block begins, its bytes, and those that are done. */
    private final long[] from;
    private final int[] length;
    private final int[] done;
    /** Slots without an entry, and those whose entry ended short and is to be prepared again. */
    private final int[] free;
    private final int[] again;
    private int freeCount;
    private int againCount;
    /** Of the transfer that runs: what is not prepared yet begins here, and nothing is read from here on. */
    private long next;
    private long end;
    private RuntimeException failure;
    /** The error of the last wait, if it failed: what is outstanding stays so. */
    private UsrbioException deaf;
    /** Whether the client was not told of what is outstanding, which is in one ring at a time. */
    private boolean untold;

    UsrbioLane(final Usrbio usrbio, final String mountPoint, final UsrbioOptions options,
        final BooleanSupplier closed) {
        this.usrbio = usrbio;
        this.mountPoint = mountPoint;
        this.options = options;
        this.closed = closed;
        from = new long[options.depth()];
        length = new int[options.depth()];
        done = new int[options.depth()];
        free = new int[options.depth()];
        again = new int[options.depth()];
        vector = IoVector.create(usrbio, mountPoint, (long) options.depth() * options.blockBytes(), 0, options.numa());
    }

    /** Bytes from the start that were read; what of the memory is behind them is anything. */
    long read(final Hf3fsFile file, final Pieces target, final long offset) {
        if (readRing == null) {
            readRing = IoRing.create(usrbio, mountPoint, ringOptions(true));
        }
        transfer(readRing, true, file, target, offset);
        return end;
    }

    void write(final Hf3fsFile file, final Pieces source, final long offset) {
        if (writeRing == null) {
            writeRing = IoRing.create(usrbio, mountPoint, ringOptions(false));
        }
        transfer(writeRing, false, file, source, offset);
    }

    /** Entries of which nothing was heard. */
    int outstanding() {
        return outstanding(readRing) + outstanding(writeRing);
    }

    /** Tells of what was not told, reaps what has ended, without waiting; true when nothing is outstanding. */
    boolean settle() {
        for (final IoRing ring : new IoRing[] {readRing, writeRing}) {
            if (outstanding(ring) > 0) {
                submitAgain(ring);
                ring.await(0, 0);
            }
        }
        return outstanding() == 0;
    }

    /** Waits for what is outstanding as {@link IoRing#close()} does. Memory of a ring that was given up stays. */
    @Override
    public void close() {
        RuntimeException first = null;
        for (final AutoCloseable one : new AutoCloseable[] {readRing, writeRing, vector}) {
            try {
                if (one != null) {
                    one.close();
                }
            } catch (final RuntimeException e) {
                if (first == null) {
                    first = e;
                } else {
                    first.addSuppressed(e);
                }
            } catch (final Exception e) {
                throw new AssertionError("an owner of this package threw a checked exception", e);
            }
        }
        if (first != null) {
            throw first;
        }
    }

    private void transfer(final IoRing ring, final boolean read, final Hf3fsFile file, final Pieces memory,
        final long offset) {
        begin(memory.byteSize());
        while (true) {
            if (prepareMost(ring, read, file, memory, offset) > 0) {
                submit(ring);
            }
            if (ring.outstanding() == 0) {
                break;
            }
            final int ended = await(ring);
            if (ended == 0) {
                final UsrbioException silent = silent(ring, read, file, memory.byteSize(), offset);
                submitAgain(ring);
                if (read || !options.awaitWrites() || closed.getAsBoolean()) {
                    throw silent;
                }
                LOG.log(System.Logger.Level.WARNING, "still waiting: " + silent.getMessage(), deaf);
                if (deaf != null) {
                    pause();
                }
            }
            for (int i = 0; i < ended; i++) {
                final int slot = (int) ring.userData(i);
                final long result = ring.result(i);
                if (read) {
                    endRead(slot, result, file, memory, offset);
                } else {
                    endWrite(slot, result, file, offset);
                }
            }
        }
        if (failure != null) {
            throw failure;
        }
    }

    /** The client may carry out what it was not told of, so that is waited for all the same. */
    private void submit(final IoRing ring) {
        try {
            untold = true;
            ring.submit();
            untold = false;
        } catch (final UsrbioException e) {
            fail(e);
        }
    }

    /** What the client was not told of it may never look at. */
    private void submitAgain(final IoRing ring) {
        if (!untold) {
            return;
        }
        try {
            ring.submit();
            untold = false;
        } catch (final UsrbioException e) {
            // The transfer has failed by the first of these; this one may be the hundredth.
            LOG.log(System.Logger.Level.DEBUG, "the client at " + mountPoint + " still cannot be told", e);
        }
    }

    /** Entries that have ended; none after a silence, and none from a ring that cannot be waited for. */
    private int await(final IoRing ring) {
        deaf = null;
        try {
            return ring.await(1, TimeUnit.MILLISECONDS.toNanos(options.silenceMs()));
        } catch (final UsrbioException e) {
            deaf = e;
            return 0;
        }
    }

    /** Whole, as a wait in native code is; an interrupt is passed on behind it. */
    private static void pause() {
        final long begun = System.nanoTime();
        boolean interrupted = false;
        for (long left = PAUSE_NANOS; left > 0; left = PAUSE_NANOS - (System.nanoTime() - begun)) {
            LockSupport.parkNanos(left);
            interrupted |= Thread.interrupted();
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private void begin(final long bytes) {
        next = 0;
        end = bytes;
        failure = null;
        deaf = null;
        againCount = 0;
        freeCount = 0;
        for (int slot = free.length - 1; slot >= 0; slot--) {
            free[freeCount++] = slot;
        }
    }

    /**
     * Prepares entries while there are slots, and none after a failure. What goes wrong is kept: entries that are in
     * flight are waited for first.
     */
    private int prepareMost(final IoRing ring, final boolean read, final Hf3fsFile file, final Pieces memory,
        final long offset) {
        int prepared = 0;
        try {
            while (failure == null && (againCount > 0 || freeCount > 0 && next < end)) {
                if (againCount == 0) {
                    beginBlock(free[freeCount - 1], read, memory);
                }
                final int slot = againCount > 0 ? again[againCount - 1] : free[freeCount - 1];
                if (!ring.prepareHeld(vector, slotOffset(slot) + done[slot], length[slot] - done[slot], file,
                    offset + from[slot] + done[slot], slot)) {
                    if (ring.outstanding() == 0) {
                        throw new UsrbioException("hf3fs_prep_io", Errno.EAGAIN, file.path()
                            + ", in a ring without entries");
                    }
                    return prepared;
                }
                prepared++;
                if (againCount > 0) {
                    againCount--;
                } else {
                    freeCount--;
                    next += length[slot];
                }
            }
        } catch (final RuntimeException e) {
            fail(e);
        }
        return prepared;
    }

    private void beginBlock(final int slot, final boolean read, final Pieces memory) {
        from[slot] = next;
        length[slot] = (int) Math.min(options.blockBytes(), end - next);
        done[slot] = 0;
        if (!read) {
            memory.copyTo(next, vector.segment(), slotOffset(slot), length[slot]);
        }
    }

    private void endRead(final int slot, final long result, final Hf3fsFile file, final Pieces target,
        final long offset) {
        free[freeCount++] = slot;
        if (failure != null || !checkResult(slot, result, true, file, offset)) {
            return;
        }
        if (result < length[slot]) {
            // The client reads all there is: a short read is the end of the file.
            end = Math.min(end, from[slot] + result);
        }
        try {
            target.copyFrom(from[slot], vector.segment(), slotOffset(slot), result);
        } catch (final RuntimeException e) {
            fail(e);
        }
    }

    private void endWrite(final int slot, final long result, final Hf3fsFile file, final long offset) {
        if (failure == null && checkResult(slot, result, false, file, offset)) {
            done[slot] += (int) result;
            if (done[slot] < length[slot]) {
                again[againCount++] = slot;
                return;
            }
        }
        free[freeCount++] = slot;
    }

    private boolean checkResult(final int slot, final long result, final boolean read, final Hf3fsFile file,
        final long offset) {
        final int asked = length[slot] - done[slot];
        if (result < 0 || result > asked || result == 0 && !read) {
            final String place = file.path() + ", offset " + (offset + from[slot] + done[slot]) + ", length " + asked
                + (read ? ", read" : ", write");
            fail(result < 0 && result >= Integer.MIN_VALUE + 1
                ? new UsrbioException("entry of a ring", (int) -result, place)
                : new UsrbioException("entry of a ring", Errno.EIO, place + ", result " + result));
            return false;
        }
        return true;
    }

    private void fail(final RuntimeException e) {
        if (failure == null) {
            failure = e;
        } else {
            failure.addSuppressed(e);
        }
    }

    private UsrbioException silent(final IoRing ring, final boolean read, final Hf3fsFile file, final long bytes,
        final long offset) {
        final UsrbioException silent = new UsrbioException("hf3fs_wait_for_ios", Errno.ETIMEDOUT, file.path()
            + ", offset " + offset + ", length " + bytes + (read ? ", read" : ", write: it may still change the file")
            + ", " + ring.outstanding() + " entries " + (deaf == null
                ? "of which nothing was heard for " + options.silenceMs() + " ms" : "that cannot be waited for")
            + (untold ? ", and that the client could not be told of" : ""));
        if (deaf != null) {
            silent.addSuppressed(deaf);
        }
        if (failure != null) {
            silent.addSuppressed(failure);
        }
        return silent;
    }

    private long slotOffset(final int slot) {
        return (long) slot * options.blockBytes();
    }

    private IoRingOptions ringOptions(final boolean read) {
        return new IoRingOptions(options.depth(), read, 0, 0, options.numa(), 0);
    }

    private static int outstanding(final IoRing ring) {
        return ring == null ? 0 : ring.outstanding();
    }
}
