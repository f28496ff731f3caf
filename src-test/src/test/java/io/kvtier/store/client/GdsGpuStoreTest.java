package io.kvtier.store.client;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;

import io.kvtier.alloc.DeviceRegion;
import io.kvtier.kit.CudaBuffers;
import io.kvtier.kit.DeviceBuffers;
import io.kvtier.kit.GdsFolder;
import io.kvtier.kit.PatternBytes;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.GetOutcome;
import io.kvtier.store.PutOutcome;
import io.kvtier.store.StoreException;
import io.kvtier.store.client.engine.StoreHooks;
import io.kvtier.store.client.gds.GdsInside;
import io.kvtier.store.replica.ReplicaType;
import io.kvtier.transport.device.Devices;
import io.kvtier.transport.file.FileOpener;
import io.kvtier.transport.gds.GdsTransport;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Over a real GPU and a real cuFile, where it was asked for. A hang is a failure. */
@Timeout(value = 300, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class GdsGpuStoreTest extends GdsGpuContract {
    private static final int BYTES = 16 << 20;
    /** So many transfers that were under way when their memory was closed. */
    private static final int IN_FLIGHT = 5;

    private Path folder;
    private CudaBuffers buffers;

    @BeforeEach
    void open() throws IOException {
        folder = GdsFolder.require();
        buffers = CudaBuffers.ofFirst();
    }

    @AfterEach
    void close() throws IOException {
        if (buffers != null) {
            buffers.close();
        }
        GdsFolder.remove(folder);
    }

    @Override
    DeviceBuffers gpu() {
        return buffers;
    }

    @Override
    StoreHooks hooks() {
        return new StoreHooks(StoreHooks.SYSTEM.clockMs(), FileOpener.POSIX, ENVIRONMENT, GdsTransport::open,
            Devices.CUDA);
    }

    @Override
    Path folder() {
        return folder;
    }

    @Override
    int largest() {
        return 64 << 20;
    }

    @Override
    int crowdSeconds() {
        return 4;
    }

    /** Memory that was closed before it was handed to the engine cannot be moved any more; empty then. */
    private static <T> Optional<T> moved(final Future<T> moving, final ErrorCode late) throws InterruptedException {
        try {
            return Optional.of(moving.get());
        } catch (final ExecutionException e) {
            assertEquals(late, assertInstanceOf(StoreException.class, e.getCause()).code());
            return Optional.empty();
        }
    }

    /** What is in flight keeps its memory; who comes too late is told so. Goes on until it has met some in flight. */
    @Test
    void shouldKeepMemoryThatIsClosedWhileItIsWritten() throws Exception {
        try (EmbeddedStore store = openAlone(64L << 20);
            ExecutorService threads = Executors.newSingleThreadExecutor()) {
            int met = 0;
            for (int round = 0; met < IN_FLIGHT; round++) {
                final byte[] value = PatternBytes.of(round, BYTES);
                final DeviceRegion source = onGpu(value);
                final Future<PutOutcome> putting =
                    threads.submit(() -> put(store, KEY, List.of(source.slice(0, BYTES))));
                while (store.stats().gds().tier().usedBytes() == 0 && !putting.isDone()) {
                    Thread.onSpinWait();
                }
                source.close();
                final boolean running = !putting.isDone();
                final Optional<PutOutcome> outcome = moved(putting, ErrorCode.TRANSFER_FAIL);
                if (outcome.isPresent()) {
                    assertEquals(PutOutcome.STORED, outcome.get());
                    assertArrayEquals(value, store.getBytes(KEY).orElseThrow());
                    met += running ? 1 : 0;
                    store.remove(KEY, true);
                }
                assertFalse(store.exists(KEY));
                GdsStoreContract.awaitUsed(store, 0);
            }
        }
    }

    /** The same of a get, of which a lease shows that it holds its memory. */
    @Test
    void shouldKeepMemoryThatIsClosedWhileItIsRead() throws Exception {
        final byte[] value = PatternBytes.of(1, BYTES);
        final DeviceRegion source = onGpu(value);
        try (EmbeddedStore store = openAlone(64L << 20);
            ExecutorService threads = Executors.newSingleThreadExecutor()) {
            assertEquals(PutOutcome.STORED, put(store, KEY, List.of(source.slice(0, BYTES))));
            int met = 0;
            while (met < IN_FLIGHT) {
                final DeviceRegion target = gpu().allocate(BYTES);
                final Future<GetOutcome> getting =
                    threads.submit(() -> store.get(KEY, List.of(target.slice(0, BYTES))));
                while (GdsInside.storage(store.parts().file()).stats().leases() == 0 && !getting.isDone()) {
                    Thread.onSpinWait();
                }
                target.close();
                final boolean running = !getting.isDone();
                final Optional<GetOutcome> outcome = moved(getting, ErrorCode.INVALID_PARAMS);
                if (outcome.isPresent()) {
                    assertEquals(new GetOutcome(true, BYTES, ReplicaType.GDS), outcome.get(),
                        () -> store.stats().gds().toString());
                    met += running ? 1 : 0;
                }
            }
            assertArrayEquals(value, store.getBytes(KEY).orElseThrow());
        }
    }
}
