package io.kvtier.bindings.uring;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import io.kvtier.bindings.posix.Errno;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * A kernel that does as it is told: takes fewer entries than offered, fails calls, keeps operations for ever, ends them
 * late, twice or with any result, and lets the completion queue overflow. Reads and writes move nothing and end with
 * their length. A wait that nothing could end fails the test instead of blocking.
 */
final class SimulatedKernel implements UringKernel {
    static final UringFeatures FEATURES = new UringFeatures(0, UringLayout.FEATURE_SINGLE_MMAP
        | UringLayout.FEATURE_NODROP | UringLayout.FEATURE_EXT_ARG | UringLayout.FEATURE_RSRC_TAGS, -1);

    private static final long SQ_START = 0;
    private static final long CQ_START = 64;
    private static final long ARRAY_START = 128;

    /** What the kernel answers to setup beside the offsets. */
    int features = FEATURES.features();
    /** The operations that the probe reports, one bit each. */
    long operations = -1;
    /** Setup flags it does not know. */
    int unknownFlags;
    /** Whether operations other than the ring's own are kept rather than ended. */
    boolean holding;
    /** Whether cancel requests end nothing. */
    boolean deaf;
    /** Whether cancel requests end nothing, but closing the instance does. */
    boolean deafUntilClosed;
    /** Places that the completion queue has less than the ring was told. */
    int completionsMissing;

    private final Deque<Integer> setupErrors = new ArrayDeque<>();
    private final Deque<Integer> enterErrors = new ArrayDeque<>();
    private final Deque<Integer> limits = new ArrayDeque<>();
    private final Deque<Integer> results = new ArrayDeque<>();
    private final Map<Integer, Integer> registerErrors = new HashMap<>();
    private final Map<Integer, Instance> instances = new HashMap<>();
    private final List<Integer> registered = new ArrayList<>();
    private final Map<Long, Long> mappings = new HashMap<>();
    private int mapError;
    private int eventError;
    private int pipeError;
    private int pipeEnds;
    private final Set<Integer> eventDescriptors = new HashSet<>();
    private int secondEnterError;
    private int registerInterrupts;
    private int hangUpInterrupts;
    private final List<Integer> syncFlags = new ArrayList<>();
    private int events;
    private int nextDescriptor = 1000;
    private int entersMade;

    /** One ring of the kernel's. */
    private final class Instance {
        private final Arena arena = Arena.ofShared();
        private final int size;
        private final MemorySegment rings;
        private final MemorySegment entries;
        private final Deque<long[]> held = new ArrayDeque<>();
        private final Deque<long[]> overflow = new ArrayDeque<>();
        private final Deque<long[]> wakeReads = new ArrayDeque<>();

        Instance(final int size) {
            this.size = size;
            rings = arena.allocate(ARRAY_START + size * 4L + 2L * size * UringLayout.CQE_BYTES + 8, 8);
            entries = arena.allocate(size * UringLayout.SQE_BYTES, 8);
            rings.set(JAVA_INT, SQ_START + 8, size - 1);
            rings.set(JAVA_INT, CQ_START + 8, 2 * size - 1);
        }

        private long cqes() {
            return ARRAY_START + (size * 4L + 7 & ~7L);
        }

        private void post(final long token, final int result) {
            final int tail = rings.get(JAVA_INT, CQ_START + 4);
            if (tail - rings.get(JAVA_INT, CQ_START) >= 2 * size - completionsMissing) {
                overflow.add(new long[] {token, result});
                rings.set(JAVA_INT, SQ_START + 16, UringLayout.SQ_FLAG_CQ_OVERFLOW);
                return;
            }
            final long at = cqes() + (tail & 2 * size - 1) * UringLayout.CQE_BYTES;
            rings.set(JAVA_LONG, at, token);
            rings.set(JAVA_INT, at + 8, result);
            rings.set(JAVA_INT, CQ_START + 4, tail + 1);
        }

        private void flush() {
            rings.set(JAVA_INT, SQ_START + 16, 0);
            for (int left = overflow.size(); left > 0; left--) {
                final long[] one = overflow.poll();
                post(one[0], (int) one[1]);
            }
        }

        private int take(final int most) {
            int taken = 0;
            int head = rings.get(JAVA_INT, SQ_START);
            while (taken < most && head != rings.get(JAVA_INT, SQ_START + 4)) {
                start((head & size - 1) * UringLayout.SQE_BYTES);
                head++;
                taken++;
            }
            rings.set(JAVA_INT, SQ_START, head);
            return taken;
        }

        private void start(final long at) {
            final long token = entries.get(JAVA_LONG, at + UringLayout.SQE_USER_DATA);
            final int length = length(at);
            if (Operations.kind(token) == Operations.KIND_WAKE) {
                wakeReads.add(new long[] {token, length});
                wakeUp();
            } else if (entries.get(JAVA_BYTE, at) == UringLayout.OP_ASYNC_CANCEL) {
                cancel(token, entries.get(JAVA_LONG, at + UringLayout.SQE_ADDRESS));
            } else if (entries.get(JAVA_BYTE, at) == UringLayout.OP_FSYNC) {
                syncFlags.add(entries.get(JAVA_INT, at + UringLayout.SQE_OP_FLAGS));
                post(token, 0);
            } else if (holding) {
                held.add(new long[] {token, length});
            } else {
                post(token, results.isEmpty() ? length : results.poll());
            }
        }

        @SuppressWarnings("restricted") // An entry has addresses only.
        private int length(final long at) {
            final int length = entries.get(JAVA_INT, at + UringLayout.SQE_LENGTH);
            final byte opcode = entries.get(JAVA_BYTE, at + UringLayout.SQE_OPCODE);
            if (opcode != UringLayout.OP_READV && opcode != UringLayout.OP_WRITEV) {
                return length;
            }
            final MemorySegment vector = MemorySegment.ofAddress(entries.get(JAVA_LONG, at + UringLayout.SQE_ADDRESS))
                .reinterpret(length * UringLayout.IOVEC_BYTES);
            long sum = 0;
            for (int i = 0; i < length; i++) {
                sum += vector.get(JAVA_LONG, i * UringLayout.IOVEC_BYTES + UringLayout.IOVEC_LENGTH);
            }
            return Math.toIntExact(sum);
        }

        private void cancel(final long token, final long target) {
            if (wakeReads.removeIf(one -> one[0] == target)
                || !deaf && !deafUntilClosed && held.removeIf(one -> one[0] == target)) {
                post(target, -Errno.ECANCELED);
                post(token, 0);
            } else {
                post(token, -Errno.ENOENT);
            }
        }

        private void wakeUp() {
            if (events > 0 && !wakeReads.isEmpty()) {
                events = 0;
                post(wakeReads.poll()[0], 8);
            }
        }
    }

    SimulatedKernel failSetup(final int errno) {
        setupErrors.add(errno);
        return this;
    }

    SimulatedKernel failEnter(final int errno, final int times) {
        for (int i = 0; i < times; i++) {
            enterErrors.add(errno);
        }
        return this;
    }

    /** The enter after the next one fails. */
    void failSecondEnter(final int errno) {
        secondEnterError = errno;
    }

    /** The next enters take only so many entries, one number each. */
    SimulatedKernel limitEnter(final int... most) {
        for (final int one : most) {
            limits.add(one);
        }
        return this;
    }

    /** What the operations taken next end with. */
    SimulatedKernel endWith(final int... next) {
        for (final int one : next) {
            results.add(one);
        }
        return this;
    }

    /** Fails an io_uring_register operation until told otherwise with 0. */
    void failRegister(final int operation, final int errno) {
        registerErrors.put(operation, errno);
    }

    /** A signal interrupts the next calls of io_uring_register. */
    void interruptRegister(final int times) {
        registerInterrupts = times;
    }

    /** A signal interrupts the next waits for the end of an instance. */
    void interruptHangUp(final int times) {
        hangUpInterrupts = times;
    }

    /** The flags of the syncs taken so far. */
    List<Integer> syncFlags() {
        return syncFlags;
    }

    void failEvent(final int errno) {
        eventError = errno;
    }

    void failPipe(final int errno) {
        pipeError = errno;
    }

    void failMap(final int errno) {
        mapError = errno;
    }

    /** Ends what is held, last first. */
    synchronized void releaseHeld() {
        for (final Instance one : instances.values()) {
            while (!one.held.isEmpty()) {
                final long[] last = one.held.pollLast();
                one.post(last[0], (int) last[1]);
            }
        }
    }

    /** Lets a completion come that nobody waits for. */
    synchronized void post(final long token, final int result) {
        instances.values().iterator().next().post(token, result);
    }

    /** The token of the operation held longest. */
    synchronized long heldToken() {
        return instances.values().iterator().next().held.peek()[0];
    }

    List<Integer> registered() {
        return registered;
    }

    int openDescriptors() {
        return instances.size() + eventDescriptors.size() + pipeEnds;
    }

    int openMappings() {
        return mappings.size();
    }

    int enters() {
        return entersMade;
    }

    @Override
    public synchronized int setup(final int entries, final MemorySegment params) {
        if (!setupErrors.isEmpty()) {
            return -setupErrors.poll();
        }
        if ((params.get(JAVA_INT, UringLayout.PARAMS_FLAGS) & unknownFlags) != 0) {
            return -Errno.EINVAL;
        }
        int size = 1;
        while (size < entries) {
            size *= 2;
        }
        final Instance instance = new Instance(size);
        params.set(JAVA_INT, UringLayout.PARAMS_SQ_ENTRIES, size);
        params.set(JAVA_INT, UringLayout.PARAMS_CQ_ENTRIES, 2 * size);
        params.set(JAVA_INT, UringLayout.PARAMS_FEATURES, features);
        final MemorySegment sq = params.asSlice(UringLayout.PARAMS_SQ_OFFSETS);
        sq.set(JAVA_INT, UringLayout.SQ_HEAD, (int) SQ_START);
        sq.set(JAVA_INT, UringLayout.SQ_TAIL, (int) SQ_START + 4);
        sq.set(JAVA_INT, UringLayout.SQ_MASK, (int) SQ_START + 8);
        sq.set(JAVA_INT, UringLayout.SQ_FLAGS, (int) SQ_START + 16);
        sq.set(JAVA_INT, UringLayout.SQ_ARRAY, (int) ARRAY_START);
        final MemorySegment cq = params.asSlice(UringLayout.PARAMS_CQ_OFFSETS);
        cq.set(JAVA_INT, UringLayout.CQ_HEAD, (int) CQ_START);
        cq.set(JAVA_INT, UringLayout.CQ_TAIL, (int) CQ_START + 4);
        cq.set(JAVA_INT, UringLayout.CQ_MASK, (int) CQ_START + 8);
        cq.set(JAVA_INT, UringLayout.CQ_ENTRIES, (int) instance.cqes());
        instances.put(nextDescriptor, instance);
        return nextDescriptor++;
    }

    @Override
    public synchronized int enter(final int ring, final int submit, final int complete, final int flags,
                                  final MemorySegment argument) {
        entersMade++;
        final Instance instance = instances.get(ring);
        if (instance == null) {
            return -Errno.EBADF;
        }
        if ((flags & UringLayout.ENTER_GETEVENTS) != 0) {
            instance.flush();
        }
        if (!enterErrors.isEmpty()) {
            return -enterErrors.poll();
        }
        if (secondEnterError != 0) {
            enterErrors.add(secondEnterError);
            secondEnterError = 0;
        }
        final int taken = instance.take(limits.isEmpty() || submit == 0 ? submit : Math.min(submit, limits.poll()));
        if (taken < submit) {
            return taken;
        }
        final int ready = instance.rings.get(JAVA_INT, CQ_START + 4) - instance.rings.get(JAVA_INT, CQ_START);
        if (ready < complete) {
            if ((flags & UringLayout.ENTER_EXT_ARG) == 0) {
                throw new AssertionError("would wait for ever");
            }
            return taken > 0 ? taken : -Errno.ETIME;
        }
        return taken;
    }

    @Override
    public synchronized int register(final int ring, final int operation, final MemorySegment argument,
                                     final int count) {
        if (registerInterrupts > 0) {
            registerInterrupts--;
            return -Errno.EINTR;
        }
        final int errno = registerErrors.getOrDefault(operation, 0);
        if (errno != 0) {
            return -errno;
        }
        registered.add(operation);
        if (operation == UringLayout.REGISTER_PROBE) {
            argument.set(JAVA_BYTE, UringLayout.PROBE_LENGTH, (byte) count);
            for (int i = 0; i < count; i++) {
                argument.set(JAVA_SHORT, UringLayout.PROBE_BYTES + i * UringLayout.PROBE_OP_BYTES
                    + UringLayout.PROBE_OP_FLAGS, (short) (operations >>> i & 1));
            }
        }
        return 0;
    }

    @Override
    public synchronized long map(final int ring, final long offset, final long length) {
        if (mapError != 0) {
            return -mapError;
        }
        final Instance instance = instances.get(ring);
        final MemorySegment memory = offset == UringLayout.MAP_RINGS ? instance.rings : instance.entries;
        if (length > memory.byteSize()) {
            throw new AssertionError(length + " bytes mapped of " + memory.byteSize());
        }
        mappings.put(memory.address(), length);
        return memory.address();
    }

    @Override
    public synchronized void unmap(final long address, final long length) {
        if (!mappings.remove(address, length)) {
            throw new AssertionError("not mapped");
        }
    }

    @Override
    public synchronized int eventDescriptor() {
        if (eventError != 0) {
            return -eventError;
        }
        eventDescriptors.add(nextDescriptor);
        return nextDescriptor++;
    }

    @Override
    public synchronized int wake(final int descriptor) {
        events++;
        instances.values().forEach(Instance::wakeUp);
        return 0;
    }

    @Override
    public synchronized long pipe() {
        if (pipeError != 0) {
            return -pipeError;
        }
        pipeEnds += 2;
        return nextDescriptor++ | (long) nextDescriptor++ << Integer.SIZE;
    }

    /** A closed instance cancels what it holds, unless it is deaf: then it never goes. */
    @Override
    public synchronized int awaitHangUp(final int readingEnd, final int limitMs) {
        if (hangUpInterrupts > 0) {
            hangUpInterrupts--;
            return -Errno.EINTR;
        }
        return deaf ? 0 : 1;
    }

    @Override
    public synchronized void close(final int descriptor) {
        if (instances.remove(descriptor) == null && !eventDescriptors.remove((Integer) descriptor)) {
            pipeEnds--;
        }
    }
}
