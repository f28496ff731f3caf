package io.kvtier.bindings.uring;

import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;
import java.util.Deque;

/** The real kernel, offered fewer entries than the ring offers or not called at all, when told to. */
final class LimitedKernel implements UringKernel {
    private static final UringKernel REAL = LinuxKernel.INSTANCE;

    private final Deque<Integer> script = new ArrayDeque<>();

    /** The next submissions: a number from 0 on offers at most that many, one below 0 is returned without a call. */
    void script(final int... next) {
        for (final int one : next) {
            script.add(one);
        }
    }

    @Override
    public int setup(final int entries, final MemorySegment params) {
        return REAL.setup(entries, params);
    }

    @Override
    public int enter(final int ring, final int submit, final int complete, final int flags,
                     final MemorySegment argument) {
        if (submit == 0 || script.isEmpty()) {
            return REAL.enter(ring, submit, complete, flags, argument);
        }
        final int next = script.poll();
        return next < 0 ? next : REAL.enter(ring, Math.min(submit, next), 0, 0, MemorySegment.NULL);
    }

    @Override
    public int register(final int ring, final int operation, final MemorySegment argument, final int count) {
        return REAL.register(ring, operation, argument, count);
    }

    @Override
    public long map(final int ring, final long offset, final long length) {
        return REAL.map(ring, offset, length);
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
        return REAL.awaitHangUp(readingEnd, limitMs);
    }

    @Override
    public void close(final int descriptor) {
        REAL.close(descriptor);
    }
}
