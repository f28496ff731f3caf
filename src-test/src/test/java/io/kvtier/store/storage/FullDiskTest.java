package io.kvtier.store.storage;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.Mounts;
import io.kvtier.store.DiskBackend;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreException;
import io.kvtier.store.storage.StorageBackend.Outcome;
import io.kvtier.transport.file.FileOpener;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A real file system of 32 MiB, as root can make one. */
@ExtendWith(LeakCheck.class)
class FullDiskTest {
    private static final long DISK_BYTES = 32L << 20;
    private static final long SMALL_UNITS = (4L << 20) / Value.UNIT;
    private static final long LARGE_UNITS = (256L << 20) / Value.UNIT;

    @TempDir
    private Path directory;
    private Path disk;
    private Mounts mounted;

    @BeforeEach
    void mount() throws IOException, InterruptedException {
        disk = Files.createDirectory(directory.resolve("disk"));
        mounted = Mounts.ext4(directory.resolve("image"), disk, DISK_BYTES);
    }

    @AfterEach
    void unmount() {
        if (mounted != null) {
            mounted.close();
        }
    }

    private BackendRig.Setup setup(final long units) {
        return setup(DiskBackend.OFFSET_ALLOCATOR, units);
    }

    private BackendRig.Setup setup(final DiskBackend kind, final long units) {
        return new BackendRig.Setup(BackendRig.of(kind), disk.resolve("store"), units, 1, 1, FileOpener.POSIX,
            true);
    }

    private void assertRefused(final long units) {
        final StoreException refusal = assertThrows(StoreException.class, () -> setup(units).open());
        assertEquals(ErrorCode.FILE_OPEN_FAIL, refusal.code());
        for (final String part : List.of(disk.toString(), Long.toString((units + 1) * Value.UNIT), "free", "smaller")) {
            assertTrue(refusal.getMessage().contains(part), () -> refusal.getMessage() + " does not say " + part);
        }
    }

    private boolean exists(final String name) {
        return Files.exists(disk.resolve("store").resolve(name));
    }

    @Test
    void shouldSayWhatIsMissingAndLeaveNoFileWhenTheDiskIsTooSmall() {
        assertRefused(LARGE_UNITS);
        for (final String name : List.of("kv_cache.data", "kv_cache.data.tmp", "index.log", "index.log.tmp")) {
            assertFalse(exists(name), name);
        }
        final List<Value> values = List.of(Value.of("a", 1, 3 << 20), Value.of("b", 2, 100));
        try (BackendRig rig = setup(SMALL_UNITS).open()) {
            rig.storeAll(new ModelOwner(), values);
        }
        assertRefused(LARGE_UNITS);
        try (BackendRig rig = setup(SMALL_UNITS).open()) {
            values.forEach(rig::assertReadable);
        }
    }

    /** The log needs room that the preallocated file does not have for it. */
    @Test
    void shouldKeepWhatItReportedWhenOthersFillTheDisk() throws IOException {
        final Ledger ledger = new Ledger();
        try (BackendRig rig = setup(SMALL_UNITS).open()) {
            ledger.store(rig, true, List.of(Value.of("before", 1, 5000)));
            fillDisk();
            for (int i = 0; i < 40; i++) {
                final int number = i;
                ledger.store(rig, true, IntStream.range(0, 20)
                    .mapToObj(j -> Value.of(20 * number + j + "x".repeat(4000), 1, 100)).toList());
            }
            ledger.readAll(rig);
            assertFalse(ledger.failures().isEmpty(), "the disk was not full");
            Files.delete(disk.resolve("filler"));
            final Value after = Value.of("after", 1, 5000);
            ledger.tried(after);
            rig.storeAll(ledger.owner(), List.of(after));
            ledger.stored(after);
        }
        try (BackendRig rig = setup(SMALL_UNITS).open()) {
            ledger.verify(rig, true);
        }
    }

    /** Others have taken what the capacity counts on: what is there makes room, and nobody is told of a failure. */
    @ParameterizedTest
    @EnumSource(value = DiskBackend.class, names = {"BUCKET", "FILE_PER_KEY"})
    void shouldEvictWhenTheDiskIsFullBeforeTheCapacityIs(final DiskBackend kind) {
        final int count = 100;
        final Ledger ledger = new Ledger();
        try (BackendRig rig = setup(kind, LARGE_UNITS).open()) {
            for (int i = 0; i < count; i++) {
                ledger.store(rig, true, List.of(Value.of("k" + i, 1, 1 << 20)));
                assertTrue(rig.has(Value.of("k" + i, 1, 1 << 20)), "value " + i + " has no room");
            }
            assertEquals(List.of(), ledger.failures());
            final List<String> evicted = ledger.owner().evictedKeys();
            assertTrue(evicted.size() >= count - (DISK_BYTES >> 20), () -> "evicted only " + evicted.size());
            assertEquals(IntStream.range(0, evicted.size()).mapToObj(i -> "k" + i).toList(), evicted);
            ledger.owner().allow(victim -> false);
            assertEquals(List.of(Outcome.NO_SPACE), rig.store(ledger.owner(), true, List.of(
                Value.of("no", 1, 24 << 20))).stream().map(StorageBackend.Result::outcome).toList());
            ledger.readAll(rig);
        }
        try (BackendRig rig = setup(kind, LARGE_UNITS).open()) {
            ledger.verify(rig, true);
        }
    }

    private void fillDisk() throws IOException {
        try (RandomAccessFile file = new RandomAccessFile(disk.resolve("filler").toFile(), "rw")) {
            final byte[] block = new byte[Value.UNIT];
            for (long written = 0; written < DISK_BYTES; written += block.length) {
                file.write(block);
            }
        } catch (final IOException expected) {
            assertTrue(expected.getMessage().contains("No space"), expected.getMessage());
        }
    }
}
