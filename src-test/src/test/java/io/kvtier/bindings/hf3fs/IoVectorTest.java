package io.kvtier.bindings.hf3fs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.bindings.NativeResources;
import io.kvtier.bindings.NativeTag;
import io.kvtier.bindings.posix.Errno;
import io.kvtier.kit.UsrbioFaults.Call;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.Test;

/** Shared memory. */
class IoVectorTest extends OverSimulatedUsrbio {
    private static final long BYTES = 64 << 10;

    @Test
    void shouldBeMemoryUntilItIsClosed() {
        final IoVector vector = IoVector.create(usrbio, mount(), BYTES, 4096, -1);
        assertEquals(BYTES, vector.segment().byteSize());
        assertEquals(List.of(vector.id() + ".b4096"), simulated.links());
        assertEquals(new NativeResources.Usage(1, BYTES),
            made(NativeTag.USRBIO_MEMORY));
        vector.segment().set(ValueLayout.JAVA_BYTE, BYTES - 1, (byte) 1);

        vector.close();
        vector.close();

        assertThrows(IllegalStateException.class, () -> vector.segment().get(ValueLayout.JAVA_BYTE, 0));
        assertEquals(List.of(), simulated.links());
    }

    @Test
    void shouldRefuseSizesThatEndTheProcess() {
        for (final long[] sizes : new long[][] {{0, 0}, {-1, 0}, {4096, 4097}, {4096, -1}}) {
            assertThrows(IllegalArgumentException.class,
                () -> IoVector.create(usrbio, mount(), sizes[0], sizes[1], -1));
        }
        assertEquals(0, simulated.faults().count(Call.IOV_CREATE));
    }

    @Test
    void shouldRefuseMountPointsThatTheStructCannotHold() {
        for (final String mountPoint : List.of("", "/" + "m".repeat(255), "/m\0", "/" + "ü".repeat(128))) {
            assertThrows(IllegalArgumentException.class, () -> IoVector.create(usrbio, mountPoint, BYTES, 0, -1));
        }
        assertEquals(0, simulated.faults().count(Call.IOV_CREATE));
    }

    @Test
    void shouldNameTheMountPointThatIsNone() {
        final UsrbioException refused = assertThrows(UsrbioException.class,
            () -> IoVector.create(usrbio, directory.toString(), BYTES, 0, -1));
        assertEquals(Errno.ENOENT, refused.errno());
        assertTrue(refused.getMessage().contains(directory.toString()) && refused.getMessage().contains("3fs-virt"),
            refused.getMessage());
    }

    @Test
    void shouldSayWhatToDoWhenSharedMemoryCannotBeMade() {
        // The second time the library says that it did well, and has made nothing.
        simulated.faults().nth(Call.IOV_CREATE, 1, -Errno.EIO).nth(Call.IOV_CREATE, 2, 0);
        for (int n = 1; n <= 2; n++) {
            final UsrbioException refused =
                assertThrows(UsrbioException.class, () -> IoVector.create(usrbio, mount(), BYTES, 0, -1));

            assertEquals(Errno.EIO, refused.errno());
            assertTrue(refused.getMessage().contains("/dev/shm"), refused.getMessage());
        }
    }

    @Test
    void shouldBeAnErrorAndNoSignalWhenThereIsNoRoomForItsPages() {
        simulated.withoutRoomBehind(BYTES / 2);

        final UsrbioException refused =
            assertThrows(UsrbioException.class, () -> IoVector.create(usrbio, mount(), BYTES, 0, -1));

        assertEquals(Errno.ENOSPC, refused.errno());
        assertTrue(refused.getMessage().contains("--shm-size"), refused.getMessage());
    }

    @Test
    void shouldBeTheSameMemoryForWhoOpensIt() {
        try (IoVector made = IoVector.create(usrbio, mount(), BYTES, 8192, -1)) {
            final IoVector opened = IoVector.open(usrbio, mount(), made.id(), BYTES, 8192);
            try (opened) {
                assertEquals(made.id(), opened.id());
                made.segment().set(ValueLayout.JAVA_LONG, 4096, 42);
                assertEquals(42, opened.segment().get(ValueLayout.JAVA_LONG, 4096));
            }
            assertThrows(IllegalStateException.class, () -> opened.segment().get(ValueLayout.JAVA_BYTE, 0));
            assertEquals(42, made.segment().get(ValueLayout.JAVA_LONG, 4096));
        }
    }

    @Test
    void shouldNotOpenMoreThanThereIs() {
        try (IoVector made = IoVector.create(usrbio, mount(), BYTES, 0, -1)) {
            final IllegalArgumentException refused = assertThrows(IllegalArgumentException.class,
                () -> IoVector.open(usrbio, mount(), made.id(), BYTES + 1, 0));
            assertTrue(refused.getMessage().contains(Long.toString(BYTES)), refused.getMessage());
        }
        final UsrbioException none = assertThrows(UsrbioException.class,
            () -> IoVector.open(usrbio, mount(), new UUID(1, 2), BYTES, 0));
        assertEquals(Errno.ENOENT, none.errno());
    }

    @Test
    void shouldStayMappedUntilTheLastEntryIsReaped() {
        final IoVector vector = IoVector.create(usrbio, mount(), BYTES, 0, -1);
        final IoRing ring = keep(IoRing.create(usrbio, mount(), IoRingOptions.of(2, true)), IoRing::close);
        final Hf3fsFile file = registered(fileOf("file", 4096));
        assertTrue(ring.prepare(vector, 0, 4096, file, 0, 1));

        vector.close();

        final MemorySegment memory = vector.segment();
        memory.set(ValueLayout.JAVA_BYTE, 0, (byte) 1);
        assertThrows(IllegalStateException.class, () -> ring.prepare(vector, 0, 4096, file, 0, 2));
        ring.submit();
        assertEquals(1, ring.await(1, 1));
        assertThrows(IllegalStateException.class, () -> memory.get(ValueLayout.JAVA_BYTE, 0));
    }
}
