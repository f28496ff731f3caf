package io.kvtier.kit;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** What is behind a descriptor that was registered with the simulation: memory of a fixed size, or the file itself. */
abstract class SimulatedFile {
    abstract long read(long offset, MemorySegment target);

    abstract long write(long offset, MemorySegment source);

    void close() {
        // The memory goes on, for whoever registers the descriptor again.
    }

    /** A file of so many bytes that neither grows nor shrinks: a write behind its end is short. */
    static SimulatedFile ofMemory(final int size) {
        final byte[] bytes = new byte[size];
        return new SimulatedFile() {
            @Override
            long read(final long offset, final MemorySegment target) {
                final long count = Math.clamp(size - offset, 0, target.byteSize());
                MemorySegment.copy(bytes, (int) offset, target, JAVA_BYTE, 0, (int) count);
                return count;
            }

            @Override
            long write(final long offset, final MemorySegment source) {
                final long count = Math.clamp(size - offset, 0, source.byteSize());
                MemorySegment.copy(source, JAVA_BYTE, 0, bytes, (int) offset, (int) count);
                return count;
            }
        };
    }

    /** The file that a descriptor of this process is open on, through the page cache. */
    static SimulatedFile ofDescriptor(final int descriptor) {
        try {
            final FileChannel channel = FileChannel.open(Path.of("/proc/self/fd/" + descriptor),
                StandardOpenOption.READ, StandardOpenOption.WRITE);
            return new SimulatedFile() {
                @Override
                long read(final long offset, final MemorySegment target) {
                    final ByteBuffer buffer = target.asByteBuffer();
                    while (buffer.hasRemaining() && count(() -> channel.read(buffer, offset + buffer.position())) > 0) {
                        Thread.onSpinWait();
                    }
                    return buffer.position();
                }

                @Override
                long write(final long offset, final MemorySegment source) {
                    final ByteBuffer buffer = source.asByteBuffer();
                    while (buffer.hasRemaining()) {
                        count(() -> channel.write(buffer, offset + buffer.position()));
                    }
                    return buffer.position();
                }

                @Override
                void close() {
                    count(() -> {
                        channel.close();
                        return 0;
                    });
                }
            };
        } catch (final IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private interface Call {
        int run() throws IOException;
    }

    private static int count(final Call call) {
        try {
            return call.run();
        } catch (final IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
