package io.kvtier.bindings.hf3fs;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.bindings.NativeLibrary;
import io.kvtier.kit.Commands;
import io.kvtier.kit.NotExercised;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Every function, called through a library that the C compiler of this machine made from the header's prototypes: the
 * compiler decides where each argument and each field is.
 */
class UsrbioFunctionsTest {
    private static final byte[] ID = "0123456789abcdef".getBytes(StandardCharsets.US_ASCII);

    @TempDir
    private Path directory;

    @SuppressWarnings("restricted")
    private static String wrong(final SymbolLookup library) throws Throwable {
        final MemorySegment text = (MemorySegment) Linker.nativeLinker().downcallHandle(
            library.find("echo_wrong").orElseThrow(), FunctionDescriptor.of(ValueLayout.ADDRESS)).invokeExact();
        return text.reinterpret(1 << 12).getString(0);
    }

    private NativeLibrary compiled() throws Exception {
        UsrbioLayoutTest.copy("usrbio.h", directory);
        final Path source = UsrbioLayoutTest.copy("echo.c", directory);
        NotExercised.require("gcc", Commands.run("gcc", "--version").code() == 0, "no C compiler");
        // Stays loaded when the folder is gone.
        final Path file = directory.resolve("libecho.so");
        final Commands.Result made =
            Commands.run("gcc", "-Wall", "-shared", "-fPIC", "-o", file.toString(), source.toString());
        assertEquals(0, made.code(), made.output());
        return NativeLibrary.find(List.of(file.toString()), UsrbioFunctions.SYMBOLS, Usrbio.REMEDY);
    }

    @Test
    void shouldPassEveryArgumentAsTheCompilerExpectsIt() throws Throwable {
        final NativeLibrary library = compiled();
        assertTrue(library.availability().available(), library.availability().reason());
        final UsrbioFunctions functions = new UsrbioFunctions(library.symbols());

        try (Arena arena = Arena.ofConfined()) {
            final MemorySegment iov = arena.allocate(UsrbioLayout.IOV_BYTES, 8);
            final MemorySegment mount = arena.allocateFrom("/mount");
            assertEquals(-3, functions.iovCreate(iov, mount, 0x100000001L, 0x100000002L, -1));
            assertEquals(0x1111222233334444L, iov.get(ValueLayout.JAVA_LONG, UsrbioLayout.IOV_BASE));
            assertArrayEquals(ID, iov.asSlice(UsrbioLayout.IOV_ID, 16).toArray(ValueLayout.JAVA_BYTE));
            assertEquals(UUID.fromString("30313233-3435-3637-3839-616263646566"),
                IovLink.id(iov, UsrbioLayout.IOV_ID));
            assertEquals(0x100000001L, iov.get(ValueLayout.JAVA_LONG, UsrbioLayout.IOV_SIZE));
            assertEquals(0x100000002L, iov.get(ValueLayout.JAVA_LONG, UsrbioLayout.IOV_BLOCK_SIZE));
            assertEquals(-4, functions.iovOpen(iov, arena.allocateFrom(ValueLayout.JAVA_BYTE, ID), mount, 11, 12, 13));
            assertEquals(14, iov.get(ValueLayout.JAVA_INT, UsrbioLayout.IOV_NUMA));
            ring(arena, functions, iov, mount);
            functions.iovDestroy(iov);
            assertEquals(5, iov.get(ValueLayout.JAVA_LONG, UsrbioLayout.IOV_BASE));

            final MemorySegment found = arena.allocate(5);
            assertEquals(-2, functions.extractMountPoint(found, 5, arena.allocateFrom("/a/b")));
            assertEquals("/abc", found.getString(0));
        }
        assertTrue(functions.isHf3fs(7));
        assertFalse(functions.isHf3fs(8));
        assertEquals(-9, functions.regFd(9));
        functions.deregFd(10);
        assertEquals("", wrong(library.symbols()));
    }

    private static void ring(final Arena arena, final UsrbioFunctions functions, final MemorySegment iov,
        final MemorySegment mount) {
        assertEquals(0x600000006L, functions.iorSize(16));
        final MemorySegment ior = arena.allocate(UsrbioLayout.IOR_BYTES, 8);
        assertEquals(-7, functions.iorCreate(ior, mount, 21, true, -22, 23, -1, 0x700000003L));
        assertEquals(1, ior.get(ValueLayout.JAVA_BYTE, UsrbioLayout.IOR_FOR_READ));
        assertEquals(-22, ior.get(ValueLayout.JAVA_INT, UsrbioLayout.IOR_DEPTH));
        assertEquals(23, ior.get(ValueLayout.JAVA_INT, UsrbioLayout.IOR_TIMEOUT));
        assertEquals(0x700000003L, ior.get(ValueLayout.JAVA_LONG, UsrbioLayout.IOR_FLAGS));
        assertEquals(24, functions.ioEntries(ior));
        assertEquals(34, functions.prepIo(ior, iov, false, 0x5555666677778888L, 31, 0x3200000032L, 0x3300000033L,
            Long.MAX_VALUE));
        assertEquals(-11, functions.submitIos(ior));
        final MemorySegment deadline = arena.allocate(UsrbioLayout.TIMESPEC_BYTES, 8);
        deadline.set(ValueLayout.JAVA_LONG, UsrbioLayout.TIMESPEC_SECONDS, 1_800_000_000L);
        deadline.set(ValueLayout.JAVA_LONG, UsrbioLayout.TIMESPEC_NANOS, 999_000_000L);
        final MemorySegment ended = arena.allocate(2 * UsrbioLayout.CQE_BYTES, 8);
        assertEquals(2, functions.waitForIos(ior, ended, 2, 1, deadline));
        for (int i = 0; i < 2; i++) {
            final long at = i * UsrbioLayout.CQE_BYTES;
            assertEquals(40 + i, ended.get(ValueLayout.JAVA_INT, at + UsrbioLayout.CQE_INDEX));
            assertEquals(-0x100000000L - i, ended.get(ValueLayout.JAVA_LONG, at + UsrbioLayout.CQE_RESULT));
            assertEquals(0x4200000042L + i, ended.get(ValueLayout.JAVA_LONG, at + UsrbioLayout.CQE_USER_DATA));
        }
        functions.iorDestroy(ior);
        assertEquals(8, ior.get(ValueLayout.JAVA_INT, UsrbioLayout.IOR_PRIORITY));
    }

    @Test
    void shouldNameAFunctionThatALibraryLacks() throws Exception {
        NotExercised.require("gcc", Commands.run("gcc", "--version").code() == 0, "no C compiler");
        final Path source = Files.writeString(directory.resolve("old.c"), "void hf3fs_iordestroy(void *ior) {}\n");
        final Path file = directory.resolve("libold.so");
        assertEquals(0, Commands.run("gcc", "-shared", "-fPIC", "-o", file.toString(), source.toString()).code());

        final NativeLibrary library =
            NativeLibrary.find(List.of(file.toString()), UsrbioFunctions.SYMBOLS, Usrbio.REMEDY);

        assertFalse(library.availability().available());
        assertTrue(library.availability().reason().contains("hf3fs_iorcreate4"), library.availability().reason());
        assertFalse(library.availability().reason().contains("hf3fs_iordestroy"), library.availability().reason());
    }
}
