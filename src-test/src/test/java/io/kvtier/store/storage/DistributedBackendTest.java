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
