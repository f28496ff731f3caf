package io.kvtier.bindings.hf3fs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.bindings.Availability;
import io.kvtier.bindings.posix.Errno;
import io.kvtier.bindings.posix.OpenMode;
import io.kvtier.bindings.posix.PosixFile;
import io.kvtier.kit.NotExercised;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** What is asked of the library before anything is made with it. */
class UsrbioTest extends OverSimulatedUsrbio {
    private static List<String> limits(final String hard) {
        return List.of("Limit                     Soft Limit           Hard Limit           Units     ",
            "Max processes             unlimited            unlimited            processes ",
            "Max open files            1024                 " + hard + "              files     ");
    }

    @Test
    void shouldSayWhyThereIsNoLibraryAndWhatToDo() {
        final Availability found = Usrbio.availability();

        NotExercised.require("no-usrbio", !found.available(), "this machine has libhf3fs_api_shared.so");
        assertTrue(found.reason().contains("libhf3fs_api_shared.so"), found.reason());
        assertFalse(found.remedy().isBlank());
        final IllegalStateException refused = assertThrows(IllegalStateException.class, Usrbio::system);
        assertTrue(refused.getMessage().contains(found.reason()) && refused.getMessage().contains(found.remedy()),
            refused.getMessage());
    }

    @Test
    void shouldNotLoadTheLibraryWhereItsTableOfFilesTakesGigabytes() {
        for (final String hard : List.of("1073741816", "16777217", "unlimited")) {
            final Availability found = Usrbio.mayLoad(limits(hard));
            assertFalse(found.available(), hard);
            assertTrue(found.reason().contains(hard) && found.remedy().contains("16777216"), found.toString());
        }
        for (final String hard : List.of("1024", "1048576", "16777216")) {
            assertTrue(Usrbio.mayLoad(limits(hard)).available(), hard);
        }
    }

    @Test
    void shouldNotLoadTheLibraryWhereTheLimitIsNotKnown() {
        assertFalse(Usrbio.mayLoad(List.of()).available());
    }

    @Test
    void shouldFindTheMountPointOfAPath() throws IOException {
        final Path inside = Files.createDirectories(simulated.mount().resolve("a/b"));
        final Path link = Files.createSymbolicLink(directory.resolve("link"), inside);

        assertEquals(Optional.of(mount()), usrbio.mountPoint(inside));
        assertEquals(Optional.of(mount()), usrbio.mountPoint(link));
        assertEquals(Optional.empty(), usrbio.mountPoint(directory));
    }

    @Test
    void shouldNotAskTheLibraryAboutAPathThatIsNotThere() {
        assertThrows(NoSuchFileException.class, () -> usrbio.mountPoint(simulated.mount().resolve("none")));
    }

    @Test
    void shouldTellFilesOnThe3fsFromOthers() {
        final Path path = fileOf("file", 10);
        try (PosixFile file = PosixFile.open(path.toString(), OpenMode.READ);
            PosixFile other = PosixFile.inMemory("other")) {
            assertTrue(usrbio.isHf3fs(file));
            assertFalse(usrbio.isHf3fs(other));
        }
    }

    @Test
    void shouldRegisterOnlyFilesOnThe3fs() {
        try (PosixFile other = PosixFile.inMemory("other")) {
            final UsrbioException refused =
                assertThrows(UsrbioException.class, () -> Hf3fsFile.register(usrbio, other));
            assertEquals(Errno.EBADF, refused.errno());
            assertTrue(refused.getMessage().contains("only files on 3FS"), refused.getMessage());
        }
    }

    @Test
    void shouldRegisterAFileOnceAtATime() {
        try (PosixFile file = PosixFile.open(fileOf("file", 10).toString(), OpenMode.READ)) {
            try (Hf3fsFile first = Hf3fsFile.register(usrbio, file)) {
                final UsrbioException refused =
                    assertThrows(UsrbioException.class, () -> Hf3fsFile.register(usrbio, file));
                assertEquals(Errno.EINVAL, refused.errno());
                assertTrue(refused.getMessage().contains(first.path()), refused.getMessage());
            }
            Hf3fsFile.register(usrbio, file).close();
        }
    }

    @Test
    void shouldLetGoOfTheRegistrationBeforeTheDescriptor() {
        final PosixFile file = PosixFile.open(fileOf("file", 10).toString(), OpenMode.READ);
        final Hf3fsFile registered = Hf3fsFile.register(usrbio, file);

        // The simulation has a problem with a descriptor that is closed first.
        file.close();
        registered.close();
        registered.close();

        assertThrows(IllegalStateException.class, () -> Hf3fsFile.register(usrbio, file));
    }

    @Test
    void shouldRefuseOptionsThatTheLibraryWouldHangOrEndBy() {
        for (final int[] values : new int[][] {{0, 0, 0, -1, 0}, {-1, 0, 0, -1, 0}, {1 << 17, 0, 0, -1, 0},
            {4, 5, 0, -1, 0}, {4, -5, 0, -1, 0}, {4, 0, -1, -1, 0}, {4, 0, 0, -2, 0}, {4, 0, 0, 1024, 0},
            {4, 0, 0, -1, 4}}) {
            assertThrows(IllegalArgumentException.class,
                () -> new IoRingOptions(values[0], true, values[1], values[2], values[3], values[4]));
        }
    }
}
