package io.kvtier.bindings.hf3fs;

import io.kvtier.bindings.posix.Errno;
import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Reads and writes ranges of files on one 3FS, from and to memory of any kind, through a pool of lanes: each is shared
 * memory and rings that one transfer has for itself, of which several blocks are in flight at the same time. Bytes are
 * copied once, between the caller's memory and the lane's.
 *
 * <h2>When nothing is heard</h2>
 *
 * <p>A transfer none of whose entries ends for {@link UsrbioOptions#silenceMs} throws an exception that is
 * {@linkplain UsrbioException#uncertain() uncertain}: a write may still change the file. The caller's memory is its own
 * again at once; the lane is set aside with its shared memory and the file's registration until the client has ended
 * its entries, and is looked at again by each later transfer, and by one that waits for a lane several times a second.
 * When all lanes are set aside, a transfer is refused with EBUSY instead of waiting for what may never come. With
 * {@link UsrbioOptions#awaitWrites} a write is waited for instead, and told in the log, until this is closed.
 *
 * <p><b>Threading:</b> thread-safe; as many transfers as there are lanes run at the same time, others wait for one.
 * <b>Lifetime:</b> {@link #close()} refuses what comes, lets what runs come to its end, and waits for lanes that were
 * set aside as {@link IoRing#close()} does. <b>Blocking:</b> a transfer waits for the client of 3FS in native code and
 * cannot be interrupted, so run it on a platform thread. <b>Allocation:</b> on the heap, nothing that grows with the
 * bytes.
 */
public final class UsrbioChannel implements AutoCloseable {
    private static final System.Logger LOG = System.getLogger(UsrbioChannel.class.getName());

    /** How often who waits for a lane looks whether one that was set aside is free: of that nobody is told. */
    private static final long LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    /** After a lane could not be made, for how long none is tried; the shared memory it lacked may be free then. */
    private static final long FEWER_NANOS = TimeUnit.MINUTES.toNanos(1);

    private final Usrbio usrbio;
    private final String mountPoint;
    private final UsrbioOptions options;

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    /** Lanes that nobody uses; the last used first, whose memory is the warmest. */
    private final Deque<UsrbioLane> idle = new ArrayDeque<>();
    private final List<UsrbioLane> setAside = new ArrayList<>();
    /** All lanes, those in use and those being made too, and how many there may be. */
    private int lanes;
    private int mostLanes;
    /** Since when there may be fewer than the options say, by the library's clock. */
    private long fewerSince;
    private int inUse;
    private volatile boolean closed;

    private UsrbioChannel(final Usrbio usrbio, final String mountPoint, final UsrbioOptions options) {
        this.usrbio = usrbio;
        this.mountPoint = mountPoint;
        this.options = options;
        mostLanes = options.lanes();
    }

    /**
     * Opens a channel and makes its first lane, so that a mount point that is none is found out now.
     *
     * @param usrbio     the library.
     * @param mountPoint of the 3FS, as {@link Usrbio#mountPoint} gives it.
     * @param options    how.
     * @return the owner.
     * @throws UsrbioException when no lane can be made.
     */
    public static UsrbioChannel open(final Usrbio usrbio, final String mountPoint, final UsrbioOptions options) {
        final UsrbioChannel channel = new UsrbioChannel(usrbio, mountPoint, options);
        channel.idle.push(new UsrbioLane(usrbio, mountPoint, options, channel::isClosed));
        channel.lanes = 1;
        return channel;
    }

    /**
     * Reads until the memory is full or the file ends.
     *
     * @param file   a registered file, opened for reading.
     * @param target memory of any kind that may be written.
     * @param offset where in the file, in bytes.
     * @return bytes read; less than the memory's size only when the file ended there. What of the memory is behind them
     *         is undefined.
     * @throws UsrbioException       when an entry failed; ETIMEDOUT when nothing was heard, EBUSY when nothing was
     *                               heard on any lane before.
     * @throws IllegalStateException when this, the file or the memory is closed.
     */
    public long read(final Hf3fsFile file, final MemorySegment target, final long offset) {
        return read(file, List.of(target), offset);
    }

    /**
     * Reads consecutive bytes of a file into several pieces of memory, many of which fit into one block, until they are
     * full or the file ends.
     *
     * @param file    a registered file, opened for reading.
     * @param targets filled in order.
     * @param offset  where in the file, in bytes.
     * @return bytes read over all pieces, as for {@link #read(Hf3fsFile, MemorySegment, long)}.
     */
    public long read(final Hf3fsFile file, final List<MemorySegment> targets, final long offset) {
        if (targets.stream().anyMatch(MemorySegment::isReadOnly)) {
            throw new IllegalArgumentException("the memory to read into is read-only");
        }
        final Pieces pieces = new Pieces(targets);
        checkRange(file, pieces.byteSize(), offset);
        // Held over all of it: a file that is closed meanwhile is let go of at the end, and not between two blocks.
        file.retain();
        try {
            final UsrbioLane lane = take();
            try {
                return lane.read(file, pieces, offset);
            } finally {
                giveBack(lane);
            }
        } finally {
            file.release();
        }
    }

    /**
     * Writes all of the memory. It is durable after {@code fsync} of the file, and not before.
     *
     * @param file   a registered file, opened for writing.
     * @param source memory of any kind.
     * @param offset where in the file, in bytes.
     * @throws UsrbioException       as for {@link #read}; which of the bytes were written is then unknown.
     * @throws IllegalStateException when this, the file or the memory is closed.
     */
    public void write(final Hf3fsFile file, final MemorySegment source, final long offset) {
        write(file, List.of(source), offset);
    }

    /**
     * Writes several pieces of memory to consecutive bytes of a file, many of which fit into one block.
     *
     * @param file    a registered file, opened for writing.
     * @param sources taken in order.
     * @param offset  where in the file, in bytes.
     */
    public void write(final Hf3fsFile file, final List<MemorySegment> sources, final long offset) {
        final Pieces pieces = new Pieces(sources);
        checkRange(file, pieces.byteSize(), offset);
        file.retain();
        try {
            final UsrbioLane lane = take();
            try {
                lane.write(file, pieces, offset);
            } finally {
                giveBack(lane);
            }
        } finally {
            file.release();
        }
    }

    /**
     * Lanes that were set aside because nothing was heard, as of the last transfer.
     *
     * @return how many, of at most {@link UsrbioOptions#lanes}.
     */
    public int lanesSetAside() {
        lock.lock();
        try {
            return setAside.size();
        } finally {
            lock.unlock();
        }
    }

    /**
     * Closes all lanes that nobody uses; one in use is closed at the end of its transfer. A second call does nothing.
     *
     * @throws IllegalStateException when a ring was given up, see {@link IoRing#close()}.
     */
    @Override
    public void close() {
        final List<UsrbioLane> closing;
        lock.lock();
        try {
            closed = true;
            closing = new ArrayList<>(idle);
            closing.addAll(setAside);
            idle.clear();
            setAside.clear();
            lanes -= closing.size();
            changed.signalAll();
        } finally {
            lock.unlock();
        }
        RuntimeException first = null;
        for (final UsrbioLane lane : closing) {
            try {
                lane.close();
            } catch (final RuntimeException e) {
                if (first == null) {
                    first = e;
                } else {
                    first.addSuppressed(e);
                }
            }
        }
        if (first != null) {
            throw first;
        }
    }

    private boolean isClosed() {
        return closed;
    }

    private static void checkRange(final Hf3fsFile file, final long length, final long offset) {
        if (offset < 0 || offset > Long.MAX_VALUE - length) {
            throw new IllegalArgumentException("offset " + offset + ", length " + length + " of " + file.path());
        }
    }

    private UsrbioLane take() {
        while (true) {
            final UsrbioLane lane = takeIdle();
            if (lane != null) {
                return lane;
            }
            try {
                return new UsrbioLane(usrbio, mountPoint, options, this::isClosed);
            } catch (final RuntimeException | Error e) {
                if (!doWithFewer(e)) {
                    throw e;
                }
            }
        }
    }

    /** A lane for the caller; null when there may be another one, which the caller is to make. */
    private UsrbioLane takeIdle() {
        boolean interrupted = false;
        lock.lock();
        try {
            while (true) {
                if (closed) {
                    throw new IllegalStateException("the channel to " + mountPoint + " is closed");
                }
                lookAtSetAside();
                if (!idle.isEmpty()) {
                    inUse++;
                    return idle.pop();
                }
                if (mostLanes < options.lanes() && usrbio.clock().nanoTime() - fewerSince >= FEWER_NANOS) {
                    mostLanes = options.lanes();
                }
                if (lanes < mostLanes) {
                    lanes++;
                    inUse++;
                    return null;
                }
                if (inUse == 0) {
                    throw new UsrbioException("hf3fs_wait_for_ios", Errno.EBUSY, mountPoint + ", nothing was heard of"
                        + " entries in any of " + lanes + " lanes");
                }
                interrupted |= awaitChange();
            }
        } finally {
            lock.unlock();
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /** Whether there was an interrupt, which ends nothing here and is the caller's to pass on. */
    private boolean awaitChange() {
        if (setAside.isEmpty()) {
            changed.awaitUninterruptibly();
            return false;
        }
        try {
            changed.awaitNanos(LOOK_NANOS);
            return false;
        } catch (final InterruptedException e) {
            return true;
        }
    }

    private void lookAtSetAside() {
        for (final Iterator<UsrbioLane> all = setAside.iterator(); all.hasNext();) {
            final UsrbioLane lane = all.next();
            try {
                if (lane.settle()) {
                    all.remove();
                    idle.push(lane);
                }
            } catch (final UsrbioException e) {
                // It is not the one that is asked for a transfer now.
                LOG.log(System.Logger.Level.DEBUG, "a lane to " + mountPoint + " cannot be looked at", e);
            }
        }
    }

    /** After a lane could not be made: whether there are others, which must do for a while. */
    private boolean doWithFewer(final Throwable e) {
        lock.lock();
        try {
            lanes--;
            inUse--;
            changed.signalAll();
            if (lanes == 0 || e instanceof Error || closed) {
                return false;
            }
            if (lanes < mostLanes) {
                mostLanes = lanes;
                fewerSince = usrbio.clock().nanoTime();
                LOG.log(System.Logger.Level.WARNING, mountPoint + " is used with " + lanes + " lanes instead of "
                    + options.lanes() + "; another one is tried when it is needed, "
                    + TimeUnit.NANOSECONDS.toSeconds(FEWER_NANOS) + " s from now at the earliest", e);
            }
            return true;
        } finally {
            lock.unlock();
        }
    }

    private void giveBack(final UsrbioLane lane) {
        lock.lock();
        try {
            inUse--;
            changed.signalAll();
            if (!closed) {
                if (lane.outstanding() == 0) {
                    idle.push(lane);
                } else {
                    setAside.add(lane);
                }
                return;
            }
            lanes--;
        } finally {
            lock.unlock();
        }
        try {
            lane.close();
        } catch (final RuntimeException e) {
            // The transfer has its own outcome; this one was counted.
            LOG.log(System.Logger.Level.WARNING, "a lane to " + mountPoint + " was closed badly", e);
        }
    }
}
