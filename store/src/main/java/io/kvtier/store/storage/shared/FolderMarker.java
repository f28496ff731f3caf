package io.kvtier.store.storage.shared;

import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * A small file of text that says whose a folder is. It is made exactly once for all hosts: written under a name of its
 * own and then linked, which fails where there is one. Locks do not come into it, since a mount may have them for its
 * own host only.
 *
 * <p><b>Threading:</b> stateless. <b>Blocking:</b> on the file system.
 */
final class FolderMarker {
    private static final int MOST_BYTES = 8192;
    /** For a host that makes it without links, between the name and the text. */
    private static final long TEXT_WAIT_NANOS = TimeUnit.SECONDS.toNanos(10);
    private static final long STEP_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

    private FolderMarker() {
    }

    /** What it says; empty when it was never written to the end, null when there is none. */
    static String read(final Path marker) throws IOException {
        final long begun = System.nanoTime();
        while (true) {
            final String text = text(marker);
            if (text == null || !text.isEmpty() || System.nanoTime() - begun > TEXT_WAIT_NANOS) {
                return text;
            }
            LockSupport.parkNanos(STEP_NANOS);
        }
    }

    /** Makes it unless there is one; what it says has to be read afterwards. */
    static void make(final Path marker, final String text) throws IOException {
        final Path own = marker.resolveSibling('.' + marker.getFileName().toString() + '-' + UUID.randomUUID());
        try {
            write(own, text);
            link(own, marker, text);
        } finally {
            Files.deleteIfExists(own);
        }
    }

    private static void link(final Path own, final Path marker, final String text) throws IOException {
        try {
            Files.createLink(marker, own);
        } catch (final FileAlreadyExistsException e) {
            // Another host was first, and its marker counts.
            return;
        } catch (final UnsupportedOperationException | IOException e) {
            // No links here: made by its name, which only one can do, too, but is there before its text.
            writeUnlessThere(marker, text);
        }
    }

    private static void writeUnlessThere(final Path marker, final String text) throws IOException {
        try {
            write(marker, text);
        } catch (final FileAlreadyExistsException e) {
            // Another host was first.
            return;
        }
    }

    private static void write(final Path file, final String text) throws IOException {
        final ByteBuffer bytes = ByteBuffer.wrap(text.getBytes(StandardCharsets.UTF_8));
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
            while (bytes.hasRemaining()) {
                channel.write(bytes);
            }
            // Not every file system shows to others what was not synced.
            channel.force(true);
        }
    }

    private static String text(final Path marker) throws IOException {
        try (InputStream in = Files.newInputStream(marker)) {
            return new String(in.readNBytes(MOST_BYTES), StandardCharsets.UTF_8);
        } catch (final NoSuchFileException e) {
            return null;
        }
    }
}
