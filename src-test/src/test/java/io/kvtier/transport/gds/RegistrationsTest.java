package io.kvtier.transport.gds;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.alloc.DeviceRegion;
import io.kvtier.alloc.HostRegion;
import io.kvtier.bindings.NativeTag;
import io.kvtier.bindings.cufile.CuFileConfig;
import io.kvtier.bindings.cufile.CuFileDriver;
import io.kvtier.bindings.cufile.CuFileException;
import io.kvtier.kit.Dying;
import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.SimulatedBuffers;
import io.kvtier.kit.SimulatedCuFile;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

@ExtendWith(LeakCheck.class)
class RegistrationsTest {
    private final SimulatedCuFile simulated = new SimulatedCuFile();
    private final SimulatedBuffers buffers = new SimulatedBuffers(simulated.memory());
    private final CuFileDriver driver = simulated.cuFile().open(CuFileConfig.DEFAULT);
    private final Registrations registrations = new Registrations((context, memory) -> () -> { });

    @AfterEach
    void close() {
        driver.close();
        buffers.close();
        assertEquals(0, simulated.live());
        assertEquals(0, simulated.opens());
    }

    private static DeviceRegion part(final DeviceRegion whole, final long offset, final long length) {
        return DeviceRegion.borrow(null, whole.pointer().slice(offset, length));
    }

    @Test
    void shouldResolveAnAddressInsideToItsBase() {
        final DeviceRegion region = buffers.allocate(10_000);
        final long base = region.pointer().address();
        registrations.add(driver, null, region);
        for (final long offset : new long[] {0, 1, 4096, 9999}) {
            assertEquals(base, registrations.find(base + offset, 1).base());
            assertEquals(base, registrations.find(base + offset, 10_000 - offset).base());
            assertNull(registrations.find(base + offset, 10_001 - offset));
            assertEquals(0, registrations.past(base + offset, 10_000 - offset));
            assertEquals(7, registrations.past(base + offset, 10_007 - offset));
        }
        assertNull(registrations.find(base - 1, 1));
        assertNull(registrations.find(base + 10_000, 1));
        assertEquals(0, registrations.past(base - 1, 100));
        assertEquals(0, registrations.past(base + 10_000, 100));
        registrations.remove(region);
        assertNull(registrations.find(base, 1));
    }

    @Test
    void shouldFindTheOneThatHoldsTheRangeWhenOneLiesInsideTheOther() {
        final DeviceRegion whole = buffers.allocate(10_000);
        final DeviceRegion inner = part(whole, 1000, 1000);
        final long base = whole.pointer().address();
        registrations.add(driver, null, whole);
        registrations.add(driver, null, inner);

        assertEquals(base + 1000, registrations.find(base + 1500, 500).base());
        assertEquals(base, registrations.find(base + 1500, 501).base());
        assertEquals(base, registrations.find(base + 2500, 1).base());
        assertEquals(0, registrations.past(base + 1500, 501));

        registrations.remove(inner);
        assertEquals(base, registrations.find(base + 1500, 500).base());
        registrations.remove(whole);
    }

    @Test
    void shouldRefuseTheSameBaseWithAnotherLengthAndWhatIsNotThere() {
        final DeviceRegion whole = buffers.allocate(10_000);
        registrations.add(driver, null, whole);
        assertThrows(IllegalArgumentException.class, () -> registrations.add(driver, null, part(whole, 0, 5000)));
        registrations.remove(whole);
        assertThrows(IllegalStateException.class, () -> registrations.remove(whole));
    }

    @Test
    void shouldFindEachOfMany() {
        final SplittableRandom random = new SplittableRandom(1);
        final List<DeviceRegion> regions = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
            final DeviceRegion region = buffers.allocate(1 + random.nextInt(10_000));
            regions.add(random.nextInt(regions.size() + 1), region);
            registrations.add(driver, null, region);
        }
        for (int round = 0; round < 100; round++) {
            for (final DeviceRegion region : regions) {
                final long offset = random.nextLong(region.byteSize());
                assertEquals(region.pointer().address(),
                    registrations.find(region.pointer().address() + offset, region.byteSize() - offset).base());
            }
            final DeviceRegion gone = regions.removeFirst();
            registrations.remove(gone);
            final Registrations.Entry after = registrations.find(gone.pointer().address(), 1);
            assertTrue(after == null, "it is still there");
        }
    }

    /** A driver over a library not linked completely; host memory that is not let go is told by the leak check. */
    @Test
    void shouldLetHostMemoryGoWhenItCannotBeRegistered() {
        final LinkageError gone = new LinkageError("a class is gone");
        final AtomicInteger pinned = new AtomicInteger();
        final Registrations own = new Registrations((context, memory) -> {
            pinned.incrementAndGet();
            return pinned::decrementAndGet;
        });
        try (CuFileDriver dying = Dying.in("bufferRegister", simulated, gone).open(CuFileConfig.DEFAULT);
             HostRegion region = HostRegion.allocate(NativeTag.TEST, 4096)) {
            assertSame(gone, assertThrows(LinkageError.class, () -> own.add(dying, null, region)));
            assertEquals(0, pinned.get());
        }
    }

    @Test
    void shouldSayWhyMemoryCouldNotBeRegisteredThoughItCannotBeUnpinnedEither() {
        final IllegalStateException stuck = new IllegalStateException("it cannot be unpinned");
        final Registrations own = new Registrations((context, memory) -> () -> {
            throw stuck;
        });
        final HostRegion region = HostRegion.allocate(NativeTag.TEST, 4096);
        try {
            simulated.refuse("bufferRegister", 5005, 0);
            final CuFileException e = assertThrows(CuFileException.class, () -> own.add(driver, null, region));
            assertEquals(5005, e.code());
            assertSame(stuck, e.getSuppressed()[0]);
            region.close();
            assertTrue(region.segment().scope().isAlive(), "a device may still be at it");
        } finally {
            // In place of the one that keeps it for ever.
            region.release();
        }
    }
}
