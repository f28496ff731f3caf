package io.kvtier.bindings.hf3fs;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kvtier.kit.CompiledNumbers;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Numbers of {@code hf3fs_usrbio.h} typed in by hand: against a C compiler and the header's own structs where there is
 * a compiler, and against what it made of them on x86-64 anywhere.
 */
class UsrbioLayoutTest {
    /** Of gcc 12.2, in the order of {@link #ours}. */
    private static final List<Long> NUMBERS = List.of(312L, 0L, 8L, 16L, 16L, 32L, 256L, 288L, 8L, 296L, 8L, 304L, 4L,
        600L, 0L, 312L, 320L, 256L, 576L, 1L, 580L, 4L, 584L, 588L, 592L, 8L, 24L, 0L, 4L, 8L, 8L, 16L, 8L, 1L, 2L, 16L,
        0L, 8L, 8L, 8L);

    @TempDir
    private Path directory;

    private static Map<String, Long> ours() {
        final Map<String, Long> ours = new LinkedHashMap<>();
        ours.put("sizeof(struct hf3fs_iov)", UsrbioLayout.IOV_BYTES);
        ours.put("offsetof(struct hf3fs_iov, base)", UsrbioLayout.IOV_BASE);
        ours.put("offsetof(struct hf3fs_iov, iovh)", UsrbioLayout.IOV_HANDLE);
        ours.put("offsetof(struct hf3fs_iov, id)", UsrbioLayout.IOV_ID);
        ours.put("sizeof(((struct hf3fs_iov *) 0)->id)", (long) UsrbioLayout.ID_BYTES);
        ours.put("offsetof(struct hf3fs_iov, mount_point)", UsrbioLayout.IOV_MOUNT_POINT);
        ours.put("sizeof(((struct hf3fs_iov *) 0)->mount_point)", (long) UsrbioLayout.MOUNT_POINT_BYTES);
        ours.put("offsetof(struct hf3fs_iov, size)", UsrbioLayout.IOV_SIZE);
        ours.put("sizeof(((struct hf3fs_iov *) 0)->size)", (long) Long.BYTES);
        ours.put("offsetof(struct hf3fs_iov, block_size)", UsrbioLayout.IOV_BLOCK_SIZE);
        ours.put("sizeof(((struct hf3fs_iov *) 0)->block_size)", (long) Long.BYTES);
        ours.put("offsetof(struct hf3fs_iov, numa)", UsrbioLayout.IOV_NUMA);
        ours.put("sizeof(((struct hf3fs_iov *) 0)->numa)", (long) Integer.BYTES);
        ours.put("sizeof(struct hf3fs_ior)", UsrbioLayout.IOR_BYTES);
        ours.put("offsetof(struct hf3fs_ior, iov)", UsrbioLayout.IOR_IOV);
        ours.put("offsetof(struct hf3fs_ior, iorh)", UsrbioLayout.IOR_HANDLE);
        ours.put("offsetof(struct hf3fs_ior, mount_point)", UsrbioLayout.IOR_MOUNT_POINT);
        ours.put("sizeof(((struct hf3fs_ior *) 0)->mount_point)", (long) UsrbioLayout.MOUNT_POINT_BYTES);
        ours.put("offsetof(struct hf3fs_ior, for_read)", UsrbioLayout.IOR_FOR_READ);
        ours.put("sizeof(((struct hf3fs_ior *) 0)->for_read)", (long) Byte.BYTES);
        ours.put("offsetof(struct hf3fs_ior, io_depth)", UsrbioLayout.IOR_DEPTH);
        ours.put("sizeof(((struct hf3fs_ior *) 0)->io_depth)", (long) Integer.BYTES);
        ours.put("offsetof(struct hf3fs_ior, priority)", UsrbioLayout.IOR_PRIORITY);
        ours.put("offsetof(struct hf3fs_ior, timeout)", UsrbioLayout.IOR_TIMEOUT);
        ours.put("offsetof(struct hf3fs_ior, flags)", UsrbioLayout.IOR_FLAGS);
        ours.put("sizeof(((struct hf3fs_ior *) 0)->flags)", (long) Long.BYTES);
        ours.put("sizeof(struct hf3fs_cqe)", UsrbioLayout.CQE_BYTES);
        ours.put("offsetof(struct hf3fs_cqe, index)", UsrbioLayout.CQE_INDEX);
        ours.put("sizeof(((struct hf3fs_cqe *) 0)->index)", (long) Integer.BYTES);
        ours.put("offsetof(struct hf3fs_cqe, result)", UsrbioLayout.CQE_RESULT);
        ours.put("sizeof(((struct hf3fs_cqe *) 0)->result)", (long) Long.BYTES);
        ours.put("offsetof(struct hf3fs_cqe, userdata)", UsrbioLayout.CQE_USER_DATA);
        ours.put("sizeof(((struct hf3fs_cqe *) 0)->userdata)", (long) Long.BYTES);
        ours.put("HF3FS_IOR_ALLOW_READ_UNCOMMITTED", (long) IoRingOptions.Flag.ALLOW_READ_UNCOMMITTED.bit());
        ours.put("HF3FS_IOR_FORBID_READ_HOLES", (long) IoRingOptions.Flag.FORBID_READ_HOLES.bit());
        ours.put("sizeof(struct timespec)", UsrbioLayout.TIMESPEC_BYTES);
        ours.put("offsetof(struct timespec, tv_sec)", UsrbioLayout.TIMESPEC_SECONDS);
        ours.put("offsetof(struct timespec, tv_nsec)", UsrbioLayout.TIMESPEC_NANOS);
        ours.put("sizeof(((struct timespec *) 0)->tv_sec)", (long) Long.BYTES);
        ours.put("sizeof(((struct timespec *) 0)->tv_nsec)", (long) Long.BYTES);
        return ours;
    }

    /** A file of the test's resources, in a folder. */
    static Path copy(final String name, final Path directory) throws IOException {
        try (InputStream in = UsrbioLayoutTest.class.getResourceAsStream(name)) {
            final Path file = directory.resolve(name);
            Files.write(file, in.readAllBytes());
            return file;
        }
    }

    @Test
    void shouldMatchTheHeaderByTheCompiler() throws IOException, InterruptedException {
        final Path header = copy("usrbio.h", directory);
        final CompiledNumbers numbers = CompiledNumbers.of(directory, header.toString());
        ours().forEach(numbers::add);
        numbers.compare(directory);
    }

    @Test
    void shouldMatchTheRecordedNumbers() {
        assertEquals(NUMBERS, List.copyOf(ours().values()));
    }
}
