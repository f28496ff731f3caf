package io.kvtier.bindings.uring;

import io.kvtier.bindings.Availability;
import io.kvtier.bindings.posix.ErrnoException;
import io.kvtier.bindings.posix.PosixFile;
import java.lang.foreign.MemorySegment;

/**
 * Owner of an io_uring instance: many reads and writes in the kernel at once, from one thread.
 *
 * <p>Operations are prepared (true, or false when as many as {@link UringOptions#depth} have not been reaped),
 * submitted together with one system call, and reaped through a callback. <b>Every operation that was prepared ends
 * exactly once</b>: with the kernel's result, or with the error of a submission that did not reach it. Results are the
 * kernel's: a transfer may be short, and whoever wants all of it goes on from there.
 *
 * <h2>When a submission fails</h2>
 *
 * <p>What can pass is tried again, a bounded number of times. After that, or after any other error, what the kernel did
 * not take ends with that error, what it took is waited for, and the instance is replaced by a new one with the same
 * files and buffers registered ({@link RingDriver} has the rules). From outside that is seen by {@link #rebuilds()} and
 * the failed operations only. Where even this fails, because something taken does not end within the drain timeout or
 * there is no new instance to be had, the ring is {@link #isBroken() broken}: what has ended can be reaped, all else is
 * refused.
 *
 * <h2>Memory</h2>
 *
 * <p>The kernel works with addresses. <b>Memory given to a prepared operation must stay open until that operation has
 * been reaped</b>, or the ring has been closed without an exception; the foreign-memory API cannot enforce this, since
 * it knows only of calls that have not returned. The ring keeps memory reachable, refuses memory that is closed
 * already, and takes only native memory. Whoever frees it drains the ring first.
 *
 * <p>What another thread wrote into memory must have been handed to the owner in a way that orders it (a queue, a lock)
 * before the owner submits; what a read brought is visible to the owner when the handler is called, and to others after
 * the owner hands it on.
 *
 * <h2>Closing</h2>
 *
 * <p>{@link #close()} withdraws what was not submitted, asks the kernel to cancel the rest and waits for it; no handler
 * hears of it. If the thread that opened the ring has ended, or something does not end within the drain timeout, the
 * instance is given up and its end waited for once more ({@link Witness}). An operation that has not ended even then
 * may still write into its memory: the ring leaks what it refers to deliberately, is counted in
 * {@link Uring#abandonedRings()} and under {@code IO_RING}, and close throws.
 *
 * <p><b>Threading:</b> every method but {@link #wakeup()} and {@link #close()} belongs to the platform thread that
 * opened the ring, others get {@link WrongThreadException}; close may also be called when that thread has ended.
 * <b>Lifetime:</b> after close every method throws {@link IllegalStateException}, except a second close and a wake-up,
 * which do nothing. <b>Blocking:</b> preparing and reaping never wait; submitting may, where a file system has to read
 * metadata or has no asynchronous way. <b>Allocation:</b> preparing, submitting, waiting and reaping allocate nothing
 * on the heap.
 */
public final class UringRing implements AutoCloseable {
    private final int depth;
    private final Thread owner = Thread.currentThread();
    private final RingParts parts;
    private final Operations operations;
    private final RingDriver driver;
    private final Preparation preparation;

    private boolean delivering;
    private boolean closed;

    private UringRing(final UringKernel kernel, final UringFeatures features, final UringOptions options) {
        depth = options.depth();
        parts = new RingParts(this, kernel, features, options);
        operations = parts.operations();
        driver = parts.driver();
        preparation = new Preparation(this, operations, driver, parts.vectors());
    }

    /**
     * Opens a ring that belongs to the calling thread.
     *
     * @param options how it is made.
     * @return the owner.
     * @throws IllegalStateException when io_uring cannot be used here ({@link Uring#availability()}), or on a virtual
     *                               thread: a ring is bound to a thread of the kernel.
     * @throws ErrnoException        EMFILE without a descriptor left, ENOMEM at the limit of locked memory.
     */
    public static UringRing open(final UringOptions options) {
        final Availability availability = Uring.availability();
        if (!availability.available()) {
            throw new IllegalStateException(availability.reason() + "; " + availability.remedy());
        }
        return open(LinuxKernel.INSTANCE, Uring.features(), options);
    }

    static UringRing open(final UringKernel kernel, final UringFeatures features, final UringOptions options) {
        if (Thread.currentThread().isVirtual()) {
            throw new IllegalStateException("a ring belongs to a platform thread; this one is virtual");
        }
        return new UringRing(kernel, features, options);
    }

    /**
     * Makes a file known to the ring, in the table of registered files while there is room.
     *
     * @param file the file; the ring holds a reference to it until it is detached.
     * @return how operations name it.
     * @throws IllegalStateException when the file is closed.
     * @throws ErrnoException        when the kernel refuses to register it.
     */
    public UringFile attach(final PosixFile file) {
        checkUsable();
        return parts.resources().attach(file);
    }

    void detach(final UringFile file) {
        checkOpen();
        parts.resources().detach(file);
    }

    /**
     * Pins memory for this ring. It counts against the limit on locked memory and takes time with its size: register
     * whole regions, once.
     *
     * @param memory native memory of at least one byte, writable if it is to be read into.
     * @return how operations name it.
     * @throws IllegalStateException when the table of {@link UringOptions#bufferSlots} has no room for it.
     * @throws ErrnoException        ENOMEM at the limit on locked memory; EFAULT for memory that cannot be pinned, for
     *                               example of a mapped file that is read-only.
     */
    public RegisteredBuffer register(final MemorySegment memory) {
        checkUsable();
        preparation.checkMemory(memory, false);
        return parts.resources().register(memory);
    }

    void unregister(final RegisteredBuffer buffer) {
        checkOpen();
        parts.resources().unregister(buffer);
    }

    /**
     * Prepares a read.
     *
     * @param file     an attached file.
     * @param target   native memory, all of it to be filled; at most 2 GiB less 4 KiB.
     * @param offset   where in the file, in bytes.
     * @param userData handed back with the end.
     * @return false when the ring is full: reap first.
     */
    public boolean read(final UringFile file, final MemorySegment target, final long offset, final long userData) {
        checkUsable();
        return preparation.transfer(UringLayout.OP_READ, file, target, 0, target.byteSize(), offset, userData);
    }

    /**
     * Prepares a read into a part of a segment, which need not be cut out for it.
     *
     * @param file     an attached file.
     * @param target   native memory.
     * @param start    where in it, in bytes.
     * @param length   bytes to read; at most 2 GiB less 4 KiB.
     * @param offset   where in the file, in bytes.
     * @param userData handed back with the end.
     * @return false when the ring is full: reap first.
     */
    public boolean read(final UringFile file, final MemorySegment target, final long start, final int length,
                        final long offset, final long userData) {
        checkUsable();
        return preparation.transfer(UringLayout.OP_READ, file, target, start, length, offset, userData);
    }

    /**
     * Prepares a read into several segments, filled one after the other from one place in the file. A short result
     * counts from the first segment on.
     *
     * @param file     an attached file.
     * @param targets  native memory, at least one segment; the vector may be changed as soon as this returns, its
     *                 memory must stay open like that of {@link #read(UringFile, MemorySegment, long, long)}.
     * @param offset   where in the file, in bytes.
     * @param userData handed back with the end.
     * @return false when the ring is full: reap first.
     */
    public boolean readVector(final UringFile file, final SegmentVector targets, final long offset,
                              final long userData) {
        checkUsable();
        return preparation.transferVector(UringLayout.OP_READV, file, targets, offset, userData);
    }

    /**
     * Prepares a write.
     *
     * @param file     an attached file.
     * @param source   native memory, all of it to be written; at most 2 GiB less 4 KiB.
     * @param offset   where in the file, in bytes.
     * @param userData handed back with the end.
     * @return false when the ring is full: reap first.
     */
    public boolean write(final UringFile file, final MemorySegment source, final long offset, final long userData) {
        checkUsable();
        return preparation.transfer(UringLayout.OP_WRITE, file, source, 0, source.byteSize(), offset, userData);
    }

    /**
     * Prepares a write from a part of a segment, which need not be cut out for it.
     *
     * @param file     an attached file.
     * @param source   native memory.
     * @param start    where in it, in bytes.
     * @param length   bytes to write; at most 2 GiB less 4 KiB.
     * @param offset   where in the file, in bytes.
     * @param userData handed back with the end.
     * @return false when the ring is full: reap first.
     */
    public boolean write(final UringFile file, final MemorySegment source, final long start, final int length,
                         final long offset, final long userData) {
        checkUsable();
        return preparation.transfer(UringLayout.OP_WRITE, file, source, start, length, offset, userData);
    }

    /**
     * Prepares a write from several segments, one after the other to one place in the file.
     *
     * @param file     an attached file.
     * @param sources  native memory, at least one segment; as for {@link #readVector}.
     * @param offset   where in the file, in bytes.
     * @param userData handed back with the end.
     * @return false when the ring is full: reap first.
     */
    public boolean writeVector(final UringFile file, final SegmentVector sources, final long offset,
                               final long userData) {
        checkUsable();
        return preparation.transferVector(UringLayout.OP_WRITEV, file, sources, offset, userData);
    }

    /**
     * Prepares a read into registered memory.
     *
     * @param file     an attached file.
     * @param target   the registered memory.
     * @param start    where in it, in bytes.
     * @param length   bytes to read.
     * @param offset   where in the file, in bytes.
     * @param userData handed back with the end.
     * @return false when the ring is full: reap first.
     */
    public boolean readFixed(final UringFile file, final RegisteredBuffer target, final long start, final int length,
                             final long offset, final long userData) {
        checkUsable();
        return preparation.transferFixed(true, file, target, start, length, offset, userData);
    }

    /**
     * Prepares a write from registered memory.
     *
     * @param file     an attached file.
     * @param source   the registered memory.
     * @param start    where in it, in bytes.
     * @param length   bytes to write.
     * @param offset   where in the file, in bytes.
     * @param userData handed back with the end.
     * @return false when the ring is full: reap first.
     */
    public boolean writeFixed(final UringFile file, final RegisteredBuffer source, final long start, final int length,
                              final long offset, final long userData) {
        checkUsable();
        return preparation.transferFixed(false, file, source, start, length, offset, userData);
    }

    /**
     * Prepares making data durable, as {@code fdatasync} does. It is not ordered behind writes that have not ended:
     * reap those first.
     *
     * @param file     an attached file.
     * @param userData handed back with the end.
     * @return false when the ring is full: reap first.
     */
    public boolean sync(final UringFile file, final long userData) {
        checkUsable();
        return preparation.sync(file, UringLayout.FSYNC_DATASYNC, userData);
    }

    /**
     * Prepares making data and metadata durable, as {@code fsync} does; ordered like {@link #sync}.
     *
     * @param file     an attached file.
     * @param userData handed back with the end.
     * @return false when the ring is full: reap first.
     */
    public boolean syncAll(final UringFile file, final long userData) {
        checkUsable();
        return preparation.sync(file, 0, userData);
    }

    /**
     * Prepares an operation that does nothing and ends with 0.
     *
     * @param userData handed back with the end.
     * @return false when the ring is full: reap first.
     */
    public boolean nop(final long userData) {
        checkUsable();
        return preparation.nop(userData);
    }

    /**
     * Asks the kernel to give up operations, and submits everything prepared with it. They end all the same: with
     * {@code -ECANCELED}, or as they would have, since what a disk is doing cannot be taken back.
     *
     * @param userData what they were prepared with.
     * @return how many were found; 0 when none is open or all were asked for already.
     */
    public int cancel(final long userData) {
        checkUsable();
        return driver.cancel(userData);
    }

    /** Submits everything prepared, without waiting for any end. */
    public void submit() {
        checkUsable();
        driver.run(0, 0);
    }

    /**
     * Submits everything prepared and waits until that many operations can be reaped, or all that are open, or another
     * thread calls {@link #wakeup()}.
     *
     * @param min how many; what is open and ready is enough when it is less.
     * @return how many can be reaped; fewer than asked for after a wake-up or a failed submission.
     */
    public int submitAndWait(final int min) {
        return submitAndWait(Math.min(min, operations.used()), Long.MAX_VALUE);
    }

    /**
     * Submits everything prepared and waits until that many operations can be reaped, or another thread calls
     * {@link #wakeup()}, or the time is over. With nothing open it waits all the same, for the wake-up.
     *
     * @param min     how many; 0 or less does not wait.
     * @param limitNs most nanoseconds to wait; {@link Long#MAX_VALUE} for no limit.
     * @return how many can be reaped.
     */
    public int submitAndWait(final int min, final long limitNs) {
        checkUsable();
        driver.run(min, Math.max(0, limitNs));
        return operations.ready();
    }

    /**
     * Hands what has ended to a handler.
     *
     * @param handler called once for each.
     * @return how many.
     */
    public int reap(final CompletionHandler handler) {
        checkOpen();
        checkNotDelivering("reap");
        driver.look();
        final int count = operations.ready();
        delivering = true;
        try {
            operations.handOut(count, handler);
            return count;
        } finally {
            delivering = false;
        }
    }

    /**
     * Submits everything prepared and reaps until nothing is left, or the time is over. A handler that prepares more
     * prolongs it.
     *
     * @param handler called once for each end.
     * @param limitNs most nanoseconds.
     * @return whether nothing is left: then no memory is in the kernel's hands.
     */
    public boolean drain(final CompletionHandler handler, final long limitNs) {
        final long start = System.nanoTime();
        reap(handler);
        long left = limitNs;
        while (operations.used() > 0 && left > 0) {
            submitAndWait(1, left);
            reap(handler);
            left = limitNs - (System.nanoTime() - start);
        }
        return operations.used() == 0;
    }

    /**
     * Ends the wait that the owner is in, or else its next one, early. Calls before the owner has seen one count as
     * one. After a wait the owner must look at everything that those who wake it may have changed.
     */
    public void wakeup() {
        parts.waker().wake();
    }

    /**
     * Operations prepared and not reaped.
     *
     * @return how many; {@link #depth} at most.
     */
    public int inFlight() {
        checkOpen();
        return operations.used();
    }

    /**
     * Operations that can still be prepared before some must be reaped.
     *
     * @return {@link #depth} less {@link #inFlight}.
     */
    public int room() {
        checkOpen();
        return operations.free();
    }

    /**
     * Operations that have ended, as far as was seen, and have not been reaped.
     *
     * @return how many.
     */
    public int ready() {
        checkOpen();
        return operations.ready();
    }

    /**
     * Most operations between being prepared and being reaped.
     *
     * @return as opened.
     */
    public int depth() {
        return depth;
    }

    /**
     * Whether the ring is beyond repair: what has ended can be reaped, the rest waits for {@link #close()}.
     *
     * @return whether it is.
     */
    public boolean isBroken() {
        checkOwner();
        return driver.isBroken();
    }

    /**
     * How often a failed submission made a new instance necessary.
     *
     * @return a count since the ring was opened.
     */
    public long rebuilds() {
        checkOwner();
        return driver.rebuilds();
    }

    /**
     * Completions that belonged to no operation: always 0 on a kernel that works.
     *
     * @return a count since the ring was opened.
     */
    public long strayCompletions() {
        checkOwner();
        return driver.strays();
    }

    /**
     * Gives everything back. A second call does nothing.
     *
     * @throws IllegalStateException when an operation did not end within the drain timeout: its memory must then never
     *                               be freed; and when called by a handler.
     */
    @Override
    public void close() {
        if (closed) {
            return;
        }
        if (owner.isAlive()) {
            checkOwner();
        }
        checkNotDelivering("close");
        closed = true;
        parts.close(owner.isAlive());
    }

    private void checkUsable() {
        checkOpen();
        driver.checkUsable();
    }

    private void checkOpen() {
        checkOwner();
        if (closed) {
            throw new IllegalStateException("the ring is closed");
        }
    }

    private void checkOwner() {
        if (Thread.currentThread() != owner) {
            throw new WrongThreadException("the ring belongs to " + owner + ", not to " + Thread.currentThread());
        }
    }

    private void checkNotDelivering(final String what) {
        if (delivering) {
            throw new IllegalStateException("a completion handler must not " + what + " its ring");
        }
    }
}
