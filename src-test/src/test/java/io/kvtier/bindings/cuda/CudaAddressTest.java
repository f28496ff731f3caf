package io.kvtier.bindings.cuda;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.bindings.cuda.CudaAddress.Kind;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** What is made of the driver's answer; {@code CudaDeviceTest} asks a driver. */
class CudaAddressTest {
    private static final long START = 0x7000_0000_0000L;

    private static String refusal(final CudaAddress address, final long length) {
        return assertThrows(IllegalArgumentException.class, () -> address.require(length)).getMessage();
    }

    @Test
    void shouldGoOnWhenTheRangeLiesInOneAllocation() {
        final CudaAddress inside = new CudaAddress(START + 100, Kind.DEVICE, 0, START, 4096);
        assertDoesNotThrow(() -> inside.require(1));
        assertDoesNotThrow(() -> inside.require(3996));
        assertEquals("0x700000000064+3997 reaches 1 bytes past its allocation, 0x700000000000+4096 of device 0; pass a"
            + " range within one allocation, and memory that was mapped in pieces piece by piece",
            refusal(inside, 3997));
        assertThrows(IllegalArgumentException.class, () -> inside.require(Long.MAX_VALUE));
    }

    @Test
    void shouldBelieveADriverThatDoesNotSayHowFarTheAllocationReaches() {
        assertDoesNotThrow(() -> new CudaAddress(START, Kind.DEVICE, 0, 0, 0).require(1 << 30));
    }

    @Test
    void shouldSayWhatIsThereInsteadOfDeviceMemory() {
        Map.of(Kind.UNKNOWN, "is no device memory", Kind.HOST, "is pinned host memory",
            Kind.MANAGED, "is managed memory").forEach((kind, words) -> {
                final String said = refusal(new CudaAddress(START, kind, -1, START, 4096), 16);
                assertTrue(said.startsWith("0x700000000000+16 " + words), said);
                assertTrue(said.contains("; pass memory of a live DeviceMemory"), said);
            });
    }
}
