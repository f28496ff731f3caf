package io.kvtier.kit;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.kvtier.bindings.posix.Errno;
import io.kvtier.bindings.posix.ErrnoException;
import io.kvtier.bindings.posix.OpenMode;
import io.kvtier.kit.Faults.Call;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

@ExtendWith(LeakCheck.class)
class FaultyFileTest {
    private final Arena arena = Arena.ofShared();
    private final Faults faults = new Faults();
    private final byte[] content = PatternBytes.of(1, 100);
    private final ArrayFile real = new ArrayFile(1, content);
    private final FaultyFile file = new FaultyFile(real, faults);
    private final MemorySegment memory = arena.allocate(10);

    @AfterEach
    void freeMemory() {
        arena.close();
    }

    private int errnoOf(final Runnable call) {
        return assertThrows(ErrnoException.class, call::run).errno();
    }

    @Test
    void shouldFailOnlyTheNthCallOfItsKindFromNowOn() {
        file.read(memory, 0);
        faults.failNth(Call.READ, 2, Errno.EIO);

        assertEquals(10, file.read(memory, 0));
        file.sync();
        assertEquals(5, errnoOf(() -> file.read(memory, 0)));
        assertEquals(10, file.read(memory, 0));
        assertEquals(4, faults.count(Call.READ));
        assertEquals(1, faults.count(Call.SYNC));
    }

    @Test
    void shouldFailEveryKindOfCallWhenToldTo() {
        for (final Call call : Call.values()) {
            faults.failAlways(call, Errno.ENOTCONN);
        }

        assertEquals(107, errnoOf(() -> file.read(memory, 0)));
        assertEquals(107, errnoOf(() -> file.write(memory, 0)));
        assertEquals(107, errnoOf(file::sync));
        assertEquals(107, errnoOf(() -> file.preallocate(0, 1)));
        assertEquals(107, errnoOf(() -> file.punch(0, 1)));
        assertEquals(107, errnoOf(file::size));
        assertEquals(107, errnoOf(file::close));
        assertArrayEquals(content, real.content());
    }

    @Test
    void shouldFlipOnlyTheBitsOfThatByteWhenItIsRead() {
        faults.flip(12, 0x81);

        file.read(memory, 5);

        final byte[] expected = Arrays.copyOfRange(content, 5, 15);
        expected[7] ^= (byte) 0x81;
        assertArrayEquals(expected, PatternBytes.copyOf(memory));
        assertArrayEquals(content, real.content());
    }

    @Test
    void shouldLeaveAPartBehindWhenAWriteIsTorn() {
        faults.tearNthWrite(1, 4);
        memory.fill((byte) 7);

        assertEquals(5, errnoOf(() -> file.write(memory, 20)));

        final byte[] expected = content.clone();
        Arrays.fill(expected, 20, 24, (byte) 7);
        assertArrayEquals(expected, real.content());
        assertEquals(10, file.write(memory, 20));
    }

    @Test
    void shouldBeFullForWritesAndReservationsWhenTheDiskIs() {
        faults.fullAfter(15);

        assertEquals(10, file.write(memory, 0));
        assertEquals(28, errnoOf(() -> file.preallocate(0, 6)));
        file.preallocate(0, 5);
        assertEquals(5, file.write(memory, 0));
        assertEquals(28, errnoOf(() -> file.write(memory, 0)));
    }

    @Test
    void shouldHoldTheCallUntilReleased() throws Exception {
        final CompletableFuture<Long> read;
        try (Faults.Gate gate = faults.blockNext(Call.READ)) {
            read = CompletableFuture.supplyAsync(() -> file.read(memory, 0),
                command -> Thread.ofPlatform().start(command));
            gate.awaitEntered();
            assertEquals(false, read.isDone());
            assertEquals(10, file.read(arena.allocate(10), 0), "only one call is held");
        }
        assertEquals(10, read.get());
    }

    @Test
    void shouldRefuseDirectAndCountOpensWhenToldTo(@TempDir final Path directory) {
        final FaultyFiles files = new FaultyFiles(faults.refuseDirect().failNth(Call.OPEN, 3, Errno.EMFILE));
        final String path = directory.resolve("file").toString();

        files.open(path, OpenMode.CREATE).close();
        assertEquals(22, errnoOf(() -> files.open(path, OpenMode.READ_DIRECT)));
        assertEquals(24, errnoOf(() -> files.open(path, OpenMode.READ)));
        assertEquals(1, files.opened().size());
        assertEquals(3, faults.count(Call.OPEN));
    }
}
