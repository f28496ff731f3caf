package io.kvtier.store.client;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.alloc.DeviceRegion;
import io.kvtier.kit.CallerMemory;
import io.kvtier.kit.CallerMemory.Kind;
import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.PatternBytes;
import io.kvtier.kit.SimulatedBuffers;
import io.kvtier.kit.SimulatedDevices;
import io.kvtier.kit.SimulatedMemory;
import io.kvtier.store.BatchResult;
import io.kvtier.store.ConnectConfig;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.GetOutcome;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.PutOptions;
import io.kvtier.store.PutOutcome;
import io.kvtier.store.StoreException;
import io.kvtier.store.client.call.Counters;
import io.kvtier.store.client.engine.StoreHooks;
import io.kvtier.store.client.master.PutStarts;
import io.kvtier.store.client.request.CallerRegions;
import io.kvtier.store.client.request.PutRequest;
import io.kvtier.store.client.request.ValueMemory;
import io.kvtier.store.client.transfer.Move;
import io.kvtier.store.client.transfer.ReplicaMemory;
import io.kvtier.store.client.write.Writer;
import io.kvtier.store.config.Environment;
import io.kvtier.store.protocol.Batch;
import io.kvtier.store.protocol.Command;
import io.kvtier.store.protocol.Master;
import io.kvtier.store.protocol.ObjectCommand.PutRevoke;
import io.kvtier.store.protocol.ObjectCommand.PutStart;
import io.kvtier.store.protocol.PutStartReply;
import io.kvtier.store.protocol.ReadReply;
import io.kvtier.store.replica.Replica;
import io.kvtier.store.replica.ReplicaDescriptor;
import io.kvtier.store.replica.ReplicaStatus;
import io.kvtier.store.replica.ReplicaType;
import io.kvtier.store.replica.SegmentAddress;
import io.kvtier.transport.Gate;
import io.kvtier.transport.file.FileOpener;
import io.kvtier.transport.gds.GdsTransport;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Values in memory of a GPU, which is simulated, where they go by block devices, or come or go too late. */
@ExtendWith(LeakCheck.class)
class RegionPathsTest {
    private static final ObjectKey KEY = ObjectKey.of("key");
    private static final int SIZE = 20_000;
    private static final byte[] VALUE = PatternBytes.of(1, SIZE);
    private static final long DEVICE_BYTES = 16 << 20;
    private static final PutOptions NOF_ONLY = PutOptions.DEFAULT.withNofReplicas(1).withReplicas(0);

    private static final PutStartReply STARTED = new PutStartReply.Started(1, List.of(new Replica(1,
        ReplicaStatus.PROCESSING, new ReplicaDescriptor.Memory(SegmentAddress.local(UUID.randomUUID()), 0, SIZE))));

    @TempDir
    private Path directory;
    private final SimulatedDevices devices = new SimulatedDevices(new SimulatedMemory());
    private final SimulatedBuffers gpu = new SimulatedBuffers(devices.memory());
    private final Cluster cluster = new Cluster(Cluster.settings(1, 0, 600_000)).with(devices);
    private CallerMemory memory;

    @BeforeEach
    void allocate() {
        memory = new CallerMemory(gpu, SIZE, directory);
    }

    @AfterEach
    void close() {
        cluster.close();
        memory.close();
        gpu.close();
        assertEquals(0, devices.openStreams());
    }

    private ConnectedStore clientOfADevice() {
        cluster.join(config -> config.nofDevice(directory.resolve("device"), DEVICE_BYTES).nofProbe(10, 10_000));
        return cluster.join(config -> config);
    }

    private ConnectedStore open(final ConnectConfig config, final FaultyLink link) {
        return ConnectedStore.open(config, new StoreHooks(StoreHooks.SYSTEM.clockMs(), FileOpener.POSIX,
            Environment.of(Map.of()), GdsTransport::open, devices), link);
    }

    /** What is on a GPU is written from the staging memory as it lies there, but for the end. */
    @Test
    void shouldWriteRegionsOfAnyKindToABlockDevice() {
        final ConnectedStore client = clientOfADevice();
        for (final Kind kind : Kind.values()) {
            memory.fill(memory.ranges(kind), VALUE);
            final ObjectKey key = ObjectKey.of(kind.name());
            assertEquals(PutOutcome.STORED, client.put(key, NOF_ONLY, memory.ranges(kind)));
            assertArrayEquals(VALUE, client.getBytes(key).orElseThrow());
            memory.clear();
            assertEquals(ReplicaType.NOF, client.get(key, memory.ranges(kind)).tier());
            assertArrayEquals(VALUE, memory.content(memory.ranges(kind)));
            assertEquals(0, memory.spoiled(memory.ranges(kind)));
        }
    }

    @Test
    void shouldNotGiveAGpuBytesWhoseChecksumIsWrong() throws IOException {
        final ConnectedStore client = clientOfADevice();
        assertEquals(PutOutcome.STORED, client.put(KEY, NOF_ONLY, MemorySegment.ofArray(VALUE)));
        try (RandomAccessFile file = new RandomAccessFile(directory.resolve("device").toFile(), "rw")) {
            // The first value lies behind the label.
            file.seek(4096 + SIZE - 1);
            file.write(~VALUE[SIZE - 1]);
            file.getFD().sync();
        }
        memory.clear();
        final ConnectedStore reader = cluster.join(config -> config);
        assertEquals(GetOutcome.MISS, reader.get(KEY, memory.ranges(Kind.DEVICE)));
        assertEquals(1, reader.stats().unreadable().checksumMismatches());
        assertEquals(0, memory.spoiled(List.of()));
    }

    @Test
    void shouldFillAGpuOnceWhenTheLeaseIsOverBeforeTheBytesAreThere() {
        cluster.join(config -> config.memoryBytes(1 << 20).shm(false));
        final FaultyLink link = new FaultyLink(cluster.config().build());
        final AtomicInteger copies = new AtomicInteger();
        final AtomicInteger reads = new AtomicInteger();
        try (ConnectedStore client = open(cluster.config().build(), link)) {
            StoreContract.put(client, KEY, VALUE);
            link.fault(new FaultyLink.Fault() {
                @Override
                public <R> R apply(final FaultyLink.Exchange<R> exchange) {
                    // As if the lease had been over when the bytes were there, twice.
                    return exchange.change(ReadReply.class, reply -> reads.incrementAndGet() > 2 ? reply
                        : new ReadReply(reply.version(), reply.size(), reply.replicas(), reply.held(),
                            reply.checksummed(), reply.checksum(), 0, reply.dataType()));
                }
            });
            devices.beforeWait(copies::incrementAndGet);
            final DeviceRegion region = gpu.allocate(SIZE);
            assertTrue(client.get(KEY, List.of(region.slice(0, SIZE))).hit());
            assertEquals(3, reads.get());
            assertEquals(1, copies.get());
            assertArrayEquals(VALUE, SimulatedBuffers.content(region));
        }
    }

    /** The copy from the GPU is a part of the time in which a value has to be written: later nothing is sent. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldWriteNothingWhenTheCopyFromTheGpuTookTooLong(final boolean batch) {
        final long limitMs = 50;
        devices.beforeWait(() -> {
            final long until = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(limitMs + 1);
            while (System.nanoTime() - until < 0) {
                Thread.onSpinWait();
            }
        });
        final Master master = new Started();
        final Writer writer =
            new Writer(UUID.randomUUID(), master, new AtOnce(new Gate(), new Counters(), limitMs),
                new Writer.Places(new Untouched(), null, null), new Counters(), limitMs);
        final CallerRegions regions = new CallerRegions(devices, List.of(), 30_000);
        try (regions; ValueMemory source = regions.enter(memory.ranges(Kind.DEVICE))) {
            final PutRequest value = PutRequest.of(KEY, source, PutOptions.DEFAULT, false);
            final StoreException e = batch ? writer.putBatch(List.of(value)).getFirst().failure()
                : assertThrows(StoreException.class, () -> writer.put(value));
            assertEquals(ErrorCode.TRANSFER_FAIL, e.code());
            assertTrue(e.getMessage().contains("transferTimeoutMs"), e.getMessage());
        }
    }

    /** There is always room. */
    private record AtOnce(Gate gate, Counters counters, long putTimeoutMs) implements PutStarts {
        @Override
        public Answer start(final PutStart command) {
            return new Answer(STARTED, System.nanoTime());
        }
    }

    /** Gives every put the same room, and sees it given up. */
    private static final class Started implements Master {
        @Override
        public <R> R apply(final Command<R> command) {
            final Object reply = switch (command) {
                case Batch<?> batch when batch.items().getFirst() instanceof PutStart ->
                    List.of(new BatchResult<>(STARTED, null));
                case PutRevoke revoke -> Command.Ack.OK;
                default -> throw new AssertionError(command);
            };
            @SuppressWarnings("unchecked") // Of each command the answer that it has.
            final R answer = (R) reply;
            return answer;
        }
    }

    /** Memory that nobody may write to any more. */
    private static final class Untouched implements ReplicaMemory {
        @Override
        public Move startRead(final ReplicaDescriptor.Memory replica, final long offset, final long length,
            final List<MemorySegment> target, final long timeoutMs, final boolean alone) {
            throw new AssertionError();
        }

        @Override
        public Move startWrite(final List<ReplicaDescriptor.Memory> replicas, final List<MemorySegment> source,
            final long timeoutMs, final boolean alone) {
            throw new AssertionError("written too late");
        }

        @Override
        public OwnRange own(final ReplicaDescriptor.Memory replica, final long bytes) {
            throw new AssertionError();
        }

        @Override
        public void close() {
            // Has nothing.
        }
    }
}
