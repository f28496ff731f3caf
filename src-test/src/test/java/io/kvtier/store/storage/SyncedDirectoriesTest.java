package io.kvtier.store.storage;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.bindings.posix.Errno;
import io.kvtier.bindings.posix.ErrnoException;
import io.kvtier.transport.file.DirectoryEntries;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Directories of which the names could not be made durable when they were made. */
class SyncedDirectoriesTest {
    @TempDir
    private Path root;
    private final List<Path> synced = new ArrayList<>();
    /** So many syncs go well before those that fail. */
    private int good;
    private int failures;

    private final DurableNames names = new DurableNames(new DirectoryEntries() {
        @Override
        public void createDirectory(final Path directory) throws IOException {
            SYSTEM.createDirectory(directory);
        }

        @Override
        public void rename(final Path from, final Path to) {
            throw new AssertionError("nothing is to be renamed");
        }

        @Override
        public void deleteIfExists(final Path file) {
            throw new AssertionError("nothing is to be deleted");
        }

        @Override
        public void sync(final Path directory) {
            if (good > 0) {
                good--;
            } else if (failures > 0) {
                failures--;
                throw new ErrnoException("fsync", Errno.EIO, directory + ", told to fail");
            }
            assertTrue(Files.isDirectory(directory));
            synced.add(directory);
        }
    });

    @Test
    void shouldSyncTheParentOfADirectoryUntilThatHasGoneWellOnce() {
        final SyncedDirectories directories = new SyncedDirectories(names);
        final Path one = root.resolve("one");
        failures = 2;
        assertThrows(ErrnoException.class, () -> directories.add(one));
        assertTrue(Files.isDirectory(one));
        assertThrows(ErrnoException.class, () -> directories.add(one));
        assertEquals(List.of(), synced);
        directories.add(one);
        directories.add(one);
        assertEquals(List.of(root), synced);
    }

    @Test
    void shouldSyncOnceWhatIsThereAtAStart() {
        final Path one = root.resolve("one");
        new SyncedDirectories(names).add(one);
        synced.clear();
        final SyncedDirectories directories = new SyncedDirectories(names);
        directories.syncAll(List.of(root, one));
        assertEquals(List.of(root, one), synced);
        directories.add(one);
        assertEquals(List.of(root, one), synced);
        directories.add(one.resolve("two"));
        assertEquals(List.of(root, one, one), synced);
    }

    @Test
    void shouldTakeNothingForDurableWhenTheSyncAtAStartFails() {
        final Path one = root.resolve("one");
        final SyncedDirectories directories = new SyncedDirectories(names);
        directories.add(one);
        final SyncedDirectories next = new SyncedDirectories(names);
        failures = 1;
        assertThrows(ErrnoException.class, () -> next.syncAll(List.of(root, one)));
        synced.clear();
        next.add(one);
        assertEquals(List.of(root), synced);
    }

    @Test
    void shouldSyncTheNameOfEachDirectoryBeforeTheNextIsMadeInIt() {
        final Path wanted = root.resolve("a").resolve("b").resolve("c");
        good = 2;
        failures = 1;
        assertThrows(ErrnoException.class, () -> names.createDurably(wanted));
        assertFalse(Files.exists(wanted), "b is not known to be durable");
        assertEquals(List.of(root.getParent(), root), synced);
        synced.clear();
        names.createDurably(wanted);
        assertEquals(List.of(root.resolve("a"), root.resolve("a").resolve("b")), synced);
    }

    @Test
    void shouldSyncTheNameOfAStoresDirectoryThatWasThere() {
        names.createDurably(root);
        assertEquals(List.of(root.getParent()), synced);
    }

    @Test
    void shouldRefuseADirectoryThatCannotBeMadeDurablyAndKeepOneThatWasThere() {
        final Path wanted = root.resolve("a");
        good = 1;
        failures = 1;
        assertThrows(ErrnoException.class, () -> names.createDurably(wanted));
        synced.clear();
        failures = 1;
        names.createDurably(wanted);
        assertEquals(List.of(), synced, "it was there, and is left at a warning");
        names.createDurably(wanted);
        assertEquals(List.of(root), synced);
    }
}
