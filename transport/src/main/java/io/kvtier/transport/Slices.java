package io.kvtier.transport;

import io.kvtier.alloc.HostMemory;
import io.kvtier.alloc.MemoryRegion;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/**
 * The requests of a transfer, validated and cut into slices; the slices are kept and used again.
 *
 * <p><b>Threading:</b> one thread at a time fills, enters, leaves and clears; between entering and leaving the list
 * does not change and any thread may go over it.
 */
final class Slices {
    private final Transfer transfer;
    private final TransferEngine engine;
    private final List<Slice> slices = new ArrayList<>();
    private TransportKind hint;
    private boolean strict;
    private int used;
    private int requests;
    private int entered;
    private long bytes;

    Slices(final Transfer transfer, final TransferEngine engine) {
        this.transfer = transfer;
        this.engine = engine;
    }

    int size() {
        return used;
    }

    int requests() {
        return requests;
    }

    long bytes() {
        return bytes;
    }

    Slice get(final int index) {
        return slices.get(index);
    }

    /** What the requests that are added from now on wish for. */
    void prefer(final TransportKind transport, final boolean only) {
        hint = transport;
        strict = only;
    }

    void add(final TransferRequest request) {
        prefer(request.hint(), request.strict());
        add(request.direction(), request.local().region(), request.local().offset(), request.length(),
            request.segment(), request.offset());
    }

    /** Adds one request; makes no object once there are slices enough. */
    void add(final Direction direction, final MemoryRegion region, final long localOffset, final long length,
        final Segment segment, final long offset) {
        Objects.checkFromIndexSize(localOffset, length, region.byteSize());
        final String problem = problem(direction, region, segment, offset, length);
        if (problem != null) {
            throw invalid(requests, segment, offset, length, problem);
        }
        final Route route = choose(region, segment, offset, length);
        final long sliceBytes = engine.config().sliceBytes();
        for (long done = 0; done < length; done += sliceBytes) {
            final Slice slice = next();
            slice.set(direction, region, segment, route, strict, requests);
            slice.setRange(localOffset + done, Math.min(sliceBytes, length - done), offset + done);
        }
        bytes += length;
        requests++;
    }

    /** One slice of length 0 for a call on a segment that moves nothing. */
    void addCall(final Segment segment, final Route route) {
        final Slice slice = next();
        slice.set(Direction.WRITE, null, segment, route, true, requests);
        slice.setRange(0, 0, 0);
        requests++;
    }

    /**
     * Keeps segments and regions from being closed, and lets the transports have a look, before anything is started.
     *
     * @throws TransferException INVALID, with nothing kept.
     */
    void enter() {
        entered = 0;
        try {
            while (entered < used) {
                enter(entered);
                entered++;
            }
        } catch (final RuntimeException | Error e) {
            leave(true);
            throw e;
        }
    }

    /**
     * Lets go what {@link #enter()} kept.
     *
     * @param regions false to keep the regions for ever, of which something may still be moved. Segments are let go
     *                all the same: what moves bytes of them has holds of its own, and who closes one waits for its
     *                transfers.
     */
    void leave(final boolean regions) {
        RuntimeException first = null;
        while (entered > 0) {
            entered--;
            try {
                leave(entered, regions);
            } catch (final RuntimeException e) {
                first = e;
            }
        }
        if (first != null) {
            throw first;
        }
    }

    void clear() {
        for (int i = 0; i < used; i++) {
            slices.get(i).clear();
        }
        used = 0;
        requests = 0;
        bytes = 0;
        prefer(null, false);
    }

    private Slice next() {
        if (used == slices.size()) {
            slices.add(new Slice(transfer));
        }
        return slices.get(used++);
    }

    private String problem(final Direction direction, final MemoryRegion region, final Segment segment,
        final long offset, final long length) {
        if (segment.engine() != engine) {
            return "the segment was opened by another engine";
        }
        if (offset < 0 || offset + length < offset) {
            return "offset " + offset + " is negative or runs past 2^63";
        }
        if (region instanceof HostMemory host) {
            final MemorySegment memory = host.segment();
            if (!memory.isNative()) {
                return "the local memory is a heap array, which can move; copy it to native memory";
            }
            if (direction == Direction.READ && memory.isReadOnly()) {
                return "the local memory to read into is read-only";
            }
        }
        return null;
    }

    private Route choose(final MemoryRegion region, final Segment segment, final long offset, final long length) {
        final Route route = segment.open().route(region.kind(), length);
        final Route hinted = route == null || hint == null ? route : route.hinted(hint);
        if (hint != null && hinted == null && strict) {
            final String refusal = segment.open().refusal(hint);
            throw invalid(requests, segment, offset, length, "transport " + hint
                + " was demanded and cannot serve it: " + (refusal != null ? refusal
                    : engine.availability(hint).reason()));
        }
        final Route chosen = hinted == null ? route : hinted;
        if (chosen == null || chosen.size() == 0) {
            throw invalid(requests, segment, offset, length, "no transport moves " + region.kind()
                + " memory to or from a " + segment.kind() + " segment here: " + engine.capabilities());
        }
        return chosen;
    }

    private void enter(final int index) {
        final Slice slice = slices.get(index);
        final boolean newSegment = isNewSegment(index);
        if (newSegment && !slice.segment().gate().tryEnter()) {
            throw invalid(slice, "the segment is closed; open it again");
        }
        if (isNewRegion(index) && !slice.region().tryRetain()) {
            if (newSegment) {
                slice.segment().gate().leave();
            }
            throw invalid(slice, "the local memory is closed");
        }
        final String problem;
        try {
            problem = slice.region() == null ? null : settle(slice);
        } catch (final RuntimeException | Error e) {
            leave(index, true);
            throw e;
        }
        if (problem != null) {
            leave(index, true);
            throw invalid(slice, problem);
        }
    }

    /**
     * Goes down the row to the first transport that takes the slice: one that wants other memory or borders leaves it
     * to the next.
     *
     * @return null when there is one, else what the first of the row said.
     */
    private String settle(final Slice slice) {
        final String problem = slice.hop().transport().check(slice);
        String next = problem;
        while (next != null && slice.hasNextHop(Integer.MAX_VALUE)) {
            slice.nextHop();
            next = slice.hop().transport().check(slice);
        }
        return next == null ? null : problem;
    }

    private void leave(final int index, final boolean region) {
        final Slice slice = slices.get(index);
        if (isNewSegment(index)) {
            slice.segment().gate().leave();
        }
        if (region && isNewRegion(index)) {
            slice.region().release();
        }
    }

    // Slices of one request stand side by side: one hold on segment and region is enough for all of them.
    private boolean isNewSegment(final int index) {
        return index == 0 || slices.get(index).segment() != slices.get(index - 1).segment();
    }

    private boolean isNewRegion(final int index) {
        final MemoryRegion region = slices.get(index).region();
        return region != null && (index == 0 || region != slices.get(index - 1).region());
    }

    private static TransferException invalid(final Slice slice, final String problem) {
        return invalid(slice.request(), slice.segment(), slice.offset(), slice.length(), problem);
    }

    private static TransferException invalid(final int request, final Segment segment, final long offset,
        final long length, final String problem) {
        return new TransferException(new TransferFailure(TransferFailure.Kind.INVALID, "", 0, false, segment.name(),
            offset, length, "request " + request + ": " + problem));
    }
}
