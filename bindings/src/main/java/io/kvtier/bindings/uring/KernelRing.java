package io.kvtier.bindings.uring;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import io.kvtier.bindings.NativeResources;
import io.kvtier.bindings.NativeTag;
import io.kvtier.bindings.posix.ErrnoException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.VarHandle;

/**
 * One io_uring instance and the two queues that it shares with the kernel. It knows entries and completions, and not
 * what they mean.
 *
 * <p>Both queues are rings of a power of two with unsigned 32-bit indices that only ever grow and wrap: a position is
 * {@code index & mask}, a length is the difference of two indices. Each index has one writer:
 *
 * <pre>
 *                       head                    tail
 *   submission queue    kernel, release         here, release
 *   completion queue    here, release           kernel, release
 * </pre>
 *
 * <p>Memory order: an entry is written with plain stores and published by the release of the tail; the kernel acquires
 * the tail before it reads entries. It releases the head after it has copied them, and acquiring that head here
 * (in {@link #enter}) is what allows an entry to be written again. Completions go the other way: acquiring the
 * tail makes the completion's fields and, for a read, the bytes that the device stored visible; releasing the head
 * afterwards gives the places back, so that the kernel cannot overwrite what has not been read yet. Nothing needs a
 * full fence: the one store-load question of the protocol (did the kernel fall asleep before it saw the tail) exists
 * only with a polling kernel thread, which is never asked for, as each submission is a system call of this thread.
 * Without such a thread the kernel reads the tail only inside that call, too; so a tail may be moved back over entries
 * that were offered and not taken ({@link #withdraw}).
 *
 * <p>The kernel's indirection array stays the identity that the constructor writes.
 *
 * <p><b>Threading:</b> the owner of the ring only. <b>Allocation:</b> none after construction.
 */
@SuppressWarnings("restricted")
final class KernelRing {
    private static final VarHandle INT = JAVA_INT.varHandle();

    private final UringKernel kernel;
    private final int descriptor;
    private final int features;
    private final long mappedBytes;
    private final Arena arena;
    private final MemorySegment waitArgument;
    private final MemorySegment timespec;

    private final MemorySegment rings;
    private final MemorySegment entries;
    private final int sqEntries;
    private final int sqMask;
    private final long sqHeadAt;
    private final long sqTailAt;
    private final long sqFlagsAt;
    private final int cqMask;
    private final long cqHeadAt;
    private final long cqTailAt;
    private final long cqesAt;

    // The kernel's head as last seen, and our tail, which runs ahead of the published one.
    private int sqHead;
    private int sqTail;
    private int cqHead;
    // Byte offset of the entry being written.
    private long entry;
    private boolean closed;
    private boolean counted = true;

    private KernelRing(final UringKernel kernel, final int descriptor, final MemorySegment params,
        final Arena arena) {
        this.arena = arena;
        this.kernel = kernel;
        this.descriptor = descriptor;
        features = params.get(JAVA_INT, UringLayout.PARAMS_FEATURES);
        sqEntries = params.get(JAVA_INT, UringLayout.PARAMS_SQ_ENTRIES);
        final long cqEntries = Integer.toUnsignedLong(params.get(JAVA_INT, UringLayout.PARAMS_CQ_ENTRIES));
        final MemorySegment sq = params.asSlice(UringLayout.PARAMS_SQ_OFFSETS);
        final MemorySegment cq = params.asSlice(UringLayout.PARAMS_CQ_OFFSETS);
        final long array = offset(sq, UringLayout.SQ_ARRAY);
        cqesAt = offset(cq, UringLayout.CQ_ENTRIES);
        final long ringBytes = Math.max(array + (long) sqEntries * Integer.BYTES,
            cqesAt + cqEntries * UringLayout.CQE_BYTES);
        final long entryBytes = sqEntries * UringLayout.SQE_BYTES;
        mappedBytes = ringBytes + entryBytes;
        rings = mapped(UringLayout.MAP_RINGS, ringBytes);
        entries = mapped(UringLayout.MAP_ENTRIES, entryBytes);
        waitArgument = arena.allocate(UringLayout.WAIT_ARG_BYTES, Long.BYTES);
        timespec = arena.allocate(UringLayout.TIMESPEC_BYTES, Long.BYTES);
        waitArgument.set(JAVA_LONG, UringLayout.WAIT_ARG_TIMESPEC, timespec.address());

        sqHeadAt = offset(sq, UringLayout.SQ_HEAD);
        sqTailAt = offset(sq, UringLayout.SQ_TAIL);
        sqFlagsAt = offset(sq, UringLayout.SQ_FLAGS);
        cqHeadAt = offset(cq, UringLayout.CQ_HEAD);
        cqTailAt = offset(cq, UringLayout.CQ_TAIL);
        sqMask = rings.get(JAVA_INT, offset(sq, UringLayout.SQ_MASK));
        cqMask = rings.get(JAVA_INT, offset(cq, UringLayout.CQ_MASK));
        sqHead = (int) INT.getAcquire(rings, sqHeadAt);
        sqTail = sqHead;
        cqHead = (int) INT.getAcquire(rings, cqHeadAt);
        for (int i = 0; i < sqEntries; i++) {
            rings.set(JAVA_INT, array + (long) i * Integer.BYTES, i);
        }
        NativeResources.created(NativeTag.IO_RING, mappedBytes);
    }

    /**
     * Sets up an instance.
     *
     * @param kernel  the boundary.
     * @param entries of the submission queue; rounded up to a power of two by the kernel.
     * @param flags   {@code IORING_SETUP_} bits.
     * @return the instance.
     * @throws ErrnoException when the kernel refuses.
     */
    static KernelRing open(final UringKernel kernel, final int entries, final int flags) {
        try (Arena scratch = Arena.ofConfined()) {
            final MemorySegment params = scratch.allocate(UringLayout.PARAMS_BYTES, Long.BYTES);
            params.set(JAVA_INT, UringLayout.PARAMS_FLAGS, flags);
            final int descriptor = kernel.setup(entries, params);
            if (descriptor < 0) {
                throw new ErrnoException("io_uring_setup", -descriptor, entries + " entries, flags 0x"
                    + Integer.toHexString(flags));
            }
            if ((params.get(JAVA_INT, UringLayout.PARAMS_FEATURES) & UringLayout.FEATURE_SINGLE_MMAP) == 0) {
                kernel.close(descriptor);
                throw new UnsupportedOperationException("this kernel is older than 5.4: it maps the queues apart");
            }
            return opened(kernel, descriptor, params);
        }
    }

    private static KernelRing opened(final UringKernel kernel, final int descriptor, final MemorySegment params) {
        final Arena arena = Arena.ofShared();
        try {
            return new KernelRing(kernel, descriptor, params, arena);
        } catch (final RuntimeException | Error e) {
            arena.close();
            kernel.close(descriptor);
            throw e;
        }
    }

    int descriptor() {
        return descriptor;
    }

    int features() {
        return features;
    }

    /** Entries that can still be written before the kernel must take some. */
    int room() {
        return sqEntries - pending();
    }

    /** Entries written and not taken by the kernel yet. */
    int pending() {
        return sqTail - sqHead;
    }

    /** Starts an entry; {@link #room} must not be 0. What the two methods after this one do not set is zero. */
    void entry(final int opcode, final int flags, final int file, final long token) {
        entry = (sqTail & sqMask) * UringLayout.SQE_BYTES;
        entries.set(JAVA_BYTE, entry + UringLayout.SQE_OPCODE, (byte) opcode);
        entries.set(JAVA_BYTE, entry + UringLayout.SQE_FLAGS, (byte) flags);
        entries.set(JAVA_SHORT, entry + UringLayout.SQE_IOPRIO, (short) 0);
        entries.set(JAVA_INT, entry + UringLayout.SQE_FD, file);
        entries.set(JAVA_LONG, entry + UringLayout.SQE_OFFSET, 0);
        entries.set(JAVA_LONG, entry + UringLayout.SQE_ADDRESS, 0);
        entries.set(JAVA_INT, entry + UringLayout.SQE_LENGTH, 0);
        entries.set(JAVA_INT, entry + UringLayout.SQE_OP_FLAGS, 0);
        entries.set(JAVA_LONG, entry + UringLayout.SQE_USER_DATA, token);
        entries.set(JAVA_LONG, entry + UringLayout.SQE_REST_1, 0);
        entries.set(JAVA_LONG, entry + UringLayout.SQE_REST_2, 0);
        entries.set(JAVA_LONG, entry + UringLayout.SQE_REST_3, 0);
        sqTail++;
    }

    /** Sets the transfer of the entry started last. */
    void transfer(final long offset, final long address, final int length) {
        entries.set(JAVA_LONG, entry + UringLayout.SQE_OFFSET, offset);
        entries.set(JAVA_LONG, entry + UringLayout.SQE_ADDRESS, address);
        entries.set(JAVA_INT, entry + UringLayout.SQE_LENGTH, length);
    }

    /** Sets the operation's own flags and the registered buffer of the entry started last. */
    void details(final int operationFlags, final int buffer) {
        entries.set(JAVA_INT, entry + UringLayout.SQE_OP_FLAGS, operationFlags);
        entries.set(JAVA_SHORT, entry + UringLayout.SQE_BUFFER_INDEX, (short) buffer);
    }

    /** Takes back the last entry that the kernel has not taken; {@link #pending} must not be 0. Gives its token. */
    long withdraw() {
        sqTail--;
        INT.setRelease(rings, sqTailAt, sqTail);
        return entries.get(JAVA_LONG, (sqTail & sqMask) * UringLayout.SQE_BYTES + UringLayout.SQE_USER_DATA);
    }

    /**
     * Offers every pending entry and waits for completions.
     *
     * <p>What was taken is told by {@link #pending} before and after, for the kernel's head is right whatever the
     * result says: an error of the wait must not hide that entries were taken.
     *
     * @param complete completions to wait for; 0 to return at once.
     * @param limitNs  most nanoseconds to wait; {@link Long#MAX_VALUE} for no limit.
     * @return what io_uring_enter gave.
     */
    int enter(final int complete, final long limitNs) {
        INT.setRelease(rings, sqTailAt, sqTail);
        int flags = complete > 0 ? UringLayout.ENTER_GETEVENTS : 0;
        MemorySegment argument = MemorySegment.NULL;
        if (complete > 0 && limitNs != Long.MAX_VALUE) {
            final long nanosPerSecond = 1_000_000_000L;
            timespec.set(JAVA_LONG, UringLayout.TIMESPEC_SECONDS, limitNs / nanosPerSecond);
            timespec.set(JAVA_LONG, UringLayout.TIMESPEC_NANOS, limitNs % nanosPerSecond);
            flags |= UringLayout.ENTER_EXT_ARG;
            argument = waitArgument;
        }
        final int result = kernel.enter(descriptor, pending(), complete, flags, argument);
        sqHead = (int) INT.getAcquire(rings, sqHeadAt);
        return result;
    }

    /** Lets the kernel bring what it holds back into the queue; offers nothing and does not wait. */
    void deliver() {
        kernel.enter(descriptor, 0, 0, UringLayout.ENTER_GETEVENTS, MemorySegment.NULL);
    }

    /** Whether the kernel holds completions back that only entering it brings into the queue. */
    boolean holdsBack() {
        if (closed) {
            return false;
        }
        final int flags = (int) INT.getAcquire(rings, sqFlagsAt);
        return (flags & (UringLayout.SQ_FLAG_CQ_OVERFLOW | UringLayout.SQ_FLAG_TASKRUN)) != 0;
    }

    /** Completions that lie in the queue now; none when closed. */
    int available() {
        return closed ? 0 : (int) INT.getAcquire(rings, cqTailAt) - cqHead;
    }

    /** The token of an available completion; it is not given back yet. */
    long token(final int index) {
        return rings.get(JAVA_LONG, completion(index) + UringLayout.CQE_USER_DATA);
    }

    /** The result of an available completion; it is not given back yet. */
    int result(final int index) {
        return rings.get(JAVA_INT, completion(index) + UringLayout.CQE_RESULT);
    }

    /** Gives the places of the first completions back to the kernel. */
    void consumed(final int count) {
        cqHead += count;
        INT.setRelease(rings, cqHeadAt, cqHead);
    }

    /** Gives everything back, once; nothing that was taken may be unanswered. */
    void close() {
        shut();
        ended();
    }

    /**
     * Closes the descriptor and unmaps the queues, once, and leaves them counted. Only both together take the last
     * reference away, so that the kernel cancels what is still in the instance.
     */
    void shut() {
        if (!closed) {
            closed = true;
            kernel.close(descriptor);
            arena.close();
        }
    }

    /** What {@link #shut} left counted is gone. */
    void ended() {
        if (counted) {
            counted = false;
            NativeResources.released(NativeTag.IO_RING, mappedBytes);
        }
    }

    private long completion(final int index) {
        return cqesAt + (cqHead + index & cqMask) * UringLayout.CQE_BYTES;
    }

    private MemorySegment mapped(final long offset, final long length) {
        final long address = kernel.map(descriptor, offset, length);
        if (address < 0) {
            throw new ErrnoException("mmap", (int) -address, "io_uring, offset " + offset + ", length " + length);
        }
        return MemorySegment.ofAddress(address)
            .reinterpret(length, arena, segment -> kernel.unmap(address, length));
    }

    private static long offset(final MemorySegment offsets, final long field) {
        return Integer.toUnsignedLong(offsets.get(JAVA_INT, field));
    }
}
