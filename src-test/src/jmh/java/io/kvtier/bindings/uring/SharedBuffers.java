package io.kvtier.bindings.uring;

import io.kvtier.bindings.posix.Mapping;
import io.kvtier.bindings.posix.OpenMode;
import io.kvtier.bindings.posix.PosixFile;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.SplittableRandom;

/**
 * Buffers that both sides of a comparison use: a file in memory, mapped by this process and by fio, so that the very
 * same physical pages are read into.
 *
 * <p>That matters more than anything else in the comparison. A device is given runs of pages that lie side by side in
 * physical memory; which those are is chance with small pages, differs from run to run, and changed the throughput of
 * one and the same program by a factor of four. The pages of a file stay where they are while it exists. In small pages
 * they are touched in random order, so that practically no two neighbours lie side by side: the worst case, but the
 * same one every time.
 */
final class SharedBuffers implements AutoCloseable {
    private static final long PAGE = 4096;
    // Documentation/admin-guide/mm/pagemap.rst: the frame number, which only root sees, and whether it is present.
    private static final long FRAME_MASK = (1L << 55) - 1;

    private final Path file;
    private final Path lent;
    private final long bytes;
    private final Mapping mapping;

    SharedBuffers(final Path directory, final long bytes) throws IOException {
        file = directory.resolve("uring-benchmark-memory");
        lent = directory.resolve("uring-benchmark-memory-lent");
        this.bytes = bytes;
        Files.deleteIfExists(file);
        try (RandomAccessFile sized = new RandomAccessFile(file.toFile(), "rw")) {
            // fio wants a little more for alignment, and cuts the file to what it wants.
            sized.setLength(bytes + (2 << 20));
        }
        try (PosixFile opened = PosixFile.open(file.toString(), OpenMode.READ_WRITE)) {
            mapping = Mapping.of(opened, 0, bytes, true);
        }
        fill();
    }

    private void fill() {
        final SplittableRandom random = new SplittableRandom(2);
        final int[] order = new int[(int) (bytes / PAGE)];
        for (int i = 0; i < order.length; i++) {
            final int other = random.nextInt(i + 1);
            order[i] = order[other];
            order[other] = i;
        }
        final byte[] page = new byte[(int) PAGE];
        for (final int one : order) {
            random.nextBytes(page);
            MemorySegment.copy(MemorySegment.ofArray(page), 0, mapping.segment(), one * PAGE, PAGE);
        }
    }

    MemorySegment segment() {
        return mapping.segment();
    }

    /** Another name for the same pages, for fio, which removes the file that it was given. */
    Path lend() throws IOException {
        Files.deleteIfExists(lent);
        return Files.createLink(lent, file);
    }

    /** In how many pieces the buffers lie in physical memory; -1 when that cannot be seen. */
    long pieces() throws IOException {
        final int pages = (int) (bytes / PAGE);
        final byte[] map = new byte[pages * Long.BYTES];
        try (RandomAccessFile pagemap = new RandomAccessFile("/proc/self/pagemap", "r")) {
            pagemap.seek(segment().address() / PAGE * Long.BYTES);
            pagemap.readFully(map);
        }
        final ByteBuffer entries = ByteBuffer.wrap(map).order(ByteOrder.nativeOrder());
        long pieces = 0;
        long before = -1;
        for (int i = 0; i < pages; i++) {
            final long frame = entries.getLong(i * Long.BYTES) & FRAME_MASK;
            if (frame == 0) {
                return -1;
            }
            pieces += frame == before + 1 ? 0 : 1;
            before = frame;
        }
        return pieces;
    }

    @Override
    public void close() throws IOException {
        mapping.close();
        Files.deleteIfExists(file);
        Files.deleteIfExists(lent);
    }
}
