package io.kvtier.store.storage;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.bindings.posix.Errno;
import io.kvtier.bindings.posix.ErrnoException;
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
    private int failures;

    private void sync(final Path directory) {
        if (failures > 0) {
            failures--;
            throw new ErrnoException("fsync", Errno.EIO, directory + ", told to fail");
        }
        assertTrue(Files.isDirectory(directory));
        synced.add(directory);
    }

    @Test
    void shouldSyncTheParentOfADirectoryUntilThatHasGoneWellOnce() {
        final SyncedDirectories directories = new SyncedDirectories(this::sync);
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
        new SyncedDirectories(this::sync).add(one);
        synced.clear();
        final SyncedDirectories directories = new SyncedDirectories(this::sync);
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
        final SyncedDirectories directories = new SyncedDirectories(this::sync);
        directories.add(one);
        final SyncedDirectories next = new SyncedDirectories(this::sync);
        failures = 1;
        assertThrows(ErrnoException.class, () -> next.syncAll(List.of(root, one)));
        synced.clear();
        next.add(one);
        assertEquals(List.of(root), synced);
    }

    @Test
    void shouldSyncTheParentsOfAllThatIsMadeForAStore() {
        final Path wanted = root.resolve("a").resolve("b");
        DurableNames.createDurably(wanted, this::sync);
        assertEquals(List.of(root.resolve("a"), root), synced);
    }

    @Test
    void shouldSyncTheParentOfAStoresDirectoryThatWasThere() {
        DurableNames.createDurably(root, this::sync);
        assertEquals(List.of(root.getParent()), synced);
    }

    @Test
    void shouldRefuseADirectoryThatCannotBeMadeDurablyAndKeepOneThatWasThere() {
        final Path wanted = root.resolve("a");
        failures = 1;
        assertThrows(ErrnoException.class, () -> DurableNames.createDurably(wanted, this::sync));
        failures = 1;
        DurableNames.createDurably(wanted, this::sync);
        DurableNames.createDurably(wanted, this::sync);
        assertEquals(List.of(root), synced);
    }
}
