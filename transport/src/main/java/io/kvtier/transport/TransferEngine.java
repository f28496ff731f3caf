package io.kvtier.transport;

import io.kvtier.alloc.MemoryRegion;
import io.kvtier.bindings.Availability;
import java.lang.foreign.MemorySegment;
import java.net.URI;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Moves bytes between local memory and segments, over the transports it was opened with.
 *
 * <p>A request is validated whole before any slice of its submit is queued: segment open, range not negative and not
 * overflowing, memory native and usable by other threads. It is then cut into slices, and handed to the first transport
 * in the order of the engine that serves the segment's kind, or to the hinted one. A read past the end of a file is
 * found by the transport and fails as SHORT.
 *
 * <p><b>Threading:</b> thread-safe. One lock guards the table of segments and the number of running transfers; it is
 * taken once a submit and once a transfer's end, never while bytes move. <b>Lifetime:</b> closing refuses new requests
 * and waits for running transfers; a transport that still has slices after the time limit is left open rather than its
 * memory pulled from under a system call, see {@link #abandoned()}.
 */
public final class TransferEngine implements AutoCloseable {
    private static final String FILE_SCHEME = "file";

    private final TransferConfig config;
    private final List<Transport> transports;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition idle = lock.newCondition();
    private final Map<String, OpenSegment> segments = new HashMap<>();
    private final Map<TransportKind, TransportCounts> counts = new EnumMap<>(TransportKind.class);
    private long running;
    private boolean closed;
    private boolean abandoned;

    private static final class OpenSegment {
        private final Segment segment;
        private long running;
        private boolean closing;

        OpenSegment(final Segment segment) {
            this.segment = segment;
        }
    }

    private TransferEngine(final TransferConfig config, final List<Transport> transports) {
        this.config = config;
        this.transports = transports;
        transports.forEach(transport -> counts.put(transport.capability().kind(), new TransportCounts()));
    }

    /**
     * Opens an engine.
     *
     * @param config     limits.
     * @param transports in order of preference; the engine closes them. One whose probe failed is kept only to say
     *                   why, and never chosen.
     * @return the engine.
     */
    public static TransferEngine open(final TransferConfig config, final List<Transport> transports) {
        return new TransferEngine(config, List.copyOf(transports));
    }

    /**
     * What each transport can do here.
     *
     * @return one capability a transport, in order of preference.
     */
    public List<Capability> capabilities() {
        return transports.stream().map(Transport::capability).toList();
    }

    /**
     * Whether a transport is here and its probe succeeded.
     *
     * @param kind the transport.
     * @return true when it can be used.
     */
    public boolean hasTransport(final TransportKind kind) {
        return availability(kind).available();
    }

    /**
     * Whether a transport can be used, and if not, why.
     *
     * @param kind the transport.
     * @return the answer of its probe.
     */
    public Availability availability(final TransportKind kind) {
        return transports.stream().map(Transport::capability).filter(capability -> capability.kind() == kind)
            .map(Capability::availability).findFirst()
            .orElse(Availability.no(kind + " was not given to this engine", "open the engine with this transport"));
    }

    /**
     * Opens a file as a segment. Opening a name that is open gives the same segment.
     *
     * @param address {@code file:///absolute/path} of an existing regular file.
     * @return the segment.
     * @throws IllegalArgumentException when the address is not of that form.
     * @throws io.kvtier.bindings.NativeException when the file cannot be opened; trying again tries again.
     */
    public Segment openSegment(final String address) {
        final URI uri = URI.create(address);
        if (!FILE_SCHEME.equals(uri.getScheme()) || uri.getHost() != null || uri.getPath() == null
            || !uri.getPath().startsWith("/")) {
            throw new IllegalArgumentException("cannot open segment '" + address
                + "': the form is file:///absolute/path");
        }
        return add(new Segment(address, Segment.Kind.FILE, null));
    }

    /**
     * Makes a region addressable as a segment. The region stays the caller's, who closes it after the segment.
     *
     * @param name   a name that no other segment has.
     * @param region the memory.
     * @return the segment.
     */
    public Segment register(final String name, final MemoryRegion region) {
        return add(new Segment(name, Segment.Kind.MEMORY, region));
    }

    /**
     * Closes a segment after its running transfers have ended; new requests on it are refused at once.
     *
     * @param segment the segment; one that is closed already is left alone.
     */
    public void close(final Segment segment) {
        final OpenSegment open;
        lock.lock();
        try {
            open = segments.get(segment.name());
            if (open == null || open.segment != segment || open.closing) {
                return;
            }
            open.closing = true;
            while (open.running > 0) {
                idle.awaitUninterruptibly();
            }
            segments.remove(segment.name());
        } finally {
            lock.unlock();
        }
        closeHandles(segment);
    }

    /**
     * Moves bytes. All requests are validated before any is started; waits while a transport's queue is full.
     *
     * @param requests what to move.
     * @return their common progress.
     * @throws TransferException INVALID, naming the request, when one cannot be done; none was started then.
     */
    public Transfer submit(final List<TransferRequest> requests) {
        return begin(requests, false);
    }

    /**
     * Moves bytes as {@link #submit}, for a caller that waits for them next. A calling platform thread then does a
     * single slice's blocking call itself, which spares two thread switches, about as long as a small read takes; a
     * virtual thread, or a request of several slices, which can overlap, goes to the threads of the engine.
     *
     * @param requests what to move.
     * @return their common progress, often over.
     * @throws TransferException as for {@link #submit}.
     */
    public Transfer submitAndWaitNext(final List<TransferRequest> requests) {
        return begin(requests, !Thread.currentThread().isVirtual());
    }

    private Transfer begin(final List<TransferRequest> requests, final boolean here) {
        final List<OpenSegment> entered = enter(requests);
        final List<Planned> plan;
        final Transfer transfer;
        try {
            long bytes = 0;
            for (final TransferRequest request : requests) {
                bytes += request.length();
            }
            transfer = new Transfer(bytes, () -> leave(entered));
            plan = plan(requests, transfer);
        } catch (final RuntimeException e) {
            leave(entered);
            throw e;
        }
        final boolean single = here && plan.size() == 1 && plan.getFirst().slices().size() == 1;
        for (final Planned planned : plan) {
            counts.get(planned.transport().capability().kind()).add(planned.slices());
            planned.slices().forEach(slice -> start(planned.transport(), slice, single));
        }
        transfer.sliceEnded(0, null);
        return transfer;
    }

    /**
     * Makes what was written to a segment so far durable.
     *
     * @param segment the segment.
     * @return ends when durable.
     */
    public Transfer sync(final Segment segment) {
        final List<OpenSegment> entered = enter(List.of(segment), 0);
        final Transfer transfer = new Transfer(0, () -> leave(entered));
        for (final Transport transport : transports) {
            final TransportSegment handle = segment.handle(transport.capability().kind());
            if (handle != null) {
                transfer.sliceAdded();
                final Slice slice = new Slice(transfer, Direction.WRITE, MemorySegment.NULL, segment,
                    handle, 0);
                try {
                    transport.sync(slice);
                } catch (final RuntimeException | Error e) {
                    slice.failed(e);
                }
            }
        }
        transfer.sliceEnded(0, null);
        return transfer;
    }

    /**
     * What each transport has done.
     *
     * @return one record a transport.
     */
    public List<TransportStats> stats() {
        return counts.entrySet().stream().map(entry -> entry.getValue().stats(entry.getKey())).toList();
    }

    /**
     * Whether closing gave up on transfers that did not end in time. Their memory must then stay mapped.
     *
     * @return true when transports were left open.
     */
    public boolean abandoned() {
        lock.lock();
        try {
            return abandoned;
        } finally {
            lock.unlock();
        }
    }

    /** Refuses new requests, waits for running ones, closes segments and transports. A second call does nothing. */
    @Override
    public void close() {
        final List<Runnable> closings = new ArrayList<>();
        lock.lock();
        try {
            if (closed && !abandoned) {
                return;
            }
            closed = true;
            abandoned = !awaitIdle();
            if (abandoned) {
                return;
            }
            // Taken under the lock: a segment may be closed by another thread just now.
            segments.values().forEach(open -> closings.add(() -> closeHandles(open.segment)));
            segments.clear();
        } finally {
            lock.unlock();
        }
        transports.forEach(transport -> closings.add(transport::close));
        closeAll(closings);
    }

    private record Planned(Transport transport, List<Slice> slices) {
    }

    private Segment add(final Segment segment) {
        lock.lock();
        try {
            checkOpen();
            final OpenSegment known = segments.get(segment.name());
            if (known != null) {
                return sameOrRefused(known, segment);
            }
            segment.attach(openHandles(segment));
            segments.put(segment.name(), new OpenSegment(segment));
            return segment;
        } finally {
            lock.unlock();
        }
    }

    private static Segment sameOrRefused(final OpenSegment known, final Segment asked) {
        if (known.closing || known.segment.region() != asked.region()) {
            throw new IllegalStateException("segment " + asked.name() + (known.closing ? " is being closed"
                : " is registered with another region; use another name"));
        }
        return known.segment;
    }

    private Map<TransportKind, TransportSegment> openHandles(final Segment segment) {
        final Map<TransportKind, TransportSegment> handles = new EnumMap<>(TransportKind.class);
        try {
            for (final Transport transport : transports) {
                final Capability capability = transport.capability();
                if (capability.availability().available() && capability.segments().contains(segment.kind())) {
                    handles.put(capability.kind(), transport.open(segment));
                }
            }
        } catch (final RuntimeException e) {
            handles.values().forEach(TransportSegment::close);
            throw e;
        }
        if (handles.isEmpty()) {
            throw new IllegalStateException("no transport of this engine serves " + segment.kind() + " segments: "
                + capabilities());
        }
        return handles;
    }

    private List<Planned> plan(final List<TransferRequest> requests, final Transfer transfer) {
        final List<Planned> plan = new ArrayList<>(requests.size());
        for (int i = 0; i < requests.size(); i++) {
            final TransferRequest request = requests.get(i);
            final Transport transport = choose(request, i);
            final List<Slice> slices = cut(request, transport, transfer);
            for (final Slice slice : slices) {
                final String problem = transport.check(slice);
                if (problem != null) {
                    throw invalid(request, i, problem);
                }
            }
            plan.add(new Planned(transport, slices));
        }
        return plan;
    }

    private Transport choose(final TransferRequest request, final int index) {
        final Segment segment = request.segment();
        Transport first = null;
        for (final Transport transport : transports) {
            final TransportKind kind = transport.capability().kind();
            if (segment.handle(kind) != null) {
                if (request.hint() == kind) {
                    return transport;
                }
                if (first == null) {
                    first = transport;
                }
            }
        }
        if (request.hint() != null && request.strict()) {
            throw invalid(request, index, "transport " + request.hint() + " was demanded and cannot serve it: "
                + availability(request.hint()).reason());
        }
        return first;
    }

    private List<Slice> cut(final TransferRequest request, final Transport transport, final Transfer transfer) {
        final TransportSegment handle = request.segment().handle(transport.capability().kind());
        final long sliceBytes = config.sliceBytes();
        final List<Slice> slices = new ArrayList<>(Math.toIntExact(request.length() / sliceBytes + 1));
        for (long done = 0; done < request.length(); done += sliceBytes) {
            final long length = Math.min(sliceBytes, request.length() - done);
            slices.add(new Slice(transfer, request.direction(), request.local().segment().asSlice(done, length),
                request.segment(), handle, request.offset() + done));
        }
        return slices;
    }

    private static void start(final Transport transport, final Slice slice, final boolean here) {
        slice.added();
        try {
            if (here) {
                transport.run(slice);
            } else {
                transport.submit(slice);
            }
        } catch (final RuntimeException | Error e) {
            // An Error too (no thread left, for one), or the transfer would never end.
            slice.failed(e);
        }
    }

    private List<OpenSegment> enter(final List<TransferRequest> requests) {
        final List<Segment> wanted = new ArrayList<>(requests.size());
        for (int i = 0; i < requests.size(); i++) {
            final TransferRequest request = requests.get(i);
            final long end = request.offset() + request.length();
            if (request.offset() < 0 || end < request.offset()) {
                throw invalid(request, i, "offset " + request.offset() + " is negative or runs past 2^63");
            }
            final MemorySegment local = request.local().segment();
            if (!local.isNative()) {
                throw invalid(request, i, "the local memory is a heap array, which can move; copy it to native memory");
            }
            if (request.direction() == Direction.READ && local.isReadOnly()) {
                throw invalid(request, i, "the local memory to read into is read-only");
            }
            wanted.add(request.segment());
        }
        return enter(wanted, requests.size());
    }

    private List<OpenSegment> enter(final List<Segment> wanted, final int requests) {
        final List<OpenSegment> entered = new ArrayList<>(requests);
        lock.lock();
        try {
            checkOpen();
            for (final Segment segment : wanted) {
                final OpenSegment open = segments.get(segment.name());
                if (open == null || open.segment != segment || open.closing) {
                    throw new TransferException(new TransferFailure(TransferFailure.Kind.INVALID, "", 0, false,
                        segment.name(), 0, 0, "the segment is closed; open it again"));
                }
                entered.add(open);
            }
            entered.forEach(open -> open.running++);
            running++;
        } finally {
            lock.unlock();
        }
        return entered;
    }

    private void leave(final List<OpenSegment> entered) {
        lock.lock();
        try {
            entered.forEach(open -> open.running--);
            running--;
            idle.signalAll();
        } finally {
            lock.unlock();
        }
    }

    private boolean awaitIdle() {
        long left = TimeUnit.MILLISECONDS.toNanos(config.closeTimeoutMs());
        boolean interrupted = false;
        while (running > 0 && left > 0) {
            try {
                left = idle.awaitNanos(left);
            } catch (final InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        return running == 0;
    }

    private void checkOpen() {
        if (closed) {
            throw new IllegalStateException("the transfer engine is closed");
        }
    }

    private static void closeHandles(final Segment segment) {
        final List<Runnable> closings = new ArrayList<>();
        segment.handles().forEach(handle -> closings.add(handle::close));
        closeAll(closings);
    }

    /** Runs all of it; the first exception is thrown at the end and carries the others. */
    private static void closeAll(final List<Runnable> closings) {
        RuntimeException first = null;
        for (final Runnable closing : closings) {
            try {
                closing.run();
            } catch (final RuntimeException e) {
                if (first == null) {
                    first = e;
                } else if (first != e) {
                    first.addSuppressed(e);
                }
            }
        }
        if (first != null) {
            throw first;
        }
    }

    private static TransferException invalid(final TransferRequest request, final int index, final String problem) {
        return new TransferException(new TransferFailure(TransferFailure.Kind.INVALID, "", 0, false,
            request.segment().name(), request.offset(), request.length(), "request " + index + ": " + problem));
    }
}
