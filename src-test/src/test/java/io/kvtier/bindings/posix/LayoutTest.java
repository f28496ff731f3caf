package io.kvtier.bindings.posix;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kvtier.kit.Commands;
import io.kvtier.kit.NotExercised;
import java.io.IOException;
import java.lang.reflect.Modifier;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Numbers typed in by hand, against a C compiler and the headers of this machine. */
class LayoutTest {
    private static final String HEADERS = """
        #define _GNU_SOURCE
        #include <errno.h>
        #include <fcntl.h>
        #include <limits.h>
        #include <stddef.h>
        #include <stdio.h>
        #include <sys/mman.h>
        #include <sys/stat.h>
        #include <sys/types.h>
        #include <sys/uio.h>
        #include <unistd.h>
        """;

    @TempDir
    private Path directory;

    private static void add(final Map<String, Long> ours, final String expression, final long value) {
        ours.put(expression, value);
    }

    private void compare(final Map<String, Long> ours) throws IOException, InterruptedException {
        final String prints = ours.keySet().stream()
            .map(expression -> "    printf(\"%lld\\n\", (long long) (" + expression + "));\n")
            .collect(Collectors.joining());
        final Path source = Files.writeString(directory.resolve("layout.c"),
            HEADERS + "int main(void) {\n" + prints + "    return 0;\n}\n");
        final Path program = directory.resolve("layout");
        final Commands.Result compiled =
            Commands.run("gcc", "-Wall", "-o", program.toString(), source.toString());
        assertEquals(0, compiled.code(), compiled.output());
        final String[] theirs = Commands.run(program.toString()).output().strip().split("\n");

        final Map<String, Long> expected = new LinkedHashMap<>();
        final String[] names = ours.keySet().toArray(new String[0]);
        assertEquals(names.length, theirs.length);
        for (int i = 0; i < names.length; i++) {
            expected.put(names[i], Long.valueOf(theirs[i]));
        }
        assertEquals(expected, ours);
    }

    private static void requireCompiler() throws InterruptedException {
        final Commands.Result gcc = Commands.run("gcc", "--version");
        NotExercised.require("gcc", gcc.code() == 0, "no C compiler: " + gcc.output().lines().findFirst().orElse(""));
    }

    @Test
    void shouldMatchTheStructsAndTypesOfTheCompiler() throws IOException, InterruptedException {
        requireCompiler();
        final Map<String, Long> ours = new LinkedHashMap<>();
        add(ours, "sizeof(struct statx)", FileStatus.STATX_BYTES);
        add(ours, "offsetof(struct statx, stx_mask)", FileStatus.OFFSET_MASK);
        add(ours, "sizeof(((struct statx *) 0)->stx_mask)", Integer.BYTES);
        add(ours, "offsetof(struct statx, stx_mode)", FileStatus.OFFSET_MODE);
        add(ours, "sizeof(((struct statx *) 0)->stx_mode)", Short.BYTES);
        add(ours, "offsetof(struct statx, stx_ino)", FileStatus.OFFSET_INODE);
        add(ours, "sizeof(((struct statx *) 0)->stx_ino)", Long.BYTES);
        add(ours, "offsetof(struct statx, stx_size)", FileStatus.OFFSET_SIZE);
        add(ours, "sizeof(((struct statx *) 0)->stx_size)", Long.BYTES);
        add(ours, "offsetof(struct statx, stx_blocks)", FileStatus.OFFSET_BLOCKS);
        add(ours, "sizeof(((struct statx *) 0)->stx_blocks)", Long.BYTES);
        add(ours, "offsetof(struct statx, stx_dev_major)", FileStatus.OFFSET_DEVICE_MAJOR);
        add(ours, "offsetof(struct statx, stx_dev_minor)", FileStatus.OFFSET_DEVICE_MINOR);
        add(ours, "sizeof(((struct statx *) 0)->stx_dev_minor)", Integer.BYTES);
        add(ours, "sizeof(struct iovec)", 16);
        add(ours, "offsetof(struct iovec, iov_base)", 0);
        add(ours, "offsetof(struct iovec, iov_len)", Long.BYTES);
        add(ours, "sizeof(off_t)", Long.BYTES);
        add(ours, "sizeof(size_t)", Long.BYTES);
        add(ours, "sizeof(ssize_t)", Long.BYTES);
        add(ours, "sizeof(mode_t)", Integer.BYTES);
        add(ours, "sizeof(int)", Integer.BYTES);
        compare(ours);
    }

    @Test
    void shouldMatchTheDirectAlignmentFieldsOfTheCompiler() throws IOException, InterruptedException {
        requireCompiler();
        final Path probe = Files.writeString(directory.resolve("probe.c"), HEADERS + "int x = STATX_DIOALIGN;\n");
        final Commands.Result known =
            Commands.run("gcc", "-c", "-o", directory.resolve("probe.o").toString(), probe.toString());
        NotExercised.require("statx-dioalign-headers", known.code() == 0, "kernel headers older than 6.1");
        final Map<String, Long> ours = new LinkedHashMap<>();
        add(ours, "STATX_DIOALIGN", FileStatus.STATX_DIOALIGN);
        add(ours, "offsetof(struct statx, stx_dio_mem_align)", FileStatus.OFFSET_DIO_MEMORY);
        add(ours, "offsetof(struct statx, stx_dio_offset_align)", FileStatus.OFFSET_DIO_OFFSET);
        add(ours, "sizeof(((struct statx *) 0)->stx_dio_offset_align)", Integer.BYTES);
        compare(ours);
    }

    @Test
    void shouldMatchTheConstantsOfTheHeaders() throws IOException, InterruptedException {
        requireCompiler();
        final Map<String, Long> ours = new LinkedHashMap<>();
        add(ours, "O_RDONLY | O_CLOEXEC", OpenMode.READ.flags());
        add(ours, "O_RDWR | O_CLOEXEC", OpenMode.READ_WRITE.flags());
        add(ours, "O_RDWR | O_CREAT | O_CLOEXEC", OpenMode.CREATE.flags());
        add(ours, "O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC", OpenMode.CREATE_NEW.flags());
        add(ours, "O_RDONLY | O_DIRECT | O_CLOEXEC", OpenMode.READ_DIRECT.flags());
        add(ours, "O_RDWR | O_DIRECT | O_CLOEXEC", OpenMode.READ_WRITE_DIRECT.flags());
        add(ours, "S_IRUSR | S_IWUSR | S_IRGRP | S_IROTH", PosixFile.MODE_DEFAULT);
        add(ours, "PROT_READ", Libc.PROT_READ);
        add(ours, "PROT_WRITE", Libc.PROT_WRITE);
        add(ours, "MAP_SHARED", Libc.MAP_SHARED);
        add(ours, "MAP_PRIVATE", Libc.MAP_PRIVATE);
        add(ours, "MAP_ANONYMOUS", Libc.MAP_ANONYMOUS);
        add(ours, "MAP_NORESERVE", Libc.MAP_NORESERVE);
        add(ours, "(long) MAP_FAILED", Libc.MAP_FAILED);
        add(ours, "IOV_MAX", Libc.IOV_MAX);
        add(ours, "MADV_HUGEPAGE", Mapping.Advice.HUGE_PAGES.number);
        add(ours, "MADV_NOHUGEPAGE", Mapping.Advice.NO_HUGE_PAGES.number);
        add(ours, "MADV_WILLNEED", Mapping.Advice.WILL_NEED.number);
        add(ours, "MADV_DONTNEED", Mapping.Advice.DO_NOT_NEED.number);
        add(ours, "AT_EMPTY_PATH", FileStatus.AT_EMPTY_PATH);
        add(ours, "STATX_BASIC_STATS", FileStatus.STATX_BASIC_STATS);
        add(ours, "S_IFMT", FileStatus.FORMAT_MASK);
        add(ours, "S_IFREG", FileStatus.FORMAT_REGULAR);
        add(ours, "sysconf(_SC_PAGESIZE)", Mapping.PAGE_BYTES);
        compare(ours);
    }

    @Test
    void shouldMatchTheErrorNumbersOfTheHeadersByName() throws Exception {
        requireCompiler();
        final Map<String, Long> ours = new LinkedHashMap<>();
        for (final var field : Arrays.stream(Errno.class.getFields())
            .filter(field -> Modifier.isStatic(field.getModifiers())).toList()) {
            add(ours, field.getName(), field.getInt(null));
            assertEquals(field.getName(), Errno.name(field.getInt(null)));
        }
        compare(ours);
    }
}
