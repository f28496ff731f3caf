package io.kvtier.store.cli;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.channels.ReadableByteChannel;
import java.nio.channels.WritableByteChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;

/**
 * Values as files: {@code -} stands for standard input and output. Bytes go through native memory, which transfers can
 * use as it is. What takes long shows its progress.
 */
final class ValueFiles {
    /** Stands for standard input and output. */
    static final String STANDARD = "-";

    private static final int CHUNK = 16 << 20;

    private ValueFiles() {
    }

    /** The bytes of a file, in pieces of an arena. */
    static List<MemorySegment> read(final Console console, final String file, final InputStream in, final Arena arena)
        throws IOException {
        if (file.equals(STANDARD)) {
            return read(Channels.newChannel(in), arena, null);
        }
        try (FileChannel channel = FileChannel.open(Path.of(file), StandardOpenOption.READ);
             Progress progress = Progress.start(quiet(console, channel.size()), "read", "B", channel.size())) {
            return read(channel, arena, progress);
        }
    }

    private static List<MemorySegment> read(final ReadableByteChannel from, final Arena arena, final Progress progress)
        throws IOException {
        final List<MemorySegment> pieces = new ArrayList<>();
        while (true) {
            final MemorySegment piece = arena.allocate(CHUNK);
            final ByteBuffer buffer = piece.asByteBuffer();
            int count = 0;
            while (count >= 0 && buffer.hasRemaining()) {
                count = from.read(buffer);
                if (progress != null && count > 0) {
                    progress.advance(count);
                }
            }
            if (buffer.position() > 0) {
                pieces.add(piece.asSlice(0, buffer.position()));
            }
            if (count < 0) {
                return pieces;
            }
        }
    }

    /**
     * Writes a value. A file appears when it is complete, in place of one of its name.
     *
     * @param value native memory.
     */
    static void write(final Console console, final String file, final OutputStream out, final MemorySegment value)
        throws IOException {
        try (Progress progress = Progress.start(quiet(console, value.byteSize()), "write", "B", value.byteSize())) {
            if (file.equals(STANDARD)) {
                write(Channels.newChannel(out), value, progress);
                out.flush();
                return;
            }
            final Path target = Path.of(file).toAbsolutePath();
            final Path part = Files.createTempFile(target.getParent(), target.getFileName().toString(), ".part");
            try {
                try (FileChannel channel = FileChannel.open(part, StandardOpenOption.WRITE)) {
                    write(channel, value, progress);
                }
                Files.move(part, target, StandardCopyOption.REPLACE_EXISTING);
            } finally {
                Files.deleteIfExists(part);
            }
        }
    }

    private static void write(final WritableByteChannel to, final MemorySegment value, final Progress progress)
        throws IOException {
        for (long at = 0; at < value.byteSize(); at += CHUNK) {
            final long count = Math.min(CHUNK, value.byteSize() - at);
            final ByteBuffer buffer = value.asSlice(at, count).asByteBuffer();
            while (buffer.hasRemaining()) {
                to.write(buffer);
            }
            progress.advance(count);
        }
    }

    /** What is over at once shows nothing. */
    private static Console quiet(final Console console, final long bytes) {
        return bytes > CHUNK ? console : new Console(console.out(), console.err(), false);
    }
}
