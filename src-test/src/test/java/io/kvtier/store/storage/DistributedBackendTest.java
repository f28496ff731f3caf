package io.kvtier.store.storage;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.store.DiskBackend;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreException;
import io.kvtier.transport.TransferEngine;
import io.kvtier.transport.file.FileOpener;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class DistributedBackendTest extends StorageBackendContract {
    private static final int UNITS = 64;

    @TempDir
    private Path shared;

    @Override
    StorageBackend open(final BackendRig.Setup setup, final TransferEngine engine) {
        return open(setup, engine, "here");
    }

    private static StorageBackend open(final BackendRig.Setup setup, final TransferEngine engine, final String host) {
        return StorageBackends.open(DiskBackend.DISTRIBUTED, new BackendOptions(setup.directory(), setup.capacity(),
            setup.high(), setup.low(), host, setup.eviction()), engine, setup.files());
    }

    /** As on another machine, whose lock is its own: a lock file that was made anew is another one. */
    private BackendRig elsewhere(final SteppedPace pace) throws IOException {
        Files.delete(shared.resolve("kv_hosts").resolve("same").resolve("LOCK"));
        return new BackendRig.Setup((setup, engine) -> StorageBackends.open(DiskBackend.DISTRIBUTED,
            new BackendOptions(setup.directory(), setup.capacity(), setup.high(), setup.low(), "same",
                setup.eviction()), engine,
            setup.files(), folder -> FolderOwner.take(folder, new FolderMarker.Self("same", "machine-2", "kernel-2",
                "1"), setup.files(), pace)), shared, UNITS, 1, 1, FileOpener.POSIX, false).open();
    }

    private void assertTakenByTheOther(final Throwable told) {
        assertTrue(told.getMessage().contains("machine-2") && told.getMessage().contains("hostId"), told::getMessage);
    }

    @Test
    void shouldRefuseAHostOfTheSameNameWhoseLocksItDoesNotSee() throws IOException {
        try (BackendRig here = on("same")) {
            // The owner's own thread renews within this.
            final Path marker = shared.resolve("kv_hosts").resolve("same").resolve("kvtier.owner");
            final String first = Files.readString(marker);
            final SteppedPace pace = new SteppedPace().meanwhile(() -> awaitOther(marker, first));
            final StoreException refused = assertThrows(StoreException.class, () -> elsewhere(pace));
            assertEquals(ErrorCode.FILE_LOCK_FAIL, refused.code());
            assertTakenByTheOther(refused);
            here.storeAll(new ModelOwner(), List.of(Value.of("k", 1, 10)));
        }
    }

    private static void awaitOther(final Path file, final String text) {
        try {
            while (Files.readString(file).equals(text)) {
                Thread.onSpinWait();
            }
        } catch (final IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** As after it was stopped for as long as another one watched it. */
    @Test
    void shouldChangeNothingAnyMoreInAFolderThatAnotherHostHasTaken() throws IOException {
        final Value kept = Value.of("kept", 1, 5000);
        final Value theirs = Value.of("theirs", 2, 5000);
        final ModelOwner owner = new ModelOwner();
        final SteppedPace stopped = new SteppedPace();
        final BackendRig here = new BackendRig.Setup((setup, engine) -> StorageBackends.open(DiskBackend.DISTRIBUTED,
            new BackendOptions(setup.directory(), setup.capacity(), setup.high(), setup.low(), "same",
                setup.eviction()), engine,
            setup.files(), folder -> FolderOwner.take(folder, FolderMarker.Self.of("same", folder), setup.files(),
                stopped)), shared, UNITS, 1, 1, FileOpener.POSIX, false).open();
        here.storeAll(owner, List.of(kept));
        try (BackendRig there = elsewhere(new SteppedPace())) {
            stopped.advance(FolderOwner.LIMIT_NANOS + 1);
            final StorageBackend.Result late =
                here.store(owner, true, List.of(Value.of("late", 3, 10))).getFirst();
            assertEquals(StorageBackend.Outcome.FAILED, late.outcome());
            assertTakenByTheOther(late.cause());
            assertTakenByTheOther(
                assertThrows(StoreException.class, () -> here.remove(owner, kept)).getCause());
            assertTakenByTheOther(assertThrows(StoreException.class, here::close));
            assertArrayEquals(kept.bytes(), there.read(kept, true));
            there.storeAll(owner, List.of(theirs));
        }
        try (BackendRig again = on("same")) {
            assertArrayEquals(kept.bytes(), again.read(kept, true));
            assertArrayEquals(theirs.bytes(), again.read(theirs, true));
            assertEquals(2, again.backend().stored().size());
        }
    }

    private BackendRig on(final String host) {
        return new BackendRig.Setup((setup, engine) -> open(setup, engine, host), shared, UNITS, 1, 1,
            FileOpener.POSIX, false).open();
    }

    private BackendRig of(final DiskBackend kind) {
        return new BackendRig.Setup(BackendRig.of(kind), shared, UNITS, 1, 1, FileOpener.POSIX, false).open();
    }

    /** Each with all of its capacity, as if the other were not there. */
    @Test
    void shouldKeepApartTheHostsThatShareADirectory() {
        final Value one = Value.of("k", 1, UNITS * Value.UNIT);
        final Value other = Value.of("k", 2, UNITS * Value.UNIT);
        try (BackendRig here = on("node-1.example"); BackendRig there = on("node-2.example")) {
            here.storeAll(new ModelOwner(), List.of(one));
            there.storeAll(new ModelOwner(), List.of(other));
            assertArrayEquals(one.bytes(), here.read(one, true));
            assertArrayEquals(other.bytes(), there.read(other, true));
            here.remove(new ModelOwner(), one);
            assertArrayEquals(other.bytes(), there.read(other, true));
        }
        try (BackendRig there = on("node-2.example")) {
            assertEquals(List.of(2L), there.backend().recovered().stream().map(StoredValue::version).toList());
        }
        try (BackendRig here = on("node-1.example")) {
            assertEquals(List.of(), here.backend().recovered());
        }
    }

    @Test
    void shouldRefuseTheFolderOfAHostThatIsInUseAndSayHowToTellTwoApart() {
        try (BackendRig here = on("same")) {
            final StoreException refused = assertThrows(StoreException.class, () -> on("same"));
            assertEquals(ErrorCode.FILE_LOCK_FAIL, refused.code());
            assertTrue(refused.getMessage().contains("same") && refused.getMessage().contains("hostId"),
                refused::getMessage);
            here.storeAll(new ModelOwner(), List.of(Value.of("k", 1, 10)));
        }
    }

    /** A host may be called anything; its folder is below the directory all the same, and its own. */
    @ParameterizedTest
    @ValueSource(strings = {"..", ".", "a/b", "../../x", "\u00fcber", " ", "-",
        "n123456789-123456789-123456789-123456789-123456789-123456789-123"})
    void shouldHaveAFolderForEveryName(final String host) throws IOException {
        final Value value = Value.of("k", 1, 10);
        try (BackendRig rig = on(host); BackendRig other = on("other")) {
            rig.storeAll(new ModelOwner(), List.of(value));
            assertEquals(List.of(), other.backend().stored());
        }
        try (var folders = Files.list(shared)) {
            assertEquals(List.of(shared.resolve("kv_hosts")), folders.toList());
        }
        try (var folders = Files.list(shared.resolve("kv_hosts"))) {
            assertEquals(2, folders.count());
        }
        try (BackendRig rig = on(host)) {
            assertArrayEquals(value.bytes(), rig.read(value, true));
        }
    }

    @ParameterizedTest
    @EnumSource(value = DiskBackend.class, mode = EnumSource.Mode.EXCLUDE, names = "DISTRIBUTED")
    void shouldNotShareADirectoryWithAnotherBackend(final DiskBackend another) throws IOException {
        on("here").close();
        assertEquals(ErrorCode.FILE_OPEN_FAIL, assertThrows(StoreException.class, () -> of(another)).code());
        Directories.delete(shared.resolve("kv_hosts"));
        of(another).close();
        assertEquals(ErrorCode.FILE_OPEN_FAIL, assertThrows(StoreException.class, () -> on("here")).code());
    }
}
