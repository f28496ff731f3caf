package io.kvtier.transport.tcp;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.kvtier.alloc.MappedRegion;
import io.kvtier.bindings.posix.OpenMode;
import io.kvtier.bindings.posix.PosixFile;
import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.PatternBytes;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ScatteringByteChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** Bytes that come along with their header, and so are copied here rather than by the kernel. */
@ExtendWith(LeakCheck.class)
class FrameReaderTest {
    private static final int PAGE = 4096;
    private static final int BYTES = 40;

    @TempDir
    private Path directory;

    /** One frame of data after the other, each in one piece. */
    private static final class Frames implements ScatteringByteChannel {
        private final ByteBuffer frame = ByteBuffer.allocate(Wire.HEADER_BYTES + BYTES);

        @Override
        public int read(final ByteBuffer into) {
            frame.clear();
            frame.putShort(0, Wire.MAGIC).put(Wire.TYPE_AT, (byte) Wire.DATA).putLong(Wire.BODY_AT, BYTES);
            into.put(frame);
            return frame.capacity();
        }

        @Override
        public long read(final ByteBuffer[] into, final int from, final int count) {
            throw new AssertionError("nothing was missing");
        }

        @Override
        public long read(final ByteBuffer[] into) {
            throw new AssertionError("nothing was missing");
        }

        @Override
        public boolean isOpen() {
            return true;
        }

        @Override
        public void close() {
            // Is no channel.
        }
    }

    /** Wants all data at one place of a region. */
    private static final class Sink implements FrameReader.Handler {
        private final MappedRegion region;
        private final long offset;
        private int ended;

        Sink(final MappedRegion region, final long offset) {
            this.region = region;
            this.offset = offset;
        }

        @Override
        public void frame(final FrameReader in) {
            in.into(region, offset);
        }

        @Override
        public void dataEnded() {
            ended++;
        }

        @Override
        public boolean isPaused() {
            return false;
        }
    }

    private static FrameReader reader(final Sink sink) {
        final FrameReader reader = new FrameReader(sink, new Views(1));
        reader.lookahead(Wire.HEADER_BYTES + BYTES);
        return reader;
    }

    @Test
    void shouldSayOfNoDataThatItHasComeWhenThePageForItIsGone() throws IOException {
        final Path path = Files.write(directory.resolve("mapped"), PatternBytes.of(1, 2 * PAGE));
        final Frames frames = new Frames();
        try (MappedRegion mapped = MappedRegion.map(path.toString(), 0, 2 * PAGE, true);
            PosixFile file = PosixFile.open(path.toString(), OpenMode.READ_WRITE)) {
            file.resize(PAGE);
            final Sink there = new Sink(mapped, 0);
            final Sink gone = new Sink(mapped, PAGE);
            // Often enough for the compiler: the JVM tells compiled code of the fault later than interpreted code.
            for (int round = 0; round < 10_000; round++) {
                reader(there).read(frames);
                assertThrows(InternalError.class, () -> reader(gone).read(frames));
            }
            assertEquals(10_000, there.ended);
            assertEquals(0, gone.ended);
        }
    }
}
