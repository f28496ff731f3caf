package io.kvtier.store.client;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.alloc.DeviceRegion;
import io.kvtier.alloc.RegionSlice;
import io.kvtier.bindings.cuda.Cuda;
import io.kvtier.bindings.cuda.CudaContext;
import io.kvtier.bindings.cuda.CudaCopies;
import io.kvtier.bindings.cuda.CudaDevice;
import io.kvtier.kit.CallerMemory;
import io.kvtier.kit.CallerMemory.Kind;
import io.kvtier.kit.CudaBuffers;
import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.PatternBytes;
import io.kvtier.store.GetOutcome;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.PutOptions;
import io.kvtier.store.PutOutcome;
import io.kvtier.store.RegisteredRegion;
import io.kvtier.store.StoreConfig;
import io.kvtier.store.client.engine.StoreHooks;
import io.kvtier.store.replica.ReplicaType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** Values in memory of real GPUs, where there are some. A hang is a failure. */
@ExtendWith(LeakCheck.class)
@Timeout(value = 90, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class CudaStoreTest {
    private static final int SIZE = (5 << 20) + 4097;
    private static final ObjectKey KEY = ObjectKey.of("key");

    @TempDir
    private Path directory;

    private EmbeddedStore open() {
        return EmbeddedStore.open(StoreConfig.builder().memoryBytes(64 << 20).disk(directory, 64 << 20).build(),
            StoreHooks.SYSTEM);
    }

    @Test
    void shouldPutFromAndGetIntoMemoryOfAGpu() {
        final byte[] value = PatternBytes.of(1, SIZE);
        try (CudaBuffers buffers = CudaBuffers.ofFirst(); CallerMemory memory = new CallerMemory(buffers, SIZE,
            directory); EmbeddedStore store = open()) {
            for (final Kind from : Kind.values()) {
                memory.fill(memory.ranges(from), value);
                assertEquals(PutOutcome.STORED, store.put(ObjectKey.of(from.name()),
                    PutOptions.DEFAULT.withChecksum(true), memory.ranges(from)));
            }
            for (final Kind from : Kind.values()) {
                for (final Kind to : Kind.values()) {
                    memory.clear();
                    assertEquals(new GetOutcome(true, SIZE, ReplicaType.MEMORY),
                        store.get(ObjectKey.of(from.name()), memory.ranges(to)));
                    assertArrayEquals(value, memory.content(memory.ranges(to)), from + " to " + to);
                    assertEquals(0, memory.spoiled(memory.ranges(to)));
                }
            }
        }
    }

    /** Another library's memory, of which nothing but the address is known; and the store outlives the context. */
    @Test
    void shouldFindTheGpuOfMemoryThatComesWithoutAContext() {
        final byte[] value = PatternBytes.of(2, SIZE);
        try (EmbeddedStore store = open()) {
            try (CudaBuffers buffers = CudaBuffers.ofFirst()) {
                final DeviceRegion own = buffers.allocate(SIZE);
                buffers.put(nativeCopy(value), own, 0);
                final DeviceRegion borrowed = DeviceRegion.borrow(null, own.pointer());
                final List<RegionSlice> all = List.of(borrowed.slice(0, 1), borrowed.slice(1, SIZE - 1));
                assertEquals(PutOutcome.STORED, store.put(KEY, PutOptions.DEFAULT, all));
                CudaCopies.fill(buffers.context(), own.pointer(), (byte) 0);
                buffers.context().synchronize();
                assertTrue(store.get(KEY, all).hit());
                try (Arena arena = Arena.ofConfined()) {
                    final MemorySegment found = arena.allocate(SIZE);
                    buffers.get(own, 0, found);
                    assertArrayEquals(value, PatternBytes.copyOf(found));
                }
                final RegisteredRegion registered = store.register(own);
                assertTrue(store.get(KEY, List.of(own.slice(0, SIZE))).hit());
                registered.close();
                own.close();
                assertThrows(IllegalArgumentException.class, () -> store.get(KEY, all), "freed");
                assertThrows(IllegalStateException.class, () -> store.get(KEY, List.of(own.slice(0, SIZE))));
            }
            assertArrayEquals(value, store.getBytes(KEY).orElseThrow());
        }
    }

    private static MemorySegment nativeCopy(final byte[] value) {
        return Arena.ofAuto().allocate(value.length).copyFrom(MemorySegment.ofArray(value));
    }

    /** As many as there are; each is copied in a context of its own. */
    @Test
    void shouldPutAndGetAValueThatIsSpreadOverAllGpus() {
        CudaBuffers.ofFirst().close();
        final List<CudaContext> contexts = new ArrayList<>();
        final List<DeviceRegion> regions = new ArrayList<>();
        final List<RegionSlice> ranges = new ArrayList<>();
        final byte[] value = PatternBytes.of(3, 1 << 20);
        final int count = Cuda.devices().size();
        final int part = value.length / count;
        try (EmbeddedStore store = open()) {
            for (final CudaDevice device : Cuda.devices()) {
                contexts.add(device.retainPrimaryContext());
                regions.add(DeviceRegion.allocate(contexts.getLast(), part + 7));
                ranges.add(regions.getLast().slice(5, part));
            }
            StoreContract.put(store, KEY, Arrays.copyOf(value, part * count));
            assertTrue(store.get(KEY, ranges).hit());
            assertEquals(PutOutcome.STORED, store.put(ObjectKey.of("again"), PutOptions.DEFAULT, ranges));
            assertArrayEquals(Arrays.copyOf(value, part * count),
                store.getBytes(ObjectKey.of("again")).orElseThrow());
        } finally {
            regions.forEach(DeviceRegion::close);
            contexts.forEach(CudaContext::close);
        }
    }
}
