package io.kvtier.store.storage;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.Commands;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreException;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class StoreLockTest {
    @TempDir
    private Path directory;

    /** Another process: prints whether it gets the lock. */
    static final class Taker {
        private Taker() {
        }

        public static void main(final String[] arguments) {
            try (StoreLock lock = StoreLock.take(Path.of(arguments[0]))) {
                System.out.print("taken " + (lock != null));
            } catch (final StoreException e) {
                System.out.print(e.code() + " " + e.getMessage());
            }
        }
    }

    private String takenElsewhere() throws InterruptedException {
        return Commands.java(List.of("-Xshare:auto", "-XX:TieredStopAtLevel=1"), Taker.class, directory.toString())
            .output();
    }

    private void assertRefusedHere(final Path path) {
        final StoreException refusal = assertThrows(StoreException.class, () -> StoreLock.take(path));
        assertEquals(ErrorCode.FILE_LOCK_FAIL, refusal.code());
        assertTrue(refusal.getMessage().contains(path.toString()), refusal.getMessage());
    }

    @Test
    void shouldKeepOutOtherStoresUntilClosed() throws InterruptedException, IOException {
        try (StoreLock lock = StoreLock.take(directory)) {
            assertRefusedHere(directory);
            final Path alias = Files.createSymbolicLink(directory.resolveSibling(directory.getFileName() + "-alias"),
                directory);
            assertRefusedHere(alias);
            Files.delete(alias);
            final String elsewhere = takenElsewhere();
            assertTrue(elsewhere.startsWith("FILE_LOCK_FAIL"), () -> elsewhere + ", with " + lock);
            assertTrue(elsewhere.contains(directory.toString()), elsewhere);
        }
        assertEquals("taken true", takenElsewhere());
        StoreLock.take(directory).close();
    }

    @Test
    void shouldNotGiveUpWhatAnotherHasTakenWhenClosedAgain() {
        final StoreLock first = StoreLock.take(directory);
        first.close();
        try (StoreLock second = StoreLock.take(directory)) {
            first.close();
            assertRefusedHere(directory);
            assertTrue(second != null);
        }
    }

    @Test
    void shouldRefuseALockFileThatThisProcessHasLockedByOtherMeans() throws IOException {
        StoreLock.take(directory).close();
        try (FileChannel channel = FileChannel.open(directory.resolve("LOCK"), StandardOpenOption.WRITE)) {
            channel.lock();
            assertRefusedHere(directory);
        }
        StoreLock.take(directory).close();
    }

    @Test
    void shouldNameADirectoryItCannotWrite() {
        final StoreException refusal = assertThrows(StoreException.class, () -> StoreLock.take(Path.of("/proc")));
        assertEquals(ErrorCode.FILE_OPEN_FAIL, refusal.code());
        assertTrue(refusal.getMessage().contains("/proc"), refusal.getMessage());
    }
}
