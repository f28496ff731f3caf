package io.kvtier.store.client;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;

import io.kvtier.alloc.DeviceRegion;
import io.kvtier.kit.CudaBuffers;
import io.kvtier.kit.DeviceBuffers;
import io.kvtier.kit.GdsFolder;
import io.kvtier.kit.PatternBytes;
import io.kvtier.store.GetOutcome;
import io.kvtier.store.PutOutcome;
import io.kvtier.store.replica.ReplicaType;
import io.kvtier.transport.device.Devices;
import io.kvtier.transport.file.FileOpener;
import io.kvtier.transport.gds.GdsTransport;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.RepetitionInfo;
import org.junit.jupiter.api.Timeout;

/** Over a real GPU and a real cuFile, where it was asked for. A hang is a failure. */
@Timeout(value = 300, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class GdsGpuStoreTest extends GdsGpuContract {
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

    /** What is in flight keeps its memory; who comes too late is told so. */
    @RepeatedTest(10)
    void shouldKeepMemoryThatIsClosedWhileItIsMoved(final RepetitionInfo round) throws Exception {
        final byte[] value = PatternBytes.of(round.getCurrentRepetition(), 16 << 20);
        final DeviceRegion source = onGpu(value);
        final DeviceRegion target = onGpu(value);
        try (EmbeddedStore store = openAlone(64L << 20);
            ExecutorService threads = Executors.newSingleThreadExecutor()) {
            final Future<PutOutcome> putting =
                threads.submit(() -> put(store, KEY, List.of(source.slice(0, value.length))));
            while (store.stats().gds().tier().usedBytes() == 0 && !putting.isDone()) {
                Thread.onSpinWait();
            }
            source.close();
            assertEquals(PutOutcome.STORED, putting.get());
            final Future<GetOutcome> getting =
                threads.submit(() -> store.get(KEY, List.of(target.slice(0, value.length))));
            target.close();
            try {
                assertEquals(ReplicaType.GDS, getting.get().tier());
            } catch (final ExecutionException e) {
                assertInstanceOf(IllegalStateException.class, e.getCause(), "closed before it began");
            }
            assertArrayEquals(value, store.getBytes(KEY).orElseThrow());
        }
    }
}
