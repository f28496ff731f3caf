package io.kvtier.bindings.cuda;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class DevicePointerTest {
    private final DevicePointer range = new DevicePointer(0x7000_0000_0000L, 4096);

    @Test
    void shouldStayInsideWhenMovedOrCut() {
        assertEquals(new DevicePointer(0x7000_0000_0fffL, 1), range.plus(4095));
        assertEquals(range, range.plus(0));
        assertEquals(new DevicePointer(0x7000_0000_0800L, 16), range.slice(2048, 16));
        assertThrows(IndexOutOfBoundsException.class, () -> range.plus(4096));
        assertThrows(IndexOutOfBoundsException.class, () -> range.plus(-1));
        assertThrows(IndexOutOfBoundsException.class, () -> range.slice(4000, 97));
        assertThrows(IndexOutOfBoundsException.class, () -> range.slice(1, Long.MAX_VALUE));
        assertThrows(IllegalArgumentException.class, () -> range.slice(0, 0));
    }

    @Test
    void shouldRefuseWhatIsNoMemory() {
        assertThrows(IllegalArgumentException.class, () -> new DevicePointer(0, 1));
        assertThrows(IllegalArgumentException.class, () -> new DevicePointer(1, 0));
        assertTrue(range.toString().contains("0x700000000000+4096"));
    }

    @Test
    void shouldSayThatCudaIsAbsentWhenItIs() {
        if (!Cuda.availability().available()) {
            assertTrue(assertThrows(IllegalStateException.class, Cuda::devices).getMessage().contains("driver"));
        }
    }
}
