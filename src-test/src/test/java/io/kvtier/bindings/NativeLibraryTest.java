package io.kvtier.bindings;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.bindings.cuda.Cuda;
import io.kvtier.bindings.cufile.CuFile;
import io.kvtier.kit.Commands;
import io.kvtier.kit.NotExercised;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class NativeLibraryTest {
    @TempDir
    private Path directory;

    @Test
    void shouldNameWhatWasLookedForWhenThereIsNoLibrary() {
        final NativeLibrary none = NativeLibrary.find(List.of("libkvtier-none.so.7", "libkvtier-none.so"),
            List.of("one"), "install it");
        assertFalse(none.availability().available());
        assertEquals("", none.name());
        assertEquals("no libkvtier-none.so.7 or libkvtier-none.so could be loaded", none.availability().reason());
        assertEquals("install it", none.availability().remedy());
    }

    @Test
    void shouldNameTheSymbolWhenTheLibraryLacksIt() throws IOException, InterruptedException {
        NotExercised.require("gcc", Commands.run("gcc", "--version").code() == 0, "no C compiler");
        final Path source = Files.writeString(directory.resolve("old.c"), "int one(void) { return 1; }\n");
        final Path library = directory.resolve("libold.so");
        final Commands.Result compiled =
            Commands.run("gcc", "-shared", "-fPIC", "-o", library.toString(), source.toString());
        assertEquals(0, compiled.code(), compiled.output());

        assertTrue(NativeLibrary.find(List.of(library.toString()), List.of("one"), "").availability().available());
        final Availability old =
            NativeLibrary.find(List.of("libkvtier-none.so", library.toString()), List.of("one", "two"), "take 13")
                .availability();
        assertFalse(old.available());
        assertEquals(library + " lacks the symbol two", old.reason());
        assertEquals("install a newer one: take 13", old.remedy());
    }

    @Test
    void shouldPassOverAFileThatIsNoLibrary() throws IOException {
        final Path text = Files.writeString(directory.resolve("libtext.so"), "not a library");
        assertFalse(NativeLibrary.find(List.of(text.toString()), List.of(), "").availability().available());
    }

    @Test
    void shouldAnswerForEveryLibraryOnAnyMachine() {
        for (final Availability one : List.of(Cuda.availability(), CuFile.availability())) {
            assertFalse(one.reason().isEmpty());
            assertEquals(one.available(), one.remedy().isEmpty(), one.toString());
        }
        if (!Cuda.availability().available()) {
            assertEquals("CUresult 2", Cuda.errorName(2));
        }
    }

    @Test
    void shouldLoadEveryClassOfTheBindingsWithoutTheirLibraries() throws Exception {
        final Path classes = Path.of(Cuda.class.getProtectionDomain().getCodeSource().getLocation().toURI());
        NotExercised.require("class-folder", Files.isDirectory(classes), "the bindings are in a jar");
        final List<String> failed = new ArrayList<>();
        int loaded = 0;
        try (Stream<Path> files = Files.walk(classes)) {
            for (final Path file : files.filter(path -> path.toString().endsWith(".class")).toList()) {
                final String name = classes.relativize(file).toString().replace('/', '.').replaceAll("\\.class$", "");
                // The generated functions are only touched when their library has been found.
                final boolean bound =
                    name.matches(".*\\.gen\\.[A-Za-z]+Functions(\\$.*)?") || name.endsWith("CuFileNative");
                if (!name.endsWith("-info")) {
                    loaded++;
                    try {
                        Class.forName(name, !bound, getClass().getClassLoader());
                    } catch (final LinkageError e) {
                        failed.add(name + ": " + e);
                    }
                }
            }
        }
        assertEquals(List.of(), failed);
        assertTrue(loaded > 50, loaded + " classes");
    }
}
