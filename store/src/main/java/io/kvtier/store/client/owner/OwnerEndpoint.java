package io.kvtier.store.client.owner;

import io.kvtier.alloc.HostMemory;
import io.kvtier.alloc.HostRegion;
import io.kvtier.alloc.RegionSlice;
import io.kvtier.alloc.Units;
import io.kvtier.alloc.extent.ExtentAllocator;
import io.kvtier.bindings.NativeTag;
import io.kvtier.store.StoreConfig;
import io.kvtier.store.StoreException;
import io.kvtier.store.client.call.Pressure;
import io.kvtier.store.client.engine.Exports;
import io.kvtier.store.client.engine.SharedMemory;
import io.kvtier.store.client.transfer.Move;
import io.kvtier.store.protocol.wire.Failures;
import io.kvtier.store.replica.SegmentAddress;
import io.kvtier.transport.AccessToken;
import io.kvtier.transport.Closings;
import io.kvtier.transport.rpc.MessageWriter;
import io.kvtier.transport.rpc.RpcCall;
import io.kvtier.transport.rpc.RpcException;
import io.kvtier.transport.rpc.RpcServer;
import io.kvtier.transport.rpc.RpcServerConfig;
import io.kvtier.transport.rpc.RpcStatus;
import io.kvtier.transport.tcp.Permission;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.agrona.CloseHelper;

/**
 * Answers reads of this client's disk, and of its file for GDS replicas, by other clients, see {@link OwnerProtocol}.
 *
 * <p>Values are copied into memory of a fixed size that others may read. A place in it is given out again when its
 * batch was released, or when its lease is over: a reader that comes later finds that its own, earlier, lease is over
 * and throws the bytes away, so that it never takes one value for another.
 *
 * <p><b>Threading:</b> thread-safe; one virtual thread a call. <b>Lifetime:</b> closed before the disk.
 * <b>Blocking:</b> closing waits for calls under way.
 */
public final class OwnerEndpoint implements AutoCloseable {
    private static final System.Logger LOG = System.getLogger(OwnerEndpoint.class.getName());
    private static final int LANES = 4;
    /** How long the first value of a batch waits for room: less than a reader waits for the answer. */
    private static final long ROOM_WAIT_MS = 2_000;
    private static final SecureRandom RANDOM = new SecureRandom();

    private final Values values;
    private final long leaseMs;
    private final long capacity;
    private final HostMemory region;
    private final ExtentAllocator allocator;
    private final Exports.Export export;
    private final SegmentAddress address;
    private final Map<Long, Grant> grants = new ConcurrentHashMap<>();
    private final Pressure room = new Pressure();
    private final ExecutorService calls =
        Executors.newThreadPerTaskExecutor(Thread.ofVirtual().name("kvtier-owner-", 0).factory());
    private final ScheduledThreadPoolExecutor clock;
    private final AtomicBoolean closed = new AtomicBoolean();
    private final RpcServer server;

    /** A range of the memory. */
    private record Extent(long offset, long bytes) {
    }

    /** The values of one batch. */
    private record Grant(List<Extent> extents, Future<?> end) {
    }

    /** A value on its way into the memory. */
    private record Reading(int status, Extent extent, Move move) {
    }

    /** What may be read. */
    public interface Values {
        /** Starts to read a value into memory of at least its padded size. */
        Move startRead(OwnerProtocol.Wanted wanted, RegionSlice target);
    }

    /**
     * Memory for readers, and when it is theirs no longer.
     *
     * @param bytes   how much.
     * @param shared  where processes of this host map it; null when they do not.
     * @param leaseMs milliseconds for which a value stays in it.
     */
    public record Buffers(long bytes, SharedMemory shared, long leaseMs) {
    }

    /**
     * Answers from now on.
     *
     * @param config  where and for whom.
     * @param exports serve the memory.
     * @param buffers the memory.
     * @param values  what is read.
     */
    public OwnerEndpoint(final RpcServerConfig config, final Exports exports, final Buffers buffers,
        final Values values) {
        this(config, exports, buffers, values, new ScheduledThreadPoolExecutor(1,
            task -> Thread.ofPlatform().daemon().name("kvtier-owner-clock").unstarted(task)));
    }

    /** As above, with a clock that has no thread yet; it is closed with this. */
    OwnerEndpoint(final RpcServerConfig config, final Exports exports, final Buffers buffers, final Values values,
        final ScheduledThreadPoolExecutor clock) {
        this.values = values;
        this.clock = clock;
        clock.setRemoveOnCancelPolicy(true);
        this.leaseMs = buffers.leaseMs();
        this.capacity = Units.down(buffers.bytes(), StoreConfig.UNIT_BYTES);
        final AccessToken token = AccessToken.random();
        try (Closings opened = new Closings()) {
            this.region = opened.keep(buffers.shared() == null ? HostRegion.allocate(NativeTag.BOUNCE, capacity)
                : buffers.shared().create(capacity, token.bytes()), HostMemory::close);
            this.allocator = opened.keep(ExtentAllocator.create(capacity, StoreConfig.UNIT_BYTES, LANES),
                ExtentAllocator::close);
            this.export = opened.keep(exports.export(region, token, Permission.READ_ONLY), Exports.Export::close);
            this.address = new SegmentAddress(UUID.randomUUID(), export.endpoint(), token);
            this.server = RpcServer.start(config, this::handle);
            opened.stayOpen();
        } catch (final IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Where it listens. */
    public InetSocketAddress listening() {
        return server.address();
    }

    private void handle(final RpcCall call) {
        switch (call.method()) {
            case OwnerProtocol.READ -> {
                final List<OwnerProtocol.Wanted> wanted = wanted(call);
                calls.execute(() -> answer(call, wanted));
            }
            case OwnerProtocol.RELEASE -> {
                end(OwnerProtocol.readRelease(call.takeBody()));
                call.reply(new MessageWriter().array(0).toBytes());
            }
            default -> throw new RpcException(RpcStatus.UNKNOWN_METHOD, "method " + call.method(), null);
        }
    }

    private static List<OwnerProtocol.Wanted> wanted(final RpcCall call) {
        try {
            return OwnerProtocol.readRequest(call.takeBody());
        } catch (final StoreException e) {
            throw Failures.sent(e);
        }
    }

    private void answer(final RpcCall call, final List<OwnerProtocol.Wanted> wanted) {
        try {
            if (call.isLate()) {
                throw new RpcException(RpcStatus.LATE, "the caller has given up", null);
            }
            call.reply(OwnerProtocol.reply(read(wanted)));
        } catch (final RuntimeException | Error e) {
            call.fail(e);
        }
    }

    private OwnerProtocol.Reply read(final List<OwnerProtocol.Wanted> wanted) {
        final List<Reading> readings = new ArrayList<>(wanted.size());
        final List<OwnerProtocol.Placed> placed = new ArrayList<>(wanted.size());
        final List<Extent> extents = new ArrayList<>(wanted.size());
        for (final OwnerProtocol.Wanted one : wanted) {
            readings.add(start(one, extents.isEmpty()));
            if (readings.getLast().extent() != null) {
                extents.add(readings.getLast().extent());
            }
        }
        for (final Reading reading : readings) {
            int status = reading.status();
            if (reading.extent() != null) {
                status = finish(reading) ? OwnerProtocol.OK : OwnerProtocol.GONE;
                if (status == OwnerProtocol.GONE) {
                    extents.remove(reading.extent());
                    // What a device may still write to is never a place for another value.
                    if (reading.move().isSettled()) {
                        free(reading.extent());
                    }
                }
            }
            placed.add(new OwnerProtocol.Placed(status, status == OwnerProtocol.OK ? reading.extent().offset() : 0));
        }
        return new OwnerProtocol.Reply(extents.isEmpty() ? 0 : grant(extents), leaseMs, address, placed);
    }

    /** The first value of a batch waits for room, the others do not: their reader may be the one to make some. */
    private Reading start(final OwnerProtocol.Wanted wanted, final boolean mayWait) {
        final long bytes = Units.taken(wanted.size(), StoreConfig.UNIT_BYTES);
        if (wanted.size() > capacity || bytes > capacity) {
            return new Reading(OwnerProtocol.TOO_LARGE, null, null);
        }
        final long offset = allocate(bytes, mayWait);
        if (offset == ExtentAllocator.NO_SPACE) {
            return new Reading(OwnerProtocol.BUSY, null, null);
        }
        final Extent extent = new Extent(offset, bytes);
        try {
            return new Reading(OwnerProtocol.OK, extent, values.startRead(wanted, region.slice(offset, bytes)));
        } catch (final RuntimeException | Error e) {
            return new Reading(OwnerProtocol.OK, extent, Move.failed(String.valueOf(e.getMessage())));
        }
    }

    private static boolean finish(final Reading reading) {
        try {
            final String problem = reading.move().finish();
            if (problem != null) {
                LOG.log(System.Logger.Level.DEBUG, "a value could not be read for another client: {0}", problem);
            }
            return problem == null;
        } catch (final RuntimeException | Error e) {
            // InternalError: the memory for readers is a file that was cut.
            LOG.log(System.Logger.Level.WARNING, "a value could not be read for another client", e);
            return false;
        }
    }

    private long allocate(final long bytes, final boolean mayWait) {
        final long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(ROOM_WAIT_MS);
        while (true) {
            final long seen = room.epoch();
            final long offset = allocator.allocate(bytes);
            if (offset != ExtentAllocator.NO_SPACE || !mayWait || calls.isShutdown() || !awaitRoom(seen, deadline)) {
                return offset;
            }
        }
    }

    private boolean awaitRoom(final long seen, final long deadline) {
        try {
            return room.await(seen, deadline);
        } catch (final InterruptedException e) {
            // This endpoint is being closed, and whoever asked is told that it is busy.
            Thread.currentThread().interrupt();
            return false;
        }
    }

    private long grant(final List<Extent> extents) {
        final long id = RANDOM.nextLong() | 1;
        final List<Extent> all = List.copyOf(extents);
        // Listed before the clock can look for it.
        grants.put(id, new Grant(all, null));
        final Future<?> end = clock.schedule(() -> end(id), leaseMs, TimeUnit.MILLISECONDS);
        if (grants.computeIfPresent(id, (any, grant) -> new Grant(all, end)) == null) {
            end.cancel(false);
        }
        return id;
    }

    private void end(final long id) {
        final Grant grant = grants.remove(id);
        if (grant != null) {
            if (grant.end() != null) {
                grant.end().cancel(false);
            }
            grant.extents().forEach(this::free);
        }
    }

    private void free(final Extent extent) {
        allocator.free(extent.offset(), extent.bytes());
        room.signal();
    }

    /** Refuses new calls, waits for those under way, and takes the memory back. A second call does nothing. */
    @Override
    public void close() {
        if (!closed.compareAndSet(false, true)) {
            return;
        }
        calls.shutdown();
        room.signal();
        server.close();
        calls.close();
        clock.shutdownNow();
        // A lease whose end has begun gives memory back to the allocator, whose tables must still be mapped.
        clock.close();
        CloseHelper.closeAll(export, allocator, region);
    }
}
