package io.kvtier.bindings.posix;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kvtier.kit.CompiledNumbers;
import io.kvtier.kit.NotExercised;
import java.io.IOException;
import java.lang.reflect.Modifier;
import java.nio.file.Path;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Numbers typed in by hand, against a C compiler and the headers of this machine. */
class LayoutTest {
    private static final String[] HEADERS = {"errno.h", "fcntl.h", "limits.h", "linux/fs.h", "sys/file.h", "sys/mman.h",
        "sys/stat.h", "sys/types.h", "sys/uio.h", "unistd.h"};

    @TempDir
    private Path directory;

    @Test
    void shouldMatchTheStructsAndTypesOfTheCompiler() throws IOException, InterruptedException {
        final CompiledNumbers ours = CompiledNumbers.of(directory, HEADERS);
        ours.add("sizeof(struct statx)", FileStatus.STATX_BYTES);
        ours.add("offsetof(struct statx, stx_mask)", FileStatus.OFFSET_MASK);
        ours.add("sizeof(((struct statx *) 0)->stx_mask)", Integer.BYTES);
        ours.add("offsetof(struct statx, stx_mode)", FileStatus.OFFSET_MODE);
        ours.add("sizeof(((struct statx *) 0)->stx_mode)", Short.BYTES);
        ours.add("offsetof(struct statx, stx_ino)", FileStatus.OFFSET_INODE);
        ours.add("sizeof(((struct statx *) 0)->stx_ino)", Long.BYTES);
        ours.add("offsetof(struct statx, stx_size)", FileStatus.OFFSET_SIZE);
        ours.add("sizeof(((struct statx *) 0)->stx_size)", Long.BYTES);
        ours.add("offsetof(struct statx, stx_blocks)", FileStatus.OFFSET_BLOCKS);
        ours.add("sizeof(((struct statx *) 0)->stx_blocks)", Long.BYTES);
        ours.add("offsetof(struct statx, stx_dev_major)", FileStatus.OFFSET_DEVICE_MAJOR);
        ours.add("offsetof(struct statx, stx_dev_minor)", FileStatus.OFFSET_DEVICE_MINOR);
        ours.add("sizeof(((struct statx *) 0)->stx_dev_minor)", Integer.BYTES);
        ours.add("sizeof(struct iovec)", 16);
        ours.add("offsetof(struct iovec, iov_base)", 0);
        ours.add("offsetof(struct iovec, iov_len)", Long.BYTES);
        ours.add("sizeof(off_t)", Long.BYTES);
        ours.add("sizeof(size_t)", Long.BYTES);
        ours.add("sizeof(ssize_t)", Long.BYTES);
        ours.add("sizeof(mode_t)", Integer.BYTES);
        ours.add("sizeof(int)", Integer.BYTES);
        ours.compare(directory);
    }

    @Test
    void shouldMatchTheDirectAlignmentFieldsOfTheCompiler() throws IOException, InterruptedException {
        final CompiledNumbers ours = CompiledNumbers.of(directory, HEADERS);
        NotExercised.require("statx-dioalign-headers", ours.knows(directory, "STATX_DIOALIGN"),
            "kernel headers older than 6.1");
        ours.add("STATX_DIOALIGN", FileStatus.STATX_DIOALIGN);
        ours.add("offsetof(struct statx, stx_dio_mem_align)", FileStatus.OFFSET_DIO_MEMORY);
        ours.add("offsetof(struct statx, stx_dio_offset_align)", FileStatus.OFFSET_DIO_OFFSET);
        ours.add("sizeof(((struct statx *) 0)->stx_dio_offset_align)", Integer.BYTES);
        ours.compare(directory);
    }

    @Test
    void shouldMatchTheAdviceThatTakesPages() throws IOException, InterruptedException {
        final CompiledNumbers ours = CompiledNumbers.of(directory, "linux/mman.h", "sys/mman.h");
        NotExercised.require("populate-headers", ours.knows(directory, "MADV_POPULATE_WRITE"),
            "kernel headers older than 5.14");
        ours.add("MADV_POPULATE_WRITE", Mapping.POPULATE_WRITE).compare(directory);
    }

    @Test
    void shouldMatchTheConstantsOfTheHeaders() throws IOException, InterruptedException {
        final CompiledNumbers ours = CompiledNumbers.of(directory, HEADERS);
        ours.add("O_RDONLY | O_CLOEXEC", OpenMode.READ.flags());
        ours.add("O_RDWR | O_CLOEXEC", OpenMode.READ_WRITE.flags());
        ours.add("O_RDWR | O_CREAT | O_CLOEXEC", OpenMode.CREATE.flags());
        ours.add("O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC", OpenMode.CREATE_NEW.flags());
        ours.add("O_RDWR | O_EXCL | O_CLOEXEC", OpenMode.READ_WRITE_EXCLUSIVE.flags());
        ours.add("O_RDONLY | O_DIRECT | O_CLOEXEC", OpenMode.READ_DIRECT.flags());
        ours.add("O_RDWR | O_DIRECT | O_CLOEXEC", OpenMode.READ_WRITE_DIRECT.flags());
        ours.add("S_IRUSR | S_IWUSR | S_IRGRP | S_IROTH", PosixFile.MODE_DEFAULT);
        ours.add("S_IRUSR | S_IWUSR", PosixFile.MODE_PRIVATE);
        ours.add("LOCK_SH", Libc.LOCK_SH);
        ours.add("LOCK_EX", Libc.LOCK_EX);
        ours.add("LOCK_NB", Libc.LOCK_NB);
        ours.add("EWOULDBLOCK", Errno.EAGAIN);
        ours.add("PROT_READ", Libc.PROT_READ);
        ours.add("PROT_WRITE", Libc.PROT_WRITE);
        ours.add("MAP_SHARED", Libc.MAP_SHARED);
        ours.add("MAP_PRIVATE", Libc.MAP_PRIVATE);
        ours.add("MAP_ANONYMOUS", Libc.MAP_ANONYMOUS);
        ours.add("MAP_NORESERVE", Libc.MAP_NORESERVE);
        ours.add("(long) MAP_FAILED", Libc.MAP_FAILED);
        ours.add("IOV_MAX", Libc.IOV_MAX);
        ours.add("MADV_HUGEPAGE", Mapping.Advice.HUGE_PAGES.number);
        ours.add("MADV_NOHUGEPAGE", Mapping.Advice.NO_HUGE_PAGES.number);
        ours.add("MADV_WILLNEED", Mapping.Advice.WILL_NEED.number);
        ours.add("MADV_DONTNEED", Mapping.Advice.DO_NOT_NEED.number);
        ours.add("AT_EMPTY_PATH", FileStatus.AT_EMPTY_PATH);
        ours.add("STATX_BASIC_STATS", FileStatus.STATX_BASIC_STATS);
        ours.add("S_IFMT", FileStatus.FORMAT_MASK);
        ours.add("S_IFREG", FileStatus.FORMAT_REGULAR);
        ours.add("S_IFBLK", FileStatus.FORMAT_BLOCK);
        ours.add("BLKGETSIZE64", Libc.BLKGETSIZE64);
        ours.add("sysconf(_SC_PAGESIZE)", Mapping.PAGE_BYTES);
        ours.compare(directory);
    }

    @Test
    void shouldMatchTheErrorNumbersOfTheHeadersByName() throws Exception {
        final CompiledNumbers ours = CompiledNumbers.of(directory, HEADERS);
        for (final var field : Arrays.stream(Errno.class.getFields())
            .filter(field -> Modifier.isStatic(field.getModifiers())).toList()) {
            ours.add(field.getName(), field.getInt(null));
            assertEquals(field.getName(), Errno.name(field.getInt(null)));
        }
        ours.compare(directory);
    }
}
