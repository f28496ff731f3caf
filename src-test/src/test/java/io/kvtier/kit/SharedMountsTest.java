package io.kvtier.kit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Whether the shared file systems of tests do what they are here for: else those that use them prove nothing. */
class SharedMountsTest {
    private static final int SIZE = 8192;

    @TempDir
    private Path directory;

    private static ByteBuffer bytes(final char one) {
        return ByteBuffer.wrap(Character.toString(one).repeat(SIZE).getBytes());
    }

    private static char firstByte(final FileChannel channel) throws IOException {
        final ByteBuffer read = ByteBuffer.allocate(1);
        assertEquals(1, channel.read(read, 0));
        return (char) read.get(0);
    }

    @Test
    void shouldShowOldPagesOfGlusterToBufferedReaders() throws Exception {
        try (GlusterMounts mounts = GlusterMounts.start(directory);
             FileChannel writer = FileChannel.open(mounts.first().resolve("file"), StandardOpenOption.CREATE_NEW,
                 StandardOpenOption.WRITE)) {
            writer.write(bytes('A'), 0);
            writer.force(true);
            try (FileChannel reader = FileChannel.open(mounts.second().resolve("file"))) {
                assertEquals('A', firstByte(reader));
                writer.write(bytes('B'), 0);
                writer.force(true);
                assertEquals('A', firstByte(reader), "a page cache that nobody tells of other writers");
            }
        }
    }

    @Test
    void shouldHideWhatMooseHasNotSynced() throws Exception {
        try (MooseMounts mounts = MooseMounts.start(directory);
             FileChannel writer = FileChannel.open(mounts.first().resolve("file"), StandardOpenOption.CREATE_NEW,
                 StandardOpenOption.WRITE)) {
            writer.write(bytes('A'), 0);
            try (FileChannel reader = FileChannel.open(mounts.second().resolve("file"))) {
                assertEquals(0, reader.size(), "not synced, not to be seen");
            }
            writer.force(true);
            // The other mount believes for a moment what it knows of the file's size.
            final Path there = mounts.second().resolve("file");
            Threads.awaitUntil(() -> there.toFile().length() == SIZE, () -> there.toFile().length() + " bytes");
            try (FileChannel reader = FileChannel.open(there)) {
                assertEquals('A', firstByte(reader));
            }
        }
    }

    @Test
    void shouldGoOnWithoutItsServer() throws Exception {
        try (GlusterMounts mounts = GlusterMounts.start(directory)) {
            mounts.killServer();
            assertThrows(IOException.class, () -> FileChannel.open(mounts.first().resolve("file"),
                StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE));
        }
        for (final Path at : List.of(directory.resolve("first"), directory.resolve("second"))) {
            assertFalse(SharedMounts.isMounted(at));
            assertTrue(at.toFile().isDirectory());
        }
    }
}
