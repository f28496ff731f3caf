package io.kvtier.transport.file;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kvtier.alloc.HostRegion;
import io.kvtier.alloc.RegionSlice;
import io.kvtier.bindings.NativeTag;
import io.kvtier.bindings.posix.BlockFile;
import io.kvtier.kit.ArrayFile;
import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.PatternBytes;
import io.kvtier.transport.Segment;
import io.kvtier.transport.TransferConfig;
import io.kvtier.transport.TransferEngine;
import io.kvtier.transport.TransferRequest;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Which calls a slice becomes where the direct descriptor takes whole blocks only, of the size that it says. */
@ExtendWith(LeakCheck.class)
class AlignedIoTest {
    private static final int BYTES = 64 << 10;

    @TempDir
    private Path directory;
    private final HostRegion local = HostRegion.allocate(NativeTag.TEST, BYTES);
    private final ArrayFile content = new ArrayFile(1, PatternBytes.of(1, BYTES));
    private final List<String> calls = new CopyOnWriteArrayList<>();
    private TransferEngine engine;
    private Segment segment;

    @BeforeEach
    void fill() {
        PatternBytes.fill(local.segment(), 2);
    }

    @AfterEach
    void close() {
        engine.close();
        local.close();
    }

    private void open(final int block) throws IOException {
        engine = TransferEngine.open(TransferConfig.DEFAULT, List.of(new PosixTransport((path, mode) ->
            mode.direct() ? new Noted("direct", block) : new Noted("buffered", 1), 1, true)));
        segment = engine.openSegment(Files.write(directory.resolve("s"), new byte[0]).toUri().toString());
    }

    private List<String> callsOfRead(final RegionSlice slice, final int offset) {
        final byte[] expected = Arrays.copyOfRange(content.content(), offset, offset + (int) slice.length());
        calls.clear();
        engine.submit(List.of(TransferRequest.read(slice, segment, offset))).await();
        assertArrayEquals(expected, PatternBytes.copyOf(slice.segment()));
        return List.copyOf(calls);
    }

    private List<String> callsOfWrite(final RegionSlice slice, final int offset) {
        PatternBytes.fill(slice.segment(), 3);
        final byte[] expected = content.content();
        System.arraycopy(PatternBytes.of(3, (int) slice.length()), 0, expected, offset, (int) slice.length());
        calls.clear();
        engine.submit(List.of(TransferRequest.write(slice, segment, offset))).await();
        assertArrayEquals(expected, content.content());
        return List.copyOf(calls);
    }

    @ParameterizedTest
    @ValueSource(ints = {512, 1024, 4096})
    void shouldStageOnlyTheEdgesWhenMemoryAndFileMeetAtABlock(final int block) throws IOException {
        open(block);
        final int head = block - block / 4;
        final RegionSlice slice = local.slice(block / 4, head + 2 * block + 50);

        assertEquals(List.of("direct " + block + "+" + block + " staged",
            "direct " + 2 * block + "+" + 2 * block + " from " + block,
            "direct " + 4 * block + "+" + block + " staged"), callsOfRead(slice, block + block / 4));
        // A part of a block is never read, changed and written back here.
        assertEquals(List.of("buffered " + (block + block / 4) + "+" + head + " from " + block / 4,
            "direct " + 2 * block + "+" + 2 * block + " from " + block,
            "buffered " + 4 * block + "+50 from " + 3 * block), callsOfWrite(slice, block + block / 4));
    }

    @ParameterizedTest
    @ValueSource(ints = {512, 1024, 4096})
    void shouldStageNothingWhenBothBeginAndEndAtABlock(final int block) throws IOException {
        open(block);
        final List<String> expected = List.of("direct " + block + "+" + 3 * block + " from " + 2 * block);

        assertEquals(expected, callsOfRead(local.slice(2L * block, 3L * block), block));
        assertEquals(expected, callsOfWrite(local.slice(2L * block, 3L * block), block));
    }

    @ParameterizedTest
    @ValueSource(ints = {512, 1024, 4096})
    void shouldStageAllWhenTheMemoryLiesBesideTheBlocks(final int block) throws IOException {
        open(block);
        final List<String> expected = List.of("direct " + block + "+" + 3 * block + " staged");

        assertEquals(expected, callsOfRead(local.slice(1, 3L * block), block));
        assertEquals(expected, callsOfWrite(local.slice(1, 3L * block), block));
    }

    /** One of the two descriptors of the content. */
    private final class Noted implements BlockFile {
        private final String name;
        private final int block;

        Noted(final String name, final int block) {
            this.name = name;
            this.block = block;
        }

        private void note(final MemorySegment memory, final long offset) {
            final long at = memory.address() - local.segment().address();
            calls.add(name + " " + offset + "+" + memory.byteSize() + (at >= 0 && at < BYTES ? " from " + at
                : " staged"));
            assertEquals(0, (memory.address() | memory.byteSize() | offset) % block, "the kernel would refuse it");
        }

        @Override
        public long read(final MemorySegment target, final long offset) {
            note(target, offset);
            return content.read(target, offset);
        }

        @Override
        public long write(final MemorySegment source, final long offset) {
            note(source, offset);
            return content.write(source, offset);
        }

        @Override
        public int alignment() {
            return block;
        }

        @Override
        public String path() {
            return content.path();
        }

        @Override
        public void sync() {
            content.sync();
        }

        @Override
        public void preallocate(final long offset, final long length) {
            content.preallocate(offset, length);
        }

        @Override
        public long size() {
            return content.size();
        }

        @Override
        public String identity() {
            return content.identity();
        }

        @Override
        public void close() {
            content.close();
        }
    }
}
