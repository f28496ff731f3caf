package io.kvtier.transport;

import io.kvtier.alloc.MemoryRegion;
import io.kvtier.bindings.Availability;
import java.lang.System.Logger;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Moves bytes between local memory and segments, over the transports it was opened with.
 *
 * <p>A submit is validated whole before any slice of it is queued: segment open, range not negative and not
 * overflowing, memory native, open and usable by other threads. Each request goes to the first transport of the rule
 * of the {@linkplain Selection table} that fits it and takes its memory, or to the hinted one; a slice that fails there
 * for a reason that another transport need not share is tried on the next one. A read past the end of a file fails as
 * SHORT.
 *
 * <p>What is under way in all transports together is bounded, see {@link TransferConfig}: a submit beyond waits, in the
 * order of arrival, or is refused.
 *
 * <p><b>Threading:</b> thread-safe. A submit and an end take no lock of the engine while there is room.
 * <b>Lifetime:</b> closing refuses new requests and waits for running transfers, then asks them to end early and waits
 * again; a transport that still has slices then is left open rather than its memory pulled from under a device, see
 * {@link #abandoned()}.
 * <b>Blocking:</b> {@code submit} while there is no room; {@link #submitAndWaitNext} while bytes move.
 */
public final class TransferEngine implements AutoCloseable {
    private static final Logger LOG = System.getLogger(TransferEngine.class.getName());

    private final TransferConfig config;
    private final Map<TransportKind, Transport> transports;
    private final List<Transport> given;
    private final Map<TransportKind, TransportCounts> counts = new EnumMap<>(TransportKind.class);
    private final SegmentRegistry registry = new SegmentRegistry();
    private final Admission admission;
    private final ReentrantLock closeLock = new ReentrantLock();
    private final Deadlines deadlines = new Deadlines();
    private boolean closed;
    private volatile boolean abandoned;
    private final AtomicLong lost = new AtomicLong();

    private TransferEngine(final TransferConfig config, final List<Transport> given) {
        this.config = config;
        this.given = given;
        this.admission = new Admission(config.maxOutstanding(), config.maxOutstandingBytes());
        final Map<TransportKind, Transport> byKind = new EnumMap<>(TransportKind.class);
        for (final Transport transport : given) {
            final TransportKind kind = transport.capability().kind();
            if (byKind.put(kind, transport) != null) {
                throw new IllegalArgumentException("two transports are " + kind + "; give one of each kind");
            }
            counts.put(kind, new TransportCounts());
        }
        transports = Collections.unmodifiableMap(byKind);
    }

    /**
     * Opens an engine.
     *
     * @param config     limits, and the table by which transports are chosen.
     * @param transports at most one of each kind; the engine closes them. One whose probe failed is kept only to say
     *                   why, and never chosen.
     * @return the engine.
     */
    public static TransferEngine open(final TransferConfig config, final List<Transport> transports) {
        return new TransferEngine(config, List.copyOf(transports));
    }

    /**
     * What each transport can do here.
     *
     * @return one capability a transport, in the order in which they were given.
     */
    public List<Capability> capabilities() {
        return given.stream().map(Transport::capability).toList();
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
        final Transport transport = transports.get(kind);
        return transport == null
            ? Availability.no(kind + " was not given to this engine", "open the engine with this transport")
            : transport.capability().availability();
    }

    /**
     * Opens a segment that needs no token.
     *
     * @param address {@code file:///absolute/path} of an existing file, {@code shm:///absolute/path} or
     *                {@code tcp://host:port/name}; see {@link SegmentAddress}.
     * @return the segment, to be closed.
     * @throws IllegalArgumentException when the address has none of the forms.
     * @throws io.kvtier.bindings.NativeException when the segment cannot be opened; trying again tries again.
     * @throws TransferException        when the process that serves it cannot be reached, or refuses.
     */
    public Segment openSegment(final String address) {
        return openSegment(address, AccessToken.NONE);
    }

    /**
     * Opens a segment. A name that is open is shared, unless a file was replaced by another of its name meanwhile: then
     * the new one is opened, and the old one stays as it is for those who have it.
     *
     * @param address {@code file:///absolute/path} of an existing file, {@code shm:///absolute/path} or
     *                {@code tcp://host:port/name}; see {@link SegmentAddress}.
     * @param token   what to show to the process that serves the segment.
     * @return the segment, to be closed.
     * @throws IllegalArgumentException when the address has none of the forms.
     * @throws io.kvtier.bindings.NativeException when the segment cannot be opened; trying again tries again.
     * @throws TransferException        when the process that serves it cannot be reached, or refuses.
     */
    public Segment openSegment(final String address, final AccessToken token) {
        final SegmentAddress parsed = SegmentAddress.parse(address);
        return open(new SegmentTarget(parsed, null, token), SegmentRegistry.identity(parsed, token));
    }

    /**
     * Opens a segment that needs no token, with descriptors of its own, whoever has the same name open: for one that is
     * opened because something is wrong with those that are.
     *
     * @param address as of {@link #openSegment(String)}.
     * @return the segment, to be closed.
     * @throws IllegalArgumentException when the address has none of the forms.
     * @throws io.kvtier.bindings.NativeException when the segment cannot be opened; trying again tries again.
     */
    public Segment openSegmentAnew(final String address) {
        final SegmentTarget target = new SegmentTarget(SegmentAddress.parse(address), null, AccessToken.NONE);
        return new Segment(this, registry, registry.own(() -> opened(target, null)));
    }

    /**
     * Makes a region addressable as a segment. The region stays the caller's, who closes it after the segment.
     *
     * @param name   a name that no other region has.
     * @param region the memory.
     * @return the segment, to be closed.
     */
    public Segment register(final String name, final MemoryRegion region) {
        return open(new SegmentTarget(new SegmentAddress(name, Segment.Kind.MEMORY, "", 0, ""), region,
            AccessToken.NONE), null);
    }

    /**
     * Prepares memory for many transfers: pins it and makes it known to devices, as far as each transport can.
     *
     * @param region long-lived memory, such as the tier that transfers read from and write to.
     * @return what was prepared, to be closed.
     * @throws IllegalStateException when the region is closed.
     */
    public Registration register(final MemoryRegion region) {
        if (!region.tryRetain()) {
            throw new IllegalStateException("cannot register " + region + ": it is closed");
        }
        final Map<TransportKind, Availability> results = new EnumMap<>(TransportKind.class);
        final List<Transport> prepared = new ArrayList<>();
        try {
            for (final Transport transport : given) {
                final Capability capability = transport.capability();
                if (capability.availability().available() && capability.memory().contains(region.kind())) {
                    final Availability result = transport.attach(region);
                    results.put(capability.kind(), result);
                    if (result.available()) {
                        prepared.add(transport);
                    }
                }
            }
        } catch (final RuntimeException | Error e) {
            new Registration(region, results, prepared).close();
            throw e;
        }
        return new Registration(region, results, prepared);
    }

    /**
     * A transfer to be filled and submitted, and used again afterwards.
     *
     * @return an empty transfer.
     */
    public Transfer newTransfer() {
        return new Transfer(this);
    }

    /**
     * Moves bytes; waits while there is no room.
     *
     * @param requests what to move.
     * @return their common progress.
     * @throws TransferException INVALID, naming the request, when one cannot be done; none was started then.
     */
    public Transfer submit(final List<TransferRequest> requests) {
        return submit(requests, TransferOptions.DEFAULT);
    }

    /**
     * Moves bytes.
     *
     * @param requests what to move. All are validated before any is started.
     * @param options  time limit, and what to do when there is no room.
     * @return their common progress.
     * @throws TransferException INVALID, naming the request, when one cannot be done; BUSY when there is no room;
     *                           TIMEOUT when there was none in time. None was started then.
     */
    public Transfer submit(final List<TransferRequest> requests, final TransferOptions options) {
        final Transfer transfer = newTransfer();
        requests.forEach(transfer::add);
        begin(transfer, options, false);
        return transfer;
    }

    /**
     * Moves bytes as {@link #submit(List)}, for a caller that waits for them next. A calling platform thread then does
     * a single slice's blocking call itself, which spares two thread switches, about as long as a small read takes; a
     * virtual thread, or a request of several slices, which can overlap, goes to the threads of the engine.
     *
     * @param requests what to move.
     * @return their common progress, often over.
     * @throws TransferException as for {@link #submit(List)}.
     */
    public Transfer submitAndWaitNext(final List<TransferRequest> requests) {
        final Transfer transfer = newTransfer();
        requests.forEach(transfer::add);
        submitAndWaitNext(transfer);
        return transfer;
    }

    /**
     * Moves what a transfer was filled with; waits while there is no room.
     *
     * @param transfer of this engine.
     * @throws TransferException     as for {@link #submit(List)}; it can be submitted again, or cleared.
     * @throws IllegalStateException when it was submitted already, and not cleared since.
     */
    public void submit(final Transfer transfer) {
        begin(transfer, TransferOptions.DEFAULT, false);
    }

    /**
     * Moves what a transfer was filled with.
     *
     * @param transfer of this engine.
     * @param options  time limit, and what to do when there is no room.
     * @throws TransferException     as for {@link #submit(List, TransferOptions)}; it can be submitted again, or
     *                               cleared.
     * @throws IllegalStateException when it was submitted already, and not cleared since.
     */
    public void submit(final Transfer transfer, final TransferOptions options) {
        begin(transfer, options, false);
    }

    /**
     * Moves what a transfer was filled with, for a caller that waits for it next; see {@link #submitAndWaitNext(List)}.
     *
     * @param transfer of this engine.
     * @throws TransferException     as for {@link #submit(List)}; it can be submitted again, or cleared.
     * @throws IllegalStateException when it was submitted already, and not cleared since.
     */
    public void submitAndWaitNext(final Transfer transfer) {
        begin(transfer, TransferOptions.DEFAULT, true);
    }

    /**
     * Moves what a transfer was filled with, for a caller that waits for it next; see {@link #submitAndWaitNext(List)}.
     *
     * @param transfer of this engine.
     * @param options  time limit, and what to do when there is no room. What the limit ends early is ended here as by
     *                 {@link #submit(Transfer, TransferOptions)}: a system call of a file is not.
     * @throws TransferException     as for {@link #submit(List, TransferOptions)}; it can be submitted again, or
     *                               cleared.
     * @throws IllegalStateException when it was submitted already, and not cleared since.
     */
    public void submitAndWaitNext(final Transfer transfer, final TransferOptions options) {
        begin(transfer, options, true);
    }

    /**
     * Makes what was written to a segment so far durable, by whatever transport it was written: by each of them that
     * has written anything.
     *
     * @param segment the segment.
     * @return ends when durable.
     */
    public Transfer sync(final Segment segment) {
        final Transfer transfer = newTransfer();
        segment.open().syncRoutes().forEach(route -> transfer.slices().addCall(segment, route));
        enter(transfer, TransferOptions.DEFAULT);
        transfer.startSyncs();
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
     * How much is under way.
     *
     * @return slices, in all transports together.
     */
    public long outstanding() {
        return admission.slices();
    }

    /**
     * How much is under way.
     *
     * @return bytes, in all transports together.
     */
    public long outstandingBytes() {
        return admission.bytes();
    }

    /**
     * Transfers that have ended without being {@linkplain Transfer#isSettled() settled}: something may move bytes of
     * them until the process ends.
     *
     * @return how many so far.
     */
    public long lostTransfers() {
        return lost.get();
    }

    /**
     * Whether closing gave up on transfers that did not end in time. Their memory must then stay mapped.
     *
     * @return true when transports were left open.
     */
    public boolean abandoned() {
        return abandoned;
    }

    /**
     * Refuses new requests, waits for running ones, closes segments and transports. A second call does nothing, or
     * tries once more when the first one gave up.
     */
    @Override
    public void close() {
        closeLock.lock();
        try {
            if (closed && !abandoned) {
                return;
            }
            closed = true;
            admission.close();
            abandoned = !awaitIdle();
            if (abandoned) {
                return;
            }
            try (Closings closings = new Closings()) {
                given.forEach(transport -> closings.keep(transport, Transport::close));
                registry.close().forEach(
                    open -> closings.add(() -> SegmentRegistry.closeHandles(open.handles().values())));
                deadlines.close();
            }
        } finally {
            closeLock.unlock();
        }
    }

    TransferConfig config() {
        return config;
    }

    void giveBack(final long charge) {
        admission.giveBack(charge);
    }

    void lost() {
        lost.incrementAndGet();
    }

    Deadlines deadlines() {
        return deadlines;
    }

    private void begin(final Transfer transfer, final TransferOptions options, final boolean waitsNext) {
        enter(transfer, options);
        transfer.startAll(waitsNext && transfer.slices().size() == 1 && !Thread.currentThread().isVirtual());
    }

    /** Everything that may refuse the transfer; when this returns, it is counted and must be started. */
    private void enter(final Transfer transfer, final TransferOptions options) {
        final long now = options.timeoutMs() == 0 ? 0 : System.nanoTime();
        final long limit = TimeUnit.MILLISECONDS.toNanos(options.timeoutMs());
        if (admission.isClosed()) {
            throw closedException();
        }
        transfer.begin();
        boolean entered = false;
        long taken = 0;
        try {
            transfer.slices().enter();
            entered = true;
            final long charge = admission.charge(transfer.slices().size(), transfer.bytes());
            admit(transfer, charge, options, now == 0 ? 0 : now + limit);
            taken = charge;
            transfer.admitted(charge);
            if (now != 0) {
                transfer.endBy(options.timeoutMs(), now + limit);
            }
        } catch (final RuntimeException | Error e) {
            // After the admission too: there may be no thread to look after its time.
            admission.giveBack(taken);
            if (entered) {
                transfer.slices().leave(true);
            }
            transfer.abandon();
            throw e;
        }
    }

    private void admit(final Transfer transfer, final long charge, final TransferOptions options,
        final long deadlineNanos) {
        // A thread of a transport that waited for room would wait for itself.
        final boolean wait = options.whenFull() == TransferOptions.WhenFull.WAIT && !IoThreads.isIoThread();
        switch (admission.take(charge, wait, deadlineNanos)) {
            case ADMITTED -> { }
            case CLOSED -> throw closedException();
            case TIMEOUT -> throw refused(TransferFailure.Kind.TIMEOUT, transfer, "there was no room for it within "
                + options.timeoutMs() + " ms: ");
            default -> throw refused(TransferFailure.Kind.BUSY, transfer, "there is no room for it, and "
                + (options.whenFull() == TransferOptions.WhenFull.WAIT ? "a callback cannot wait: "
                    : "it was not to wait: "));
        }
    }

    private static IllegalStateException closedException() {
        return new IllegalStateException("the transfer engine is closed");
    }

    private TransferException refused(final TransferFailure.Kind kind, final Transfer transfer, final String why) {
        return new TransferException(new TransferFailure(kind, "", 0, true, "", 0, transfer.bytes(), why
            + admission.slices() + " of " + config.maxOutstanding() + " slices and " + admission.bytes() + " of "
            + config.maxOutstandingBytes() + " bytes are under way; try later, or raise maxOutstanding and "
            + "maxOutstandingBytes"));
    }

    private boolean awaitIdle() {
        final long nanos = TimeUnit.MILLISECONDS.toNanos(config.closeTimeoutMs());
        if (admission.awaitEmpty(nanos)) {
            return true;
        }
        given.forEach(Transport::abort);
        return admission.awaitEmpty(nanos);
    }

    private Segment open(final SegmentTarget target, final Object identity) {
        final OpenSegment wanted = new OpenSegment(target, identity, Map.of(), Map.of());
        return new Segment(this, registry, registry.share(wanted, () -> opened(target, identity)));
    }

    private OpenSegment opened(final SegmentTarget target, final Object identity) {
        final Map<TransportKind, TransportSegment> handles = new EnumMap<>(TransportKind.class);
        OpenSegment opened = null;
        try {
            final Map<TransportKind, String> refusals = openHandles(target, handles);
            final OpenSegment laid = new OpenSegment(target, identity, handles, refusals);
            laid.lay(config.selection(), transports, counts);
            opened = laid;
            return opened;
        } finally {
            if (opened == null) {
                // An error, with some of them open: too little memory, or a library that cannot be linked.
                SegmentRegistry.closeHandles(handles.values());
            }
        }
    }

    /** Opens the segment in every transport that serves its kind, it is enough that one can; why others cannot. */
    private Map<TransportKind, String> openHandles(final SegmentTarget target,
        final Map<TransportKind, TransportSegment> handles) {
        final Map<TransportKind, String> refusals = new EnumMap<>(TransportKind.class);
        RuntimeException first = null;
        for (final Transport transport : given) {
            final Capability capability = transport.capability();
            if (capability.availability().available() && capability.segments().contains(target.address().kind())) {
                try {
                    handles.put(capability.kind(), transport.open(target));
                } catch (final RuntimeException e) {
                    first = first == null ? e : first;
                    refusals.put(capability.kind(), String.valueOf(e.getMessage()));
                }
            }
        }
        if (handles.isEmpty()) {
            throw first != null ? first : new IllegalStateException("no transport of this engine serves "
                + target.address().kind() + " segments: " + capabilities());
        }
        refusals.forEach((kind, why) -> LOG.log(Logger.Level.WARNING, "{0} is opened without {1}: {2}",
            target.address().name(), kind, why));
        return refusals;
    }
}
