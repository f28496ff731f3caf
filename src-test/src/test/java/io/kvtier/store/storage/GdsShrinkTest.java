package io.kvtier.store.storage;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.Faults;
import io.kvtier.kit.FaultyFiles;
import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.MemoryDirectory;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** A file that shall be smaller than it is: another one is made beside it, which a full disk has no room for. */
@ExtendWith(LeakCheck.class)
class GdsShrinkTest {
    private static final long UNIT = Value.UNIT;
    private static final long UNITS = 16;
    private static final long FEWER = 4;
    private static final Value VALUE = Value.of("value", 1, 5000);

    @TempDir(factory = MemoryDirectory.class)
    private Path directory;

    private GdsRig.Setup setup(final long units) {
        return GdsRig.Setup.of(directory.resolve("gds"), units, true);
    }

    private GdsRig.Setup onAFullDisk(final long units, final long left) {
        return setup(units).on(new FaultyFiles(new Faults().fullAfter(left)));
    }

    private static void assertSays(final String message, final String... parts) {
        for (final String part : parts) {
            assertTrue(message.contains(part), () -> message + " does not say " + part);
        }
    }

    @Test
    void shouldSayWhatToDoAndKeepTheFileWhenThereIsNoRoomForASmallerOne() throws IOException {
        final StoredExtent stored;
        try (GdsRig rig = setup(UNITS).open()) {
            stored = rig.put(VALUE, 7);
        }
        // Room for the header or for the values, and not for both.
        final StoreException refusal =
            assertThrows(StoreException.class, () -> onAFullDisk(FEWER, FEWER * UNIT).open());

        assertEquals(ErrorCode.FILE_OPEN_FAIL, refusal.code());
        // 17 and 5 pages; the first of each is the header.
        assertSays(refusal.getMessage(), directory.resolve("gds") + " has 69632 bytes", "to have 20480;",
            "free 20480 bytes", "delete the file", "configure at least 65536");
        assertFalse(Files.exists(directory.resolve("gds.tmp")));
        try (GdsRig rig = onAFullDisk(UNITS, FEWER * UNIT).open()) {
            assertEquals(List.of(stored), rig.storage().recovered(), "with what is advised it is all there");
        }
        Files.delete(directory.resolve("gds"));
        try (GdsRig rig = onAFullDisk(FEWER, UNITS * UNIT).open()) {
            rig.assertNothingLeft();
        }
    }

    /** There is nothing to delete, and a smaller one would do. */
    @Test
    void shouldAdviseASmallerOneWhereThereIsNone() throws IOException {
        for (final boolean empty : new boolean[] {false, true}) {
            if (empty) {
                Files.createFile(directory.resolve("gds"));
            }
            final StoreException refusal =
                assertThrows(StoreException.class, () -> onAFullDisk(FEWER, FEWER * UNIT).open());
            assertEquals(ErrorCode.FILE_OPEN_FAIL, refusal.code());
            assertSays(refusal.getMessage(), directory.resolve("gds").toString(), "20480 bytes",
                "free space or configure a smaller capacity");
        }
    }
}
