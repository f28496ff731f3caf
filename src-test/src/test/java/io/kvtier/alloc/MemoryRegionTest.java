package io.kvtier.alloc;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.bindings.NativeResources;
import io.kvtier.bindings.NativeTag;
import io.kvtier.bindings.posix.ErrnoException;
import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.NotExercised;
import io.kvtier.kit.PatternBytes;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

@ExtendWith(LeakCheck.class)
class MemoryRegionTest {
    private static final int PAGE = 4096;

    @TempDir
    private Path directory;

    private String file(final byte[] content) throws IOException {
        return Files.write(directory.resolve("file"), content).toString();
    }

    @Test
    void shouldBeZeroedAlignedAndCountedWhenAllocated() {
        try (HostRegion region = HostRegion.allocate(NativeTag.TEST, 10_000)) {
            assertEquals(10_000, region.byteSize());
            assertEquals(0, region.segment().address() % PAGE);
            assertArrayEquals(new byte[10_000], PatternBytes.copyOf(region.segment()));
            assertEquals(new NativeResources.Usage(1, 10_000), NativeResources.snapshot().get(NativeTag.TEST));
        }
    }

    @Test
    void shouldHoldItsBytesWhenAllocatedWithHugePages() {
        try (HostRegion region = HostRegion.allocateHuge(NativeTag.TEST, 4 << 20)) {
            PatternBytes.fill(region.segment(), 1);
            assertArrayEquals(PatternBytes.of(1, 4 << 20), PatternBytes.copyOf(region.segment()));
        }
    }

    @Test
    void shouldHoldItsBytesWhenLocked() {
        try (HostRegion region = HostRegion.allocate(NativeTag.TEST, PAGE)) {
            PatternBytes.fill(region.segment(), 2);
            try {
                region.lock();
            } catch (final ErrnoException e) {
                NotExercised.require("mlock", false, e.getMessage());
            }
            assertArrayEquals(PatternBytes.of(2, PAGE), PatternBytes.copyOf(region.segment()));
        }
    }

    @Test
    void shouldBeUsableByEveryThread() throws InterruptedException {
        try (HostRegion region = HostRegion.allocate(NativeTag.TEST, 100)) {
            Thread.ofPlatform().start(() -> PatternBytes.fill(region.segment(), 3)).join();
            assertArrayEquals(PatternBytes.of(3, 100), PatternBytes.copyOf(region.segment()));
        }
    }

    @ParameterizedTest
    @ValueSource(longs = {0, -1})
    void shouldRefuseToAllocateNothing(final long bytes) {
        assertThrows(IllegalArgumentException.class, () -> HostRegion.allocate(NativeTag.TEST, bytes));
        assertThrows(IllegalArgumentException.class, () -> HostRegion.allocateHuge(NativeTag.TEST, bytes));
    }

    @Test
    void shouldCloseTwiceWithoutHarmAndRefuseUseAfterwards() {
        final HostRegion region = HostRegion.allocate(NativeTag.TEST, 100);
        final RegionSlice slice = region.slice(0, 10);
        region.close();
        region.close();

        assertThrows(IllegalStateException.class, () -> region.segment().get(ValueLayout.JAVA_BYTE, 0));
        assertThrows(IllegalStateException.class, () -> slice.segment().get(ValueLayout.JAVA_BYTE, 0));
        assertThrows(IllegalStateException.class, region::lock);
        assertFalse(NativeResources.snapshot().containsKey(NativeTag.TEST));
    }

    @Test
    void shouldReachTheFileWhenMappedWritable() throws IOException {
        final byte[] content = PatternBytes.of(4, 3 * PAGE);
        final String path = file(content);
        try (MappedRegion region = MappedRegion.map(path, PAGE, PAGE, true)) {
            assertArrayEquals(Arrays.copyOfRange(content, PAGE, 2 * PAGE), PatternBytes.copyOf(region.segment()));
            region.segment().set(ValueLayout.JAVA_BYTE, 1, (byte) (content[PAGE + 1] + 1));
        }
        content[PAGE + 1]++;
        assertArrayEquals(content, Files.readAllBytes(Path.of(path)));
    }

    @Test
    void shouldRefuseToBeWrittenWhenMappedForReading() throws IOException {
        final byte[] content = PatternBytes.of(5, PAGE);
        final String path = file(content);
        try (MappedRegion region = MappedRegion.map(path, 0, PAGE, false)) {
            assertTrue(region.segment().isReadOnly());
            assertArrayEquals(content, PatternBytes.copyOf(region.segment()));
        }
        assertArrayEquals(content, Files.readAllBytes(Path.of(path)));
    }

    @Test
    void shouldHoldNoDescriptorOnceMapped() throws IOException {
        final String path = file(new byte[PAGE]);
        final MappedRegion region = MappedRegion.map(path, 0, PAGE, true);
        try {
            assertFalse(NativeResources.snapshot().containsKey(NativeTag.FILE_DESCRIPTOR));
            assertEquals(new NativeResources.Usage(1, PAGE),
                NativeResources.snapshot().get(NativeTag.MAPPED_REGION));
        } finally {
            region.close();
            region.close();
        }
        assertThrows(IllegalStateException.class, () -> region.segment().get(ValueLayout.JAVA_BYTE, 0));
    }

    @Test
    void shouldLeaveNothingOpenWhenItCannotBeMapped() throws IOException {
        final String path = file(new byte[PAGE]);

        assertThrows(IllegalArgumentException.class, () -> MappedRegion.map(path, 0, PAGE + 1, true));
        assertThrows(IllegalArgumentException.class, () -> MappedRegion.map(path, 1, 1, true));
        assertEquals(2,
            assertThrows(ErrnoException.class, () -> MappedRegion.map(path + "x", 0, 1, false)).errno());
    }

    @Test
    void shouldLeaveTheMemoryToItsOwnerWhenBorrowed() {
        try (Arena arena = Arena.ofConfined()) {
            final MemorySegment memory = arena.allocate(64);
            final BorrowedRegion region = new BorrowedRegion(memory);
            assertSame(memory, region.segment());
            assertEquals(64, region.byteSize());

            region.close();
            region.close();

            memory.set(ValueLayout.JAVA_BYTE, 63, (byte) 9);
            assertEquals(9, region.slice(63, 1).segment().get(ValueLayout.JAVA_BYTE, 0));
        }
        assertThrows(NullPointerException.class, () -> new BorrowedRegion(null));
    }

    @Test
    void shouldBeARangeOfItsRegionWhenSliced() {
        try (HostRegion region = HostRegion.allocate(NativeTag.TEST, 100)) {
            PatternBytes.fill(region.segment(), 6);

            final RegionSlice slice = region.slice(30, 50);

            assertEquals(new RegionSlice(region, 30, 50), slice);
            assertEquals(region.segment().address() + 30, slice.segment().address());
            assertArrayEquals(Arrays.copyOfRange(PatternBytes.of(6, 100), 30, 80),
                PatternBytes.copyOf(slice.segment()));
            for (final RegionSlice edge : List.of(region.slice(0, 100), region.slice(100, 0), region.slice(0, 0))) {
                assertEquals(edge.length(), edge.segment().byteSize());
            }
        }
    }

    @ParameterizedTest
    @CsvSource({"-1, 1", "0, -1", "0, 101", "100, 1", "101, 0", "50, 51", "9223372036854775807, 1",
        "1, 9223372036854775807"})
    void shouldRefuseASliceThatIsNotInsideTheRegion(final long offset, final long length) {
        try (HostRegion region = HostRegion.allocate(NativeTag.TEST, 100)) {
            assertThrows(IndexOutOfBoundsException.class, () -> region.slice(offset, length));
        }
    }

    @Test
    void shouldCoverACallersMemoryWhenMadeOfASegment() {
        final byte[] bytes = PatternBytes.of(7, 10);

        final RegionSlice slice = RegionSlice.of(MemorySegment.ofArray(bytes));

        assertEquals(0, slice.offset());
        assertEquals(10, slice.length());
        assertArrayEquals(bytes, PatternBytes.copyOf(slice.segment()));
    }
}
