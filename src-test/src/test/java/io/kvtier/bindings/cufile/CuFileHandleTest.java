package io.kvtier.bindings.cufile;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.bindings.cuda.DevicePointer;
import io.kvtier.bindings.cufile.gen.CuFileTypes;
import io.kvtier.bindings.posix.Errno;
import io.kvtier.bindings.posix.PosixFile;
import java.lang.foreign.ValueLayout;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** Files and registered memory, and the three ways in which a transfer reports an error. */
class CuFileHandleTest extends OverSimulatedCuFile {
    private static final long FILE_BYTES = 1 << 20;

    private final CuFileBuffer buffer = keep(CuFileBuffer.register(driver, device), CuFileBuffer::close);

    CuFileHandleTest() {
        super("handle", 64 << 10);
    }

    @Test
    void shouldBringBackWhatWasWritten() {
        memory.fill((byte) 5);
        assertEquals(4096, handle.write(buffer, 4096, 4096, 8192));
        memory.fill((byte) 0);
        assertEquals(4096, handle.read(buffer, 8192, 4096, 8192));
        assertEquals(5, memory.get(ValueLayout.JAVA_BYTE, 8192));
        assertEquals(0, memory.get(ValueLayout.JAVA_BYTE, 4096));
        assertEquals(100, handle.read(device.slice(100, 100), 8192));
        assertEquals(5, memory.get(ValueLayout.JAVA_BYTE, 199));
    }

    @Test
    void shouldReadShortWhenTheFileEnds() {
        assertEquals(100, handle.read(buffer, 0, 4096, FILE_BYTES - 100));
        assertEquals(0, handle.read(buffer, 0, 4096, FILE_BYTES));
    }

    @Test
    void shouldRefuseARangeOutsideTheRegistration() {
        assertThrows(IndexOutOfBoundsException.class, () -> handle.read(buffer, 60 << 10, 8 << 10, 0));
        assertThrows(IndexOutOfBoundsException.class, () -> handle.write(buffer, -1, 10, 0));
        assertThrows(IllegalArgumentException.class, () -> handle.write(buffer, 0, 10, -1));
    }

    @Test
    void shouldGiveTheErrnoWhenTheResultIsMinusOne() {
        simulated.answer(-1, Errno.ENOSPC);
        final CuFileException e = assertThrows(CuFileException.class, () -> handle.write(buffer, 0, 4096, 0));
        assertEquals(CuFileException.Domain.ERRNO, e.domain());
        assertEquals(Errno.ENOSPC, e.code());
        assertEquals("ENOSPC", e.name());
        assertTrue(e.getMessage().contains("memfd:handle, offset 0, length 4096"), e.getMessage());
        assertFalse(e.retryable());
    }

    @Test
    void shouldGiveTheCuFileCodeWhenItComesAsErrno() {
        simulated.answer(-1, CuFileTypes.CU_FILE_INVALID_MAPPING_RANGE());
        final CuFileException e = assertThrows(CuFileException.class, () -> handle.read(buffer, 0, 4096, 0));
        assertEquals(CuFileException.Domain.CUFILE, e.domain());
        assertEquals("CU_FILE_INVALID_MAPPING_RANGE", e.name());
    }

    @Test
    void shouldGiveTheCuFileCodeWhenItIsTheNegativeResult() {
        simulated.answer(-CuFileTypes.CU_FILE_NOMEM_ERROR(), Errno.EIO);
        final CuFileException e = assertThrows(CuFileException.class, () -> handle.read(buffer, 0, 4096, 0));
        assertEquals("CU_FILE_NOMEM_ERROR", e.name());
        assertTrue(e.retryable());
    }

    @Test
    void shouldFailWhenTheResultIsMoreThanWasAskedFor() {
        simulated.answer(CuFileTypes.CU_FILE_DRIVER_CLOSING(), 0);
        final CuFileException e = assertThrows(CuFileException.class, () -> handle.read(buffer, 0, 4096, 0));
        assertEquals("CU_FILE_DRIVER_CLOSING", e.name());
    }

    @Test
    void shouldFailAsAnIoErrorWhenNothingIsSaid() {
        simulated.answer(-1, 0);
        assertEquals(Errno.EIO, assertThrows(CuFileException.class, () -> handle.read(buffer, 0, 4096, 0)).code());
    }

    @Test
    void shouldPassOnWhatTheCudaDriverSaid() {
        simulated.refuse("bufferRegister", CuFileTypes.CU_FILE_CUDA_DRIVER_ERROR(), 2);
        final CuFileException e =
            assertThrows(CuFileException.class, () -> CuFileBuffer.register(driver, device.plus(4096)));
        assertEquals(CuFileException.Domain.CUDA, e.domain());
        assertEquals(2, e.code());
    }

    @Test
    void shouldSayWhatToDoWhenTheFileSystemIsUnknownToUdev() {
        simulated.refuse("handleRegister", CuFileTypes.CU_FILE_HANDLE_NOT_REGISTERED(), 0);
        try (PosixFile other = PosixFile.inMemory("other")) {
            final CuFileException e =
                assertThrows(CuFileException.class, () -> CuFileHandle.register(driver, other));
            assertEquals(5027, e.code());
            assertTrue(e.getMessage().contains("/run/udev"), e.getMessage());
        }
    }

    @Test
    void shouldRefuseMemoryOfSomebodyElseThatIsNoDeviceMemory() {
        final DevicePointer none = new DevicePointer(0x1234_5678_9000L, 4096);
        for (final Executable call : List.<Executable>of(() -> handle.read(none, 0), () -> handle.write(none, 0),
            () -> CuFileBuffer.register(driver, none))) {
            final String said = assertThrows(IllegalArgumentException.class, call).getMessage();
            assertTrue(said.startsWith("0x123456789000+4096 is no device memory"), said);
        }
        assertFalse(simulated.calls().contains("read") || simulated.calls().contains("write"));
    }

    @Test
    void shouldRefuseASecondRegistration() {
        assertEquals("CU_FILE_HANDLE_ALREADY_REGISTERED",
            assertThrows(CuFileException.class, () -> CuFileHandle.register(driver, file)).name());
        assertEquals("CU_FILE_MEMORY_ALREADY_REGISTERED",
            assertThrows(CuFileException.class, () -> CuFileBuffer.register(driver, device)).name());
    }

    @Test
    void shouldRefuseToBeUsedWhenClosed() {
        final CuFileBuffer part = CuFileBuffer.register(driver, device.plus(4096));
        part.close();
        part.close();
        assertThrows(IllegalStateException.class, () -> handle.read(part, 0, 4096, 0));
        handle.close();
        handle.close();
        assertThrows(IllegalStateException.class, () -> handle.read(buffer, 0, 4096, 0));
        assertEquals("memfd:handle", handle.path());
        assertEquals(device, new DevicePointer(buffer.address(), buffer.byteSize()));
    }

    @Test
    void shouldKeepTheDescriptorOpenWhenTheFileIsClosedFirst() {
        file.close();
        assertEquals(4096, handle.read(buffer, 0, 4096, 0));
        assertThrows(IllegalStateException.class, file::acquireDescriptor);
    }
}
