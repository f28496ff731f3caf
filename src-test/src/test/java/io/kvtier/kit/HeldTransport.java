package io.kvtier.kit;

import io.kvtier.alloc.MemoryRegion;
import io.kvtier.bindings.Availability;
import io.kvtier.transport.Capability;
import io.kvtier.transport.Segment;
import io.kvtier.transport.SegmentTarget;
import io.kvtier.transport.Slice;
import io.kvtier.transport.Transport;
import io.kvtier.transport.TransportKind;
import io.kvtier.transport.TransportSegment;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;

/** A transport that moves nothing: it keeps the slices, and a test ends them one by one. */
public final class HeldTransport implements Transport {
    private final Capability capability;
    private final List<Slice> slices = new CopyOnWriteArrayList<>();
    private final List<Slice> syncs = new CopyOnWriteArrayList<>();
    private final List<Slice> cancels = new CopyOnWriteArrayList<>();
    private final List<MemoryRegion> attached = new CopyOnWriteArrayList<>();
    private final AtomicInteger flushes = new AtomicInteger();
    private final AtomicInteger aborts = new AtomicInteger();
    private final AtomicInteger openHandles = new AtomicInteger();
    private final AtomicInteger closes = new AtomicInteger();
    private volatile Throwable openFailure;
    private volatile Throwable closeFailure;
    private volatile Throwable submitFailure;
    private volatile Throwable cancelFailure;
    private volatile Throwable checkFailure;
    private volatile Throwable flushFailure;
    private volatile String problem;

    private volatile Availability attachAnswer = Availability.yes("held by a test");

    public HeldTransport(final TransportKind kind, final Segment.Kind... segments) {
        this(kind, Availability.yes("held by a test"), segments);
    }

    public HeldTransport(final TransportKind kind, final Availability availability, final Segment.Kind... segments) {
        capability = new Capability(kind, Set.of(segments), availability);
    }

    /** Slices given so far, in order, ended ones included. */
    public List<Slice> slices() {
        return List.copyOf(slices);
    }

    /** Lets go of the slices given so far. */
    public void forget() {
        slices.clear();
        cancels.clear();
    }

    public List<Slice> syncs() {
        return List.copyOf(syncs);
    }

    /** Slices that were asked to end early, in order. */
    public List<Slice> cancels() {
        return List.copyOf(cancels);
    }

    /** Regions that are attached now. */
    public List<MemoryRegion> attached() {
        return List.copyOf(attached);
    }

    public int flushes() {
        return flushes.get();
    }

    public int aborts() {
        return aborts.get();
    }

    /** What attaching a region answers. */
    public void answerAttach(final Availability answer) {
        attachAnswer = answer;
    }

    public int openHandles() {
        return openHandles.get();
    }

    public int closes() {
        return closes.get();
    }

    /** Lets opening a segment fail; null to let it go well again. */
    public void failOpen(final Throwable failure) {
        openFailure = failure;
    }

    /** Lets closing handles and the transport fail, after they were closed. */
    public void failClose(final Throwable failure) {
        closeFailure = failure;
    }

    /** Lets submit and sync throw a runtime exception or an error. */
    public void failSubmit(final Throwable failure) {
        submitFailure = failure;
    }

    /** Lets check throw a runtime exception or an error; null to let it answer again. */
    public void failCheck(final Throwable failure) {
        checkFailure = failure;
    }

    /** Lets flush throw a runtime exception or an error. */
    public void failFlush(final Throwable failure) {
        flushFailure = failure;
    }

    /** Lets cancel throw a runtime exception or an error, after it was noted; null to let it be. */
    public void failCancel(final Throwable failure) {
        cancelFailure = failure;
    }

    /** What check says of every slice; null for nothing wrong. */
    public void refuse(final String words) {
        problem = words;
    }

    @Override
    public Capability capability() {
        return capability;
    }

    @Override
    public TransportSegment open(final SegmentTarget target) {
        throwIfAny(openFailure);
        openHandles.incrementAndGet();
        return new Handle();
    }

    @Override
    public String check(final Slice slice) {
        throwIfAny(checkFailure);
        return problem;
    }

    @Override
    public void submit(final Slice slice) {
        throwIfAny(submitFailure);
        slices.add(slice);
    }

    @Override
    public void sync(final Slice slice) {
        throwIfAny(submitFailure);
        syncs.add(slice);
    }

    @Override
    public void flush() {
        flushes.incrementAndGet();
        throwIfAny(flushFailure);
    }

    @Override
    public void cancel(final Slice slice) {
        cancels.add(slice);
        throwIfAny(cancelFailure);
    }

    @Override
    public void abort() {
        aborts.incrementAndGet();
    }

    @Override
    public Availability attach(final MemoryRegion region) {
        if (attachAnswer.available()) {
            attached.add(region);
        }
        return attachAnswer;
    }

    @Override
    public void detach(final MemoryRegion region) {
        attached.remove(region);
    }

    @Override
    public void close() {
        closes.incrementAndGet();
        throwIfAny(closeFailure);
    }

    private static void throwIfAny(final Throwable failure) {
        if (failure instanceof Error error) {
            throw error;
        }
        if (failure instanceof RuntimeException exception) {
            throw exception;
        }
    }

    private final class Handle implements TransportSegment {
        private boolean closed;

        @Override
        public long byteSize() {
            return Long.MAX_VALUE;
        }

        @Override
        public synchronized void close() {
            if (!closed) {
                closed = true;
                openHandles.decrementAndGet();
                throwIfAny(closeFailure);
            }
        }
    }
}
