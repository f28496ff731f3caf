package io.kvtier.kit;

import io.kvtier.alloc.DeviceRegion;
import io.kvtier.alloc.HostMemory;
import io.kvtier.alloc.MemoryRegion;
import io.kvtier.transport.Capability;
import io.kvtier.transport.Direction;
import io.kvtier.transport.Registration;
import io.kvtier.transport.Segment;
import io.kvtier.transport.SegmentTarget;
import io.kvtier.transport.Slice;
import io.kvtier.transport.Transfer;
import io.kvtier.transport.TransferConfig;
import io.kvtier.transport.TransferEngine;
import io.kvtier.transport.TransferException;
import io.kvtier.transport.TransferRequest;
import io.kvtier.transport.Transport;
import io.kvtier.transport.TransportSegment;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.UnaryOperator;

/**
 * Lets tests that know host memory only run over a transport of device memory: each slice gets device memory of its
 * own, by an engine of its own over the real transport, and its bytes are copied there and back. What lies beside them
 * in device memory is compared afterwards. Of the device memory one half is registered.
 */
public final class ThroughDevice implements Transport {
    private static final int GUARD = 4096;
    private static final int LOWEST_CLASS = 14;
    private static final byte JUNK = (byte) 0xA5;

    private final Capability capability;
    private final TransferEngine engine;
    private final DeviceBuffers buffers;
    private final UnaryOperator<MemoryRegion> segmentRegion;
    private final ExecutorService callbacks =
        Executors.newFixedThreadPool(4, task -> Thread.ofPlatform().daemon().name("through-device").unstarted(task));
    private final Map<Integer, ArrayDeque<DeviceRegion>> free = new HashMap<>();
    private final List<Registration> registrations = new ArrayList<>();
    private int made;

    /** Over segments as they are. */
    public ThroughDevice(final Transport real, final DeviceBuffers buffers) {
        this(real, buffers, UnaryOperator.identity());
    }

    /**
     * Over other segments.
     *
     * @param real          the transport; closed with this.
     * @param buffers       device memory; closed with this.
     * @param segmentRegion gives the region that the real transport has as the segment's.
     */
    public ThroughDevice(final Transport real, final DeviceBuffers buffers,
        final UnaryOperator<MemoryRegion> segmentRegion) {
        this.buffers = buffers;
        this.segmentRegion = segmentRegion;
        engine = TransferEngine.open(TransferConfig.DEFAULT.withOutstanding(100_000, 1L << 40), List.of(real));
        final Capability its = real.capability();
        capability = new Capability(its.kind(), its.segments(), Capability.HOST_MEMORY, its.availability());
    }

    private record Handle(Segment segment) implements TransportSegment {
        @Override
        public long byteSize() {
            throw new UnsupportedOperationException("nobody asks");
        }

        @Override
        public void close() {
            segment.close();
        }
    }

    @Override
    public Capability capability() {
        return capability;
    }

    @Override
    public TransportSegment open(final SegmentTarget target) {
        return new Handle(target.region() == null ? engine.openSegment(target.address().name(), target.token())
            : engine.register(target.address().name(), segmentRegion.apply(target.region())));
    }

    @Override
    public String check(final Slice slice) {
        return null;
    }

    @Override
    public void submit(final Slice slice) {
        final long length = slice.length();
        // As far from a border as the host's memory.
        final long at = GUARD + (((HostMemory) slice.region()).segment().address() + slice.localOffset()) % GUARD;
        final DeviceRegion buffer = take(at + length + GUARD);
        final Segment segment = ((Handle) slice.handle()).segment();
        final Transfer transfer;
        if (slice.direction() == Direction.WRITE) {
            buffers.put(slice.local(), buffer, at);
            transfer = engine.submit(List.of(TransferRequest.write(buffer.slice(at, length), segment, slice.offset())));
        } else {
            junk(buffer, at - GUARD, length + 2L * GUARD);
            transfer = engine.submit(List.of(TransferRequest.read(buffer.slice(at, length), segment, slice.offset())));
        }
        transfer.future().whenCompleteAsync((same, problem) -> {
            try {
                if (problem == null && slice.direction() == Direction.READ) {
                    bringBack(buffer, at, slice);
                }
                giveBack(buffer);
            } catch (final RuntimeException | Error e) {
                slice.failed(e);
                return;
            }
            end(slice, problem);
        }, callbacks);
    }

    private void junk(final DeviceRegion buffer, final long from, final long bytes) {
        try (Arena arena = Arena.ofConfined()) {
            buffers.put(arena.allocate(bytes).fill(JUNK), buffer, from);
        }
    }

    private void bringBack(final DeviceRegion buffer, final long at, final Slice slice) {
        try (Arena arena = Arena.ofConfined()) {
            final MemorySegment all = arena.allocate(slice.length() + 2L * GUARD);
            buffers.get(buffer, at - GUARD, all);
            final MemorySegment guard = arena.allocate(GUARD).fill(JUNK);
            if (all.asSlice(0, GUARD).mismatch(guard) != -1
                || all.asSlice(GUARD + slice.length(), GUARD).mismatch(guard) != -1) {
                throw new AssertionError("memory beside " + slice.length() + " bytes was written");
            }
            slice.local().copyFrom(all.asSlice(GUARD, slice.length()));
        }
    }

    private static void end(final Slice slice, final Throwable problem) {
        final Throwable cause = problem instanceof CompletionException ? problem.getCause() : problem;
        if (cause instanceof TransferException known) {
            slice.failed(known.failure());
        } else if (cause != null) {
            slice.failed(cause);
        } else {
            slice.completed();
        }
    }

    private synchronized DeviceRegion take(final long bytes) {
        final int size = Math.max(LOWEST_CLASS, Long.SIZE - Long.numberOfLeadingZeros(bytes - 1));
        final ArrayDeque<DeviceRegion> kept = free.computeIfAbsent(size, key -> new ArrayDeque<>());
        if (!kept.isEmpty()) {
            return kept.poll();
        }
        final DeviceRegion region = buffers.allocate(1L << size);
        if (made++ % 2 == 0) {
            registrations.add(engine.register(region));
        }
        return region;
    }

    private synchronized void giveBack(final DeviceRegion region) {
        // To the end: the next one is another.
        free.get(Long.SIZE - Long.numberOfLeadingZeros(region.byteSize() - 1)).add(region);
    }

    @Override
    public void sync(final Slice slice) {
        engine.sync(((Handle) slice.handle()).segment()).future()
            .whenCompleteAsync((same, problem) -> end(slice, problem), callbacks);
    }

    @Override
    public void close() {
        callbacks.close();
        registrations.forEach(Registration::close);
        engine.close();
        if (engine.abandoned()) {
            throw new AssertionError("the engine below was abandoned");
        }
        buffers.close();
    }
}
