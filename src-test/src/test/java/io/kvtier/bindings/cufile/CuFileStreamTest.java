package io.kvtier.bindings.cufile;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.bindings.cufile.gen.CuFileTypes;
import java.lang.foreign.ValueLayout;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Transfers in the order of a stream, and its registration, over a stream that counts who holds it. */
class CuFileStreamTest extends OverSimulatedCuFile {
    private final CuFileBuffer buffer = keep(CuFileBuffer.register(driver, device), CuFileBuffer::close);
    private final CountedStream stream = new CountedStream();

    CuFileStreamTest() {
        super("stream", 64 << 10);
    }

    @AfterEach
    void close() {
        assertEquals(0, stream.held());
    }

    private CuFileStreamTransfer submit(final boolean write, final long length) {
        return CuFileStreamTransfer.submit(write, handle, 0, buffer, 0, length, stream.hold());
    }

    @Test
    void shouldMoveBytesAndHoldWhatItUsesUntilClosed() {
        memory.fill((byte) 3);
        try (CuFileStreamTransfer write = submit(true, 4096)) {
            assertEquals(4096, write.result());
        }
        memory.fill((byte) 0);
        final CuFileStreamTransfer read = submit(false, 4096);
        buffer.close();
        handle.close();
        assertEquals(2, simulated.live());
        assertEquals(1, stream.held());
        assertEquals(4096, read.result());
        assertEquals(3, memory.get(ValueLayout.JAVA_BYTE, 4095));
        read.close();
        read.close();
        assertEquals(0, simulated.live());
        assertEquals(4, stream.waits());
        assertThrows(IllegalStateException.class, read::result);
    }

    @Test
    void shouldHoldNothingWhenRefused() {
        assertThrows(IndexOutOfBoundsException.class, () -> submit(false, 1 << 20));
        simulated.refuse("streamTransfer", CuFileTypes.CU_FILE_ASYNC_NOT_SUPPORTED(), 0);
        assertEquals("CU_FILE_ASYNC_NOT_SUPPORTED",
            assertThrows(CuFileException.class, () -> submit(false, 4096)).name());
        handle.close();
        assertThrows(IllegalStateException.class, () -> submit(false, 4096));
        assertEquals(0, stream.held());
    }

    @Test
    void shouldLetEverythingGoWhenTheStreamHasFailed() {
        final CuFileStreamTransfer transfer = submit(false, 4096);
        stream.fail(new IllegalStateException("the stream has failed"));
        assertThrows(IllegalStateException.class, transfer::close);
        transfer.close();
    }

    @Test
    void shouldRegisterTheStreamWithWhatIsKnownOfItsTransfers() {
        final CuFileStream plain = CuFileStream.register(driver, stream.hold(), false);
        assertEquals(7, simulated.stream(CountedStream.HANDLE));
        try (CuFileStreamTransfer odd = plain.submit(false, handle, 1, buffer, 2, 3)) {
            assertEquals(3, odd.result());
        }
        plain.close();
        assertNull(simulated.stream(CountedStream.HANDLE));
        try (CuFileStream aligned = CuFileStream.register(driver, stream.hold(), true)) {
            assertEquals(15, simulated.stream(CountedStream.HANDLE));
            for (final long[] odd : new long[][] {{1, 0, 4096}, {0, 1, 4096}, {0, 0, 4095}}) {
                final IllegalArgumentException e = assertThrows(IllegalArgumentException.class,
                    () -> aligned.submit(true, handle, odd[0], buffer, odd[1], odd[2]));
                assertTrue(e.getMessage().contains("multiples of 4096 bytes"), e.getMessage());
            }
            try (CuFileStreamTransfer even = aligned.submit(true, handle, 4096, buffer, 8192, 4096)) {
                assertEquals(4096, even.result());
            }
        }
    }

    @Test
    void shouldStayRegisteredUntilItsTransfersAreClosed() {
        final CuFileStream registered = CuFileStream.register(driver, stream.hold(), false);
        final CuFileStreamTransfer transfer = registered.submit(false, handle, 0, buffer, 0, 4096);
        registered.close();
        registered.close();
        assertEquals(7, simulated.stream(CountedStream.HANDLE));
        assertThrows(IllegalStateException.class, () -> registered.submit(false, handle, 0, buffer, 0, 4096));
        assertEquals(4096, transfer.result());
        transfer.close();
        assertNull(simulated.stream(CountedStream.HANDLE));
    }

    @Test
    void shouldHoldNothingWhenTheRegistrationIsRefused() {
        simulated.refuse("streamRegister", CuFileTypes.CU_FILE_INVALID_VALUE(), 0);
        assertThrows(CuFileException.class, () -> CuFileStream.register(driver, stream.hold(), false));
        assertEquals(0, stream.held());
        final CuFileStream registered = CuFileStream.register(driver, stream.hold(), false);
        simulated.streamDeregister(CountedStream.HANDLE);
        assertThrows(CuFileException.class, registered::close);
        assertEquals(0, stream.held());
    }
}
