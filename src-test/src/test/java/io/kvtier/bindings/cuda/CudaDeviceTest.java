package io.kvtier.bindings.cuda;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.bindings.Availability;
import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.NotExercised;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** The owners on a real GPU. */
@ExtendWith(LeakCheck.class)
class CudaDeviceTest {
    private static final long MIB = 1 << 20;

    @BeforeEach
    void requireDevice() {
        final Availability cuda = Cuda.availability();
        NotExercised.require("cuda", cuda.available(), cuda.reason());
    }

    private static MemorySegment pattern(final MemorySegment segment, final long seed) {
        for (long at = 0; at + Long.BYTES <= segment.byteSize(); at += Long.BYTES) {
            segment.set(ValueLayout.JAVA_LONG_UNALIGNED, at, (at + seed) * 0x9E3779B97F4A7C15L);
        }
        return segment;
    }

    @Test
    void shouldDescribeItsDevices() {
        for (final CudaDevice device : Cuda.devices()) {
            System.out.println("seen: " + device.name() + ", " + device.pciAddress() + ", compute capability "
                + device.computeCapability() + ", " + device.totalBytes() + " bytes; driver for CUDA "
                + Cuda.versionText(Cuda.driverVersion()));
            assertFalse(device.name().isEmpty());
            assertEquals(32, device.uuid().length());
            assertTrue(device.totalBytes() > MIB);
        }
    }

    @Test
    void shouldBringBackWhatWasCopiedWhenThroughTheDevice() {
        try (CudaContext context = Cuda.devices().getFirst().retainPrimaryContext();
            DeviceMemory one = DeviceMemory.allocate(context, 4 * MIB);
            DeviceMemory other = DeviceMemory.allocate(context, 4 * MIB);
            Arena arena = Arena.ofConfined()) {
            final MemorySegment source = pattern(arena.allocate(4 * MIB), 1);
            final MemorySegment target = arena.allocate(4 * MIB);
            CudaCopies.toDevice(context, source, one.pointer());
            CudaCopies.onDevice(context, one.pointer(), other.pointer());
            CudaCopies.toHost(context, other.pointer(), target);
            assertEquals(-1, source.mismatch(target));

            CudaCopies.fill(context, other.pointer().slice(MIB, MIB), (byte) 7);
            CudaCopies.toHost(context, other.pointer(), target);
            assertEquals(MIB, source.mismatch(target));
            assertEquals(7, target.get(ValueLayout.JAVA_BYTE, 2 * MIB - 1));
            assertEquals(-1, source.asSlice(2 * MIB).mismatch(target.asSlice(2 * MIB)));
        }
    }

    @Test
    void shouldSayWhatIsAtAnAddress() {
        try (CudaContext context = Cuda.devices().getFirst().retainPrimaryContext();
            DeviceMemory memory = DeviceMemory.allocate(context, 3 * MIB);
            PinnedMemory pinned = PinnedMemory.allocate(context, MIB);
            Arena arena = Arena.ofConfined()) {
            final long start = memory.pointer().address();
            // No context is current in this thread: the driver answers all the same.
            assertEquals(new CudaAddress(start + MIB, CudaAddress.Kind.DEVICE, 0, start, 3 * MIB),
                CudaAddress.of(start + MIB));
            assertEquals(CudaAddress.Kind.HOST, CudaAddress.of(pinned.segment().address()).kind());
            assertEquals(CudaAddress.Kind.UNKNOWN, CudaAddress.of(arena.allocate(MIB).address()).kind());
            assertEquals(CudaAddress.Kind.UNKNOWN, CudaAddress.of(0x1234_5678_9000L).kind());
            CudaAddress.requireDeviceMemory(start + MIB, 2 * MIB);
            assertThrows(IllegalArgumentException.class,
                () -> CudaAddress.requireDeviceMemory(start + MIB, 2 * MIB + 1));
            final DeviceMemory other = DeviceMemory.allocate(context, MIB);
            final long freed = other.pointer().address();
            other.close();
            assertThrows(IllegalArgumentException.class, () -> CudaAddress.requireDeviceMemory(freed, 1));
            final long before = System.nanoTime();
            for (int i = 0; i < 100_000; i++) {
                CudaAddress.requireDeviceMemory(start, 3 * MIB);
            }
            System.out.println("seen: asking about an address takes " + (System.nanoTime() - before) / 100_000 + " ns");
        }
    }

    @Test
    void shouldKeepTheOrderOfAStreamAndOfAnEvent() {
        try (CudaContext context = Cuda.devices().getFirst().retainPrimaryContext();
            DeviceMemory memory = DeviceMemory.allocate(context, 16 * MIB);
            PinnedMemory source = PinnedMemory.allocate(context, 16 * MIB);
            PinnedMemory target = PinnedMemory.allocate(context, 16 * MIB);
            CudaStream first = CudaStream.create(context);
            CudaStream second = CudaStream.create(context);
            CudaEvent copied = CudaEvent.create(context)) {
            pattern(source.segment(), 2);
            CudaCopies.toDevice(first, source.segment(), memory.pointer());
            copied.record(first);
            second.await(copied);
            CudaCopies.toHost(second, memory.pointer(), target.segment());
            second.synchronize();
            assertTrue(copied.passed());
            assertTrue(first.idle() && second.idle());
            copied.synchronize();
            assertEquals(-1, source.segment().mismatch(target.segment()));
        }
    }

    @Test
    void shouldCopyFromRegisteredMemory() {
        try (CudaContext context = Cuda.devices().getFirst().retainPrimaryContext();
            DeviceMemory memory = DeviceMemory.allocate(context, MIB);
            Arena arena = Arena.ofConfined();
            CudaStream stream = CudaStream.create(context)) {
            final MemorySegment host = pattern(arena.allocate(MIB, 4096), 3);
            try (PinnedMemory pinned = PinnedMemory.register(context, host)) {
                CudaCopies.toDevice(stream, pinned.segment(), memory.pointer());
                stream.synchronize();
            }
            final MemorySegment back = arena.allocate(MIB);
            CudaCopies.toHost(context, memory.pointer(), back);
            assertEquals(-1, host.mismatch(back));
        }
    }

    @Test
    void shouldNameTheErrorWhenMemoryRunsOut() {
        try (CudaContext context = Cuda.devices().getFirst().retainPrimaryContext()) {
            final CudaException e = assertThrows(CudaException.class,
                () -> DeviceMemory.allocate(context, 1L << 46));
            assertEquals("CUDA_ERROR_OUT_OF_MEMORY", e.name());
            assertTrue(e.getMessage().contains("out of memory"), e.getMessage());
            assertTrue(context.freeBytes() > 0);
        }
    }

    @Test
    void shouldPutBackTheThreadsContextWhenLeft() throws Exception {
        try (CudaContext context = Cuda.devices().getFirst().retainPrimaryContext();
            ExecutorService other = Executors.newSingleThreadExecutor();
            DeviceMemory memory = DeviceMemory.allocate(context, MIB)) {
            final CudaContext.Guard guard = context.enter();
            assertEquals(context, guard.context());
            // A thread that never entered uses the owners all the same.
            other.submit((Callable<Void>) () -> {
                CudaCopies.fill(context, memory.pointer(), (byte) 1);
                context.synchronize();
                assertThrows(IllegalStateException.class, guard::close);
                return null;
            }).get();
            guard.close();
            guard.close();
        }
    }

    @Test
    void shouldFreeMemoryWhenTheLastUserReleasesIt() {
        try (CudaContext context = Cuda.devices().getFirst().retainPrimaryContext()) {
            final DeviceMemory memory = DeviceMemory.allocate(context, MIB);
            memory.retain();
            memory.close();
            memory.close();
            assertThrows(IllegalStateException.class, memory::retain);
            memory.share();
            memory.release();
            CudaCopies.fill(context, memory.pointer(), (byte) 1);
            memory.release();
            assertThrows(IllegalStateException.class, memory::share);
        }
    }

    @Test
    void shouldOutliveTheContextsOwnerWhenMadeInIt() {
        final CudaContext context = Cuda.devices().getFirst().retainPrimaryContext();
        final DeviceMemory memory = DeviceMemory.allocate(context, MIB);
        final CudaStream stream = CudaStream.create(context);
        context.close();
        assertThrows(IllegalStateException.class, context::enter);
        stream.synchronize();
        stream.close();
        memory.close();
    }
}
