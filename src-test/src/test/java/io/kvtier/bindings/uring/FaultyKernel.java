package io.kvtier.bindings.uring;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.kvtier.bindings.posix.ErrnoException;
import io.kvtier.kit.Faults;
import io.kvtier.kit.Faults.Call;
import java.lang.foreign.MemorySegment;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The real kernel, in which operations fail as a {@link Faults} says of the calls that they stand for. Entries are
 * changed on their way in: one that shall be short asks for less, and what it then leaves out is filled with junk when
 * it reads; one that shall fail becomes a NOP, and its completion is given the error. And calls fail as told here.
 */
public final class FaultyKernel implements UringKernel {
    private static final UringKernel REAL = LinuxKernel.INSTANCE;
    private static final byte JUNK = (byte) 0xdb;
    private static final long BLOCK = 4096;
    private static final String NAME = "an operation of a ring";

    private final Faults faults;
    private final Map<Integer, Instance> instances = new ConcurrentHashMap<>();
    private final AtomicInteger setups = new AtomicInteger();
    private final AtomicInteger fixed = new AtomicInteger();
    private volatile int setupError;
    private volatile int enterError;
    private volatile int registerError;
    private volatile boolean deaf;

    public FaultyKernel(final Faults faults) {
        this.faults = faults;
    }

    /** One ring; touched by its owner only. */
    private static final class Instance {
        private int sqHeadAt;
        private int sqTailAt;
        private int sqMask;
        private int cqTailAt;
        private int cqMask;
        private long cqesAt;
        private int sqTailSeen;
        private int cqTailSeen;
        private MemorySegment rings;
        private MemorySegment entries;
        private final Map<Long, Integer> errors = new HashMap<>();
    }

    /** Opens rings over this kernel. */
    public UringRing open(final UringOptions options) {
        return UringRing.open(this, Uring.features(), options);
    }

    /** Lets io_uring_setup fail from now on; 0 to let it go well again. */
    public void failSetup(final int errno) {
        setupError = errno;
    }

    /** Lets every submission fail from now on, nothing being taken; 0 to let it go well again. */
    public void failEnter(final int errno) {
        enterError = errno;
    }

    /** Lets registering memory fail from now on; 0 to let it go well again. */
    public void failRegister(final int errno) {
        registerError = errno;
    }

    /** Lets requests to give operations up go unheard, those by closing a ring included. */
    public void ignoreCancels() {
        deaf = true;
    }

    /** Instances set up so far. */
    public int setups() {
        return setups.get();
    }

    /** Operations on pinned memory so far. */
    public int fixedOperations() {
        return fixed.get();
    }

    @Override
    public int setup(final int entries, final MemorySegment params) {
        if (setupError != 0) {
            return -setupError;
        }
        final int descriptor = REAL.setup(entries, params);
        if (descriptor >= 0) {
            setups.incrementAndGet();
            final Instance one = new Instance();
            one.sqHeadAt = params.get(JAVA_INT, UringLayout.PARAMS_SQ_OFFSETS + UringLayout.SQ_HEAD);
            one.sqTailAt = params.get(JAVA_INT, UringLayout.PARAMS_SQ_OFFSETS + UringLayout.SQ_TAIL);
            one.cqTailAt = params.get(JAVA_INT, UringLayout.PARAMS_CQ_OFFSETS + UringLayout.CQ_TAIL);
            one.cqesAt = params.get(JAVA_INT, UringLayout.PARAMS_CQ_OFFSETS + UringLayout.CQ_ENTRIES);
            one.sqMask = params.get(JAVA_INT, UringLayout.PARAMS_SQ_ENTRIES) - 1;
            one.cqMask = params.get(JAVA_INT, UringLayout.PARAMS_CQ_ENTRIES) - 1;
            instances.put(descriptor, one);
        }
        return descriptor;
    }

    @Override
    @SuppressWarnings("restricted")
    public long map(final int ring, final long offset, final long length) {
        final long address = REAL.map(ring, offset, length);
        final Instance one = instances.get(ring);
        if (address > 0 && offset == UringLayout.MAP_RINGS) {
            one.rings = MemorySegment.ofAddress(address).reinterpret(length);
        } else if (address > 0) {
            one.entries = MemorySegment.ofAddress(address).reinterpret(length);
        }
        return address;
    }

    @Override
    public int enter(final int ring, final int submit, final int complete, final int flags,
                     final MemorySegment argument) {
        if (enterError != 0 && submit > 0) {
            return -enterError;
        }
        final Instance one = instances.get(ring);
        final int head = one.rings.get(JAVA_INT, one.sqHeadAt);
        // What was offered before and withdrawn is gone: the tail was moved back.
        if (one.sqTailSeen - head < 0) {
            one.sqTailSeen = head;
        }
        for (; one.sqTailSeen != head + submit; one.sqTailSeen++) {
            change(one, (one.sqTailSeen & one.sqMask) * UringLayout.SQE_BYTES);
        }
        final int result = REAL.enter(ring, submit, complete, flags, argument);
        final int tail = one.rings.get(JAVA_INT, one.cqTailAt);
        for (; one.cqTailSeen != tail; one.cqTailSeen++) {
            final long at = one.cqesAt + (one.cqTailSeen & one.cqMask) * UringLayout.CQE_BYTES;
            final Integer errno = one.errors.remove(one.rings.get(JAVA_LONG, at + UringLayout.CQE_USER_DATA));
            if (errno != null) {
                one.rings.set(JAVA_INT, at + UringLayout.CQE_RESULT, -errno);
            }
        }
        return result;
    }

    private void change(final Instance one, final long at) {
        final int opcode = one.entries.get(JAVA_BYTE, at + UringLayout.SQE_OPCODE);
        final long token = one.entries.get(JAVA_LONG, at + UringLayout.SQE_USER_DATA);
        if (Operations.kind(token) != Operations.KIND_IO) {
            if (deaf && opcode == UringLayout.OP_ASYNC_CANCEL) {
                replaceByNop(one, at, token);
            }
            return;
        }
        try {
            switch (opcode) {
                case UringLayout.OP_READ, UringLayout.OP_READ_FIXED -> changeTransfer(one, at, Call.READ);
                case UringLayout.OP_WRITE, UringLayout.OP_WRITE_FIXED -> changeTransfer(one, at, Call.WRITE);
                case UringLayout.OP_FSYNC -> faults.enter(Call.SYNC, NAME);
                default -> { }
            }
            if (opcode == UringLayout.OP_READ_FIXED || opcode == UringLayout.OP_WRITE_FIXED) {
                fixed.incrementAndGet();
            }
        } catch (final ErrnoException e) {
            replaceByNop(one, at, token);
            one.errors.put(token, e.errno());
        }
    }

    private static void replaceByNop(final Instance one, final long at, final long token) {
        one.entries.asSlice(at, UringLayout.SQE_BYTES).fill((byte) 0);
        one.entries.set(JAVA_INT, at + UringLayout.SQE_FD, -1);
        one.entries.set(JAVA_LONG, at + UringLayout.SQE_USER_DATA, token);
    }

    @SuppressWarnings("restricted")
    private void changeTransfer(final Instance one, final long at, final Call call) {
        faults.enter(call, NAME);
        final long address = one.entries.get(JAVA_LONG, at + UringLayout.SQE_ADDRESS);
        final int length = one.entries.get(JAVA_INT, at + UringLayout.SQE_LENGTH);
        final long offset = one.entries.get(JAVA_LONG, at + UringLayout.SQE_OFFSET);
        final long block = ((address | length | offset) & BLOCK - 1) == 0 ? BLOCK : 1;
        long allowed = faults.allowed(call, length, block, NAME);
        if (call == Call.WRITE) {
            allowed = faults.taken(allowed, block, NAME);
        } else {
            MemorySegment.ofAddress(address + allowed).reinterpret(length - allowed).fill(JUNK);
        }
        one.entries.set(JAVA_INT, at + UringLayout.SQE_LENGTH, (int) allowed);
    }

    @Override
    public int register(final int ring, final int operation, final MemorySegment argument, final int count) {
        if (registerError != 0 && operation == UringLayout.REGISTER_BUFFERS_UPDATE
            && argument.get(JAVA_LONG, UringLayout.UPDATE_DATA) != 0 && isSet(argument)) {
            return -registerError;
        }
        return REAL.register(ring, operation, argument, count);
    }

    /** Whether a slot is filled and not emptied. */
    @SuppressWarnings("restricted")
    private static boolean isSet(final MemorySegment update) {
        return MemorySegment.ofAddress(update.get(JAVA_LONG, UringLayout.UPDATE_DATA))
            .reinterpret(UringLayout.IOVEC_BYTES).get(JAVA_LONG, UringLayout.IOVEC_LENGTH) != 0;
    }

    @Override
    public void unmap(final long address, final long length) {
        REAL.unmap(address, length);
    }

    @Override
    public int eventDescriptor() {
        return REAL.eventDescriptor();
    }

    @Override
    public int wake(final int descriptor) {
        return REAL.wake(descriptor);
    }

    @Override
    public long pipe() {
        return REAL.pipe();
    }

    @Override
    public int awaitHangUp(final int readingEnd, final int limitMs) {
        // A kernel that does not cancel does not let go of the ring either, whatever the time.
        return deaf ? 0 : REAL.awaitHangUp(readingEnd, limitMs);
    }

    @Override
    public void close(final int descriptor) {
        instances.remove(descriptor);
        REAL.close(descriptor);
    }
}
