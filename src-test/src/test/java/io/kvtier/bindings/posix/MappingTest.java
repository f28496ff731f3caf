package io.kvtier.bindings.posix;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.bindings.NativeResources;
import io.kvtier.bindings.NativeTag;
import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.NotExercised;
import io.kvtier.kit.PatternBytes;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CyclicBarrier;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

@ExtendWith(LeakCheck.class)
class MappingTest {
    private static final int PAGE = 4096;

    @TempDir
    private Path directory;
    private Path path;

    @BeforeEach
    void makePath() {
        path = directory.resolve("file");
    }

    private static byte[] bytes(final MemorySegment segment) {
        return PatternBytes.copyOf(segment);
    }

    @Test
    void shouldTakePagesAndKeepTheirBytes() {
        try (Mapping mapping = Mapping.anonymous(NativeTag.TEST, 4 * PAGE)) {
            mapping.segment().set(ValueLayout.JAVA_BYTE, PAGE, (byte) 42);
            NotExercised.require("madv-populate", Mapping.populate(mapping.segment()), "a kernel older than 5.14");
            assertEquals(42, mapping.segment().get(ValueLayout.JAVA_BYTE, PAGE));
        }
    }

    @Test
    void shouldFailAndNotEndInASignalWherePagesCannotBeHad() {
        try (PosixFile file = PosixFile.inMemory("pages")) {
            file.resize(4 * PAGE);
            try (Mapping mapping = Mapping.of(file, 0, 4 * PAGE, true)) {
                NotExercised.require("madv-populate", Mapping.populate(mapping.segment()), "a kernel older than 5.14");
                file.resize(2 * PAGE);
                final ErrnoException refused =
                    assertThrows(ErrnoException.class, () -> Mapping.populate(mapping.segment()));
                assertEquals(Errno.EFAULT, refused.errno());
            }
        }
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 4095, 4096, 4097, 1 << 20})
    void shouldBeZeroedAlignedAndAsLongAsAskedWhenAnonymous(final long length) {
        try (Mapping mapping = Mapping.anonymous(NativeTag.TEST, length)) {
            assertEquals(0, mapping.segment().address() % PAGE);
            assertEquals(length, mapping.segment().byteSize());
            assertArrayEquals(new byte[(int) length], bytes(mapping.segment()));
            mapping.segment().set(ValueLayout.JAVA_BYTE, length - 1, (byte) 42);
            assertEquals(42, mapping.segment().get(ValueLayout.JAVA_BYTE, length - 1));
            assertThrows(IndexOutOfBoundsException.class, () -> mapping.segment().get(ValueLayout.JAVA_BYTE, length));
        }
    }

    @Test
    void shouldBeCountedUnderItsTagWhileOpen() throws IOException {
        Files.write(path, new byte[PAGE]);
        try (Mapping mapping = Mapping.anonymous(NativeTag.TEST, 1000);
            PosixFile file = PosixFile.open(path.toString(), OpenMode.READ);
            Mapping mapped = Mapping.of(file, 0, 10, false)) {
            assertEquals(1000, mapping.segment().byteSize());
            assertEquals(10, mapped.segment().byteSize());
            assertEquals(new NativeResources.Usage(1, 1000), NativeResources.snapshot().get(NativeTag.TEST));
            assertEquals(new NativeResources.Usage(1, 10), NativeResources.snapshot().get(NativeTag.MAPPED_REGION));
            assertEquals(new NativeResources.Usage(1, 0), NativeResources.snapshot().get(NativeTag.FILE_DESCRIPTOR));
        }
    }

    @ParameterizedTest
    @ValueSource(longs = {0, -1, Long.MIN_VALUE})
    void shouldRefuseALengthThatIsNotPositive(final long length) throws IOException {
        Files.write(path, new byte[PAGE]);
        assertThrows(IllegalArgumentException.class, () -> Mapping.anonymous(NativeTag.TEST, length));
        try (PosixFile file = PosixFile.open(path.toString(), OpenMode.READ)) {
            assertThrows(IllegalArgumentException.class, () -> Mapping.of(file, 0, length, false));
        }
    }

    @Test
    void shouldFailWithEnomemWhenTheAddressSpaceIsTooSmall() {
        final ErrnoException e =
            assertThrows(ErrnoException.class, () -> Mapping.anonymous(NativeTag.TEST, 1L << 60));

        assertEquals(12, e.errno());
        assertTrue(e.getMessage().startsWith("mmap(anonymous, length " + (1L << 60) + ") failed: ENOMEM (12), "),
            e.getMessage());
    }

    @Test
    void shouldShareTheBytesBothWaysWhenFileIsMappedWritable() throws IOException {
        final byte[] content = PatternBytes.of(1, 3 * PAGE);
        Files.write(path, content);
        try (PosixFile file = PosixFile.open(path.toString(), OpenMode.READ_WRITE);
            Mapping mapping = Mapping.of(file, PAGE, PAGE + 10, true)) {
            assertArrayEquals(Arrays.copyOfRange(content, PAGE, 2 * PAGE + 10), bytes(mapping.segment()));

            final byte[] change = PatternBytes.of(2, 20);
            MemorySegment.copy(MemorySegment.ofArray(change), 0, mapping.segment(), 100, 20);
            System.arraycopy(change, 0, content, PAGE + 100, 20);
            assertArrayEquals(content, Files.readAllBytes(path));

            try (Mapping source = Mapping.anonymous(NativeTag.TEST, 30)) {
                PatternBytes.fill(source.segment(), 3);
                file.write(source.segment(), PAGE + 500);
                assertArrayEquals(PatternBytes.of(3, 30), bytes(mapping.segment().asSlice(500, 30)));
            }
        }
    }

    @Test
    void shouldSeeAnotherMappingsBytesWhenBothMapTheFile() throws IOException {
        Files.write(path, new byte[PAGE]);
        try (PosixFile file = PosixFile.open(path.toString(), OpenMode.READ_WRITE);
            Mapping writer = Mapping.of(file, 0, PAGE, true);
            Mapping reader = Mapping.of(file, 0, PAGE, false)) {
            PatternBytes.fill(writer.segment(), 4);

            assertArrayEquals(PatternBytes.of(4, PAGE), bytes(reader.segment()));
        }
    }

    @Test
    void shouldRefuseToBeWrittenWhenNotMappedWritable() throws IOException {
        final byte[] content = PatternBytes.of(5, PAGE);
        Files.write(path, content);
        try (PosixFile file = PosixFile.open(path.toString(), OpenMode.READ_WRITE);
            Mapping mapping = Mapping.of(file, 0, PAGE, false)) {
            assertTrue(mapping.segment().isReadOnly());
            assertThrows(RuntimeException.class, () -> mapping.segment().set(ValueLayout.JAVA_BYTE, 0, (byte) 1));
        }
        assertArrayEquals(content, Files.readAllBytes(path));
    }

    @Test
    void shouldFailWithEaccesWhenMappedWritableOverAFileOpenedForReading() throws IOException {
        Files.write(path, new byte[PAGE]);
        try (PosixFile file = PosixFile.open(path.toString(), OpenMode.READ)) {
            assertEquals(13,
                assertThrows(ErrnoException.class, () -> Mapping.of(file, 0, PAGE, true)).errno());
        }
    }

    @Test
    void shouldOutliveTheFileThatItMaps() throws IOException {
        Files.write(path, PatternBytes.of(6, PAGE));
        final PosixFile file = PosixFile.open(path.toString(), OpenMode.READ);
        try (Mapping mapping = Mapping.of(file, 0, PAGE, false)) {
            file.close();
            assertArrayEquals(PatternBytes.of(6, PAGE), bytes(mapping.segment()));
        }
    }

    @ParameterizedTest
    @CsvSource({"1, 10", "-4096, 10", "4095, 1", "0, 8193", "4096, 4097", "8192, 1", "1048576, 1",
        "4096, 9223372036854775807", "9223372036854771712, 4096"})
    void shouldRefuseARangeThatIsUnalignedOrOutsideTheFile(final long offset, final long length) throws IOException {
        Files.write(path, new byte[2 * PAGE]);
        try (PosixFile file = PosixFile.open(path.toString(), OpenMode.READ)) {
            assertThrows(IllegalArgumentException.class, () -> Mapping.of(file, offset, length, false));
        }
    }

    @Test
    void shouldReadAsZeroWhenAnonymousPagesAreDropped() {
        try (Mapping mapping = Mapping.anonymous(NativeTag.TEST, 4 * PAGE)) {
            PatternBytes.fill(mapping.segment(), 7);

            assertTrue(mapping.advise(Mapping.Advice.DO_NOT_NEED));

            assertArrayEquals(new byte[4 * PAGE], bytes(mapping.segment()));
        }
    }

    @Test
    void shouldKeepTheBytesWhenAdviceIsAboutSpeed() {
        final boolean hugePages = Files.exists(Path.of("/sys/kernel/mm/transparent_hugepage"));
        try (Mapping mapping = Mapping.anonymous(NativeTag.TEST, 4 << 20)) {
            PatternBytes.fill(mapping.segment(), 8);

            assertEquals(hugePages, mapping.advise(Mapping.Advice.HUGE_PAGES));
            assertEquals(hugePages, mapping.advise(Mapping.Advice.NO_HUGE_PAGES));
            assertTrue(mapping.advise(Mapping.Advice.WILL_NEED));

            assertArrayEquals(PatternBytes.of(8, 4 << 20), bytes(mapping.segment()));
        }
    }

    @Test
    void shouldBeResidentWhenLocked() throws IOException {
        final long before = lockedKib();
        try (Mapping mapping = Mapping.anonymous(NativeTag.TEST, 4 * PAGE)) {
            try {
                mapping.lock();
            } catch (final ErrnoException e) {
                NotExercised.require("mlock", false, e.getMessage());
            }
            assertEquals(before + 16, lockedKib());
        }
        assertEquals(before, lockedKib());
    }

    private static long lockedKib() throws IOException {
        return Files.readAllLines(Path.of("/proc/self/status")).stream().filter(line -> line.startsWith("VmLck:"))
            .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", ""))).findFirst().orElseThrow();
    }

    @Test
    void shouldGiveTheAddressesBackWhenClosed() throws IOException {
        final Mapping mapping = Mapping.anonymous(NativeTag.TEST, PAGE);
        final String start = Long.toHexString(mapping.segment().address());
        assertTrue(isMapped(start));

        mapping.close();

        assertFalse(isMapped(start));
    }

    // A range can be joined with a neighbour, so the address is looked for inside the ranges.
    private static boolean isMapped(final String address) throws IOException {
        final long wanted = Long.parseUnsignedLong(address, 16);
        return Files.readAllLines(Path.of("/proc/self/maps")).stream().map(line -> line.split("[- ]"))
            .anyMatch(range -> Long.compareUnsigned(Long.parseUnsignedLong(range[0], 16), wanted) <= 0
                && Long.compareUnsigned(wanted, Long.parseUnsignedLong(range[1], 16)) < 0);
    }

    @Test
    void shouldCloseTwiceWithoutHarm() {
        final Mapping mapping = Mapping.anonymous(NativeTag.TEST, PAGE);
        mapping.close();
        // The freed range goes to the next mapping of its size, which a second close must leave alone.
        try (Mapping next = Mapping.anonymous(NativeTag.TEST, PAGE)) {
            PatternBytes.fill(next.segment(), 9);
            mapping.close();
            assertArrayEquals(PatternBytes.of(9, PAGE), bytes(next.segment()));
        }
    }

    @Test
    void shouldRefuseEveryUseWhenClosed() {
        final Mapping mapping = Mapping.anonymous(NativeTag.TEST, PAGE);
        mapping.close();
        try (Mapping next = Mapping.anonymous(NativeTag.TEST, PAGE)) {
            PatternBytes.fill(next.segment(), 10);

            assertThrows(IllegalStateException.class, () -> mapping.segment().get(ValueLayout.JAVA_BYTE, 0));
            assertThrows(IllegalStateException.class, () -> mapping.segment().set(ValueLayout.JAVA_BYTE, 0, (byte) 1));
            assertThrows(IllegalStateException.class, () -> mapping.advise(Mapping.Advice.DO_NOT_NEED));
            assertThrows(IllegalStateException.class, mapping::lock);

            assertArrayEquals(PatternBytes.of(10, PAGE), bytes(next.segment()), "an address that is another's by now");
        }
    }

    @Test
    void shouldCloseOnceWhenThreadsCloseAtOnce() throws Exception {
        for (int round = 0; round < 200; round++) {
            final Mapping mapping = Mapping.anonymous(NativeTag.TEST, PAGE);
            final CyclicBarrier start = new CyclicBarrier(2);
            final List<CompletableFuture<Void>> closers = new ArrayList<>();
            for (int i = 0; i < 2; i++) {
                closers.add(CompletableFuture.runAsync(() -> {
                    try {
                        start.await();
                    } catch (final Exception e) {
                        throw new AssertionError(e);
                    }
                    mapping.close();
                }, command -> Thread.ofPlatform().start(command)));
            }
            for (final CompletableFuture<Void> closer : closers) {
                closer.get();
            }
            assertFalse(mapping.segment().scope().isAlive());
        }
    }
}
