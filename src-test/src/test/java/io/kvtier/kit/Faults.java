package io.kvtier.kit;

import io.kvtier.bindings.posix.Errno;
import io.kvtier.bindings.posix.ErrnoException;
import io.kvtier.transport.Uninterrupted;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;

/**
 * What shall go wrong in the files of a {@link FaultyFiles}, and how often each call was made. May be changed while
 * files are in use; counts of calls to come start with the next call.
 */
public final class Faults {
    /** Calls of a file. */
    public enum Call {
        OPEN, READ, WRITE, SYNC, PREALLOCATE, SIZE, CLOSE, PUNCH
    }

    private static final String[] SYSTEM_CALLS =
        {"open", "pread", "pwrite", "fdatasync", "fallocate", "statx", "close", "fallocate"};

    private final Map<Call, Long> counts = new EnumMap<>(Call.class);
    private final List<Failure> failures = new ArrayList<>();
    private final Map<Call, Gate> gates = new EnumMap<>(Call.class);
    private final Map<Long, Integer> flips = new TreeMap<>();
    private final Map<Long, Long> tears = new TreeMap<>();
    private long mostBytes = Long.MAX_VALUE;
    private long bytesLeft = Long.MAX_VALUE;
    private SplittableRandom random;
    private boolean directRefused;

    private record Failure(Call call, long first, long last, int errno) {
    }

    /** Holds one call until it is released; closing it releases it. */
    public static final class Gate implements AutoCloseable {
        private final CountDownLatch entered = new CountDownLatch(1);
        private final CountDownLatch released = new CountDownLatch(1);

        /**
         * Waits until the call is being held.
         *
         * @throws InterruptedException when interrupted.
         */
        public void awaitEntered() throws InterruptedException {
            entered.await();
        }

        public void release() {
            released.countDown();
        }

        @Override
        public void close() {
            release();
        }

        // As a system call on a disk: an interrupt does not end it.
        private void hold() {
            entered.countDown();
            Uninterrupted.await(released::await);
        }
    }

    /**
     * Lets one call fail.
     *
     * @param call  which.
     * @param n     the n-th from now, from 1.
     * @param errno with what.
     * @return this.
     */
    public synchronized Faults failNth(final Call call, final long n, final int errno) {
        failures.add(new Failure(call, count(call) + n, count(call) + n, errno));
        return this;
    }

    /**
     * Lets a call fail from now on.
     *
     * @param call  which.
     * @param errno with what.
     * @return this.
     */
    public synchronized Faults failAlways(final Call call, final int errno) {
        failures.add(new Failure(call, count(call) + 1, Long.MAX_VALUE, errno));
        return this;
    }

    /** Lets no call fail any more that was told to, once or always. */
    public synchronized void heal() {
        failures.clear();
    }

    /**
     * Lets opening for direct I/O fail with EINVAL, as a file system without it does.
     *
     * @return this.
     */
    public synchronized Faults refuseDirect() {
        directRefused = true;
        return this;
    }

    /**
     * Lets a read or write move at most so much; a whole number of blocks, and at least one, on a direct file.
     *
     * @param bytes the most.
     * @return this.
     */
    public synchronized Faults mostPerCall(final long bytes) {
        mostBytes = bytes;
        return this;
    }

    /**
     * Lets reads and writes move a random part of what was asked, and some fail with EINTR before anything moved.
     *
     * @param seed the same seed gives the same parts in the same order of calls.
     * @return this.
     */
    public synchronized Faults randomShort(final long seed) {
        random = new SplittableRandom(seed);
        return this;
    }

    /**
     * Makes the disk full: writes are counted whether or not they overwrite, the one that reaches the limit is short,
     * and later ones, and reservations of more than is left, fail with ENOSPC.
     *
     * @param bytes that still go.
     * @return this.
     */
    public synchronized Faults fullAfter(final long bytes) {
        bytesLeft = bytes;
        return this;
    }

    /**
     * Tears a write as a crash does: a part reaches the file, and the call fails with EIO.
     *
     * @param n     the n-th write from now, from 1.
     * @param bytes that reach the file.
     * @return this.
     */
    public synchronized Faults tearNthWrite(final long n, final long bytes) {
        tears.put(count(Call.WRITE) + n, bytes);
        return this;
    }

    /**
     * Changes a byte of the files in everything that is read of it from now on.
     *
     * @param offset where in the file, in bytes.
     * @param mask   bits to flip.
     * @return this.
     */
    public synchronized Faults flip(final long offset, final int mask) {
        flips.put(offset, mask);
        return this;
    }

    /**
     * Holds the next call of a kind until the gate is released.
     *
     * @param call which.
     * @return its gate.
     */
    public synchronized Gate blockNext(final Call call) {
        final Gate gate = new Gate();
        gates.put(call, gate);
        return gate;
    }

    /**
     * How often a call was made, failed ones included.
     *
     * @param call which.
     * @return the count.
     */
    public synchronized long count(final Call call) {
        return counts.getOrDefault(call, 0L);
    }

    /** Counts a call, holds it while it is to be held, and throws when it shall fail. Returns its number. */
    public long enter(final Call call, final String path) {
        final Gate gate;
        final long number;
        synchronized (this) {
            number = counts.merge(call, 1L, Long::sum);
            gate = gates.remove(call);
        }
        if (gate != null) {
            gate.hold();
        }
        synchronized (this) {
            for (final Iterator<Failure> all = failures.iterator(); all.hasNext();) {
                final Failure failure = all.next();
                if (failure.call() == call && failure.first() <= number && number <= failure.last()) {
                    if (failure.first() == failure.last()) {
                        all.remove();
                    }
                    throw failed(call, failure.errno(), path);
                }
            }
        }
        return number;
    }

    synchronized boolean directRefused() {
        return directRefused;
    }

    /** How much of a read or write goes; never 0 unless nothing was asked. Throws EINTR now and then when random. */
    public synchronized long allowed(final Call call, final long length, final long block, final String path) {
        long most = Math.min(length, mostBytes);
        if (random != null && length > 0) {
            if (random.nextInt(8) == 0) {
                throw failed(call, Errno.EINTR, path);
            }
            if (random.nextBoolean()) {
                most = Math.min(most, random.nextLong(length) + 1);
            }
        }
        return most == length ? length : Math.min(length, Math.max(block, most - most % block));
    }

    /** How much of a write fits on the disk; throws ENOSPC when nothing does. */
    public synchronized long taken(final long length, final long block, final String path) {
        if (bytesLeft == Long.MAX_VALUE || length <= bytesLeft) {
            bytesLeft -= bytesLeft == Long.MAX_VALUE ? 0 : length;
            return length;
        }
        final long fits = bytesLeft - bytesLeft % block;
        bytesLeft -= fits;
        if (fits == 0) {
            throw failed(Call.WRITE, Errno.ENOSPC, path);
        }
        return fits;
    }

    synchronized void reserve(final long length, final String path) {
        if (length > bytesLeft) {
            throw failed(Call.PREALLOCATE, Errno.ENOSPC, path);
        }
    }

    /** Bytes of the write that reach the file before it is torn; null when it is not. */
    synchronized Long tear(final long number) {
        return tears.remove(number);
    }

    synchronized Map<Long, Integer> flips() {
        return new TreeMap<>(flips);
    }

    static ErrnoException failed(final Call call, final int errno, final String path) {
        return new ErrnoException(SYSTEM_CALLS[call.ordinal()], errno, path + ", told to fail");
    }
}
