package io.kvtier.bindings;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
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
import java.util.jar.JarFile;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
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
        assertThrows(IllegalStateException.class, none::symbols);
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

    /** Names of all classes of the module, from a folder or from its jar. */
    private static List<String> classes() throws Exception {
        final Path location = Path.of(Cuda.class.getProtectionDomain().getCodeSource().getLocation().toURI());
        final List<String> files;
        if (Files.isDirectory(location)) {
            try (Stream<Path> all = Files.walk(location)) {
                files = all.map(file -> location.relativize(file).toString()).toList();
            }
        } else {
            try (JarFile jar = new JarFile(location.toFile())) {
                files = jar.stream().map(ZipEntry::getName).toList();
            }
        }
        return files.stream().filter(file -> file.endsWith(".class") && !file.endsWith("-info.class"))
            .map(file -> file.replace('/', '.').substring(0, file.length() - ".class".length())).toList();
    }

    @Test
    void shouldLoadEveryClassOfTheBindingsWithoutTheirLibraries() throws Exception {
        final List<String> failed = new ArrayList<>();
        final List<String> names = classes();
        for (final String name : names) {
            // The generated functions are only touched when their library has been found.
            final boolean bound =
                name.matches(".*\\.gen\\.[A-Za-z]+Functions(\\$.*)?") || name.endsWith("CuFileNative");
            try {
                Class.forName(name, !bound, NativeLibraryTest.class.getClassLoader());
            } catch (final LinkageError e) {
                failed.add(name + ": " + e);
            }
        }
        assertEquals(List.of(), failed);
        assertTrue(names.size() > 50, names.size() + " classes");
    }
}
