package io.kvtier.store.storage.shared;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.bindings.Availability;
import io.kvtier.bindings.posix.BlockFile;
import io.kvtier.bindings.posix.Errno;
import io.kvtier.bindings.posix.ErrnoException;
import io.kvtier.bindings.posix.OpenMode;
import io.kvtier.kit.Faults;
import io.kvtier.kit.FaultyFiles;
import io.kvtier.kit.LeakCheck;
import io.kvtier.store.DiskBackend;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreException;
import io.kvtier.store.config.Environment;
import io.kvtier.store.storage.BackendOptions;
import io.kvtier.store.storage.StorageBackend;
import io.kvtier.store.storage.StorageBackends;
import io.kvtier.transport.TransferConfig;
import io.kvtier.transport.TransferEngine;
import io.kvtier.transport.file.DirectoryEntries;
import io.kvtier.transport.file.FileOpener;
import io.kvtier.transport.file.PosixTransport;
import io.kvtier.transport.memory.MemoryTransport;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Whose directory on a shared root is opened, and what is refused before anything is made in it. */
@ExtendWith(LeakCheck.class)
class DistributedDirectoryTest {
    private static final int UNITS = 16;

    @TempDir
    private Path root;
    private final TransferEngine engine = TransferEngine.open(TransferConfig.DEFAULT,
        List.of(new MemoryTransport(), new PosixTransport(1, true)));
    private FileSystemAdapter files = new PosixFileSystem(FileOpener.POSIX, engine);
    private FileOpener opener = FileOpener.POSIX;

    @AfterEach
    void close() {
        engine.close();
    }

    private static BackendOptions options(final Path directory) {
        return new BackendOptions(directory, UNITS * 4096L, 1, 1);
    }

    private StorageBackend open(final Path where, final String node, final String host) {
        return DistributedDirectory.open(options(where), new DistributedDirectory.Node(node, host),
            new DistributedDirectory.Means(files, new SystemHost(), engine, opener));
    }

    private void make(final String node, final String host) {
        open(root, node, host).close();
    }

    private StoreException refusal(final Path where, final String node, final String host, final ErrorCode code,
        final String... parts) {
        final StoreException refusal = assertThrows(StoreException.class, () -> open(where, node, host).close());
        assertEquals(code, refusal.code(), refusal::getMessage);
        for (final String part : parts) {
            assertTrue(refusal.getMessage().contains(part), () -> refusal.getMessage() + " does not say " + part);
        }
        return refusal;
    }

    private static List<String> names(final Path folder) throws IOException {
        try (Stream<Path> all = Files.list(folder)) {
            return all.map(path -> path.getFileName().toString()).sorted().toList();
        }
    }

    @Test
    void shouldKeepTheNodesOfARootApart() throws IOException {
        try (StorageBackend one = open(root, "n1", "machine-1"); StorageBackend two = open(root, "n2", "machine-2")) {
            assertEquals(one.capacityBytes(), two.capacityBytes());
            assertEquals(List.of("n1", "n2"), names(root));
        }
        assertEquals("kvtier node directory 1\nhost machine-1\n",
            Files.readString(root.resolve("n1").resolve("kvtier.node")));
        assertEquals(List.of("LOCK", "kv_node.header", "kvtier.node", "notes.log"), names(root.resolve("n1")));
        make("n1", "machine-1");
    }

    @Test
    void shouldSayWhatToDoWhenTwoStoresOfAHostHaveOneName() {
        try (StorageBackend open = open(root, "n1", "machine-1")) {
            refusal(root, "n1", "machine-1", ErrorCode.FILE_LOCK_FAIL, root.resolve("n1").toString(), "in use",
                "--disk-node", "'n1'");
            assertEquals(0, open.usedBytes());
        }
    }

    /** As on a mount that has locks for its own host only: nobody has the directory locked here. */
    @Test
    void shouldRefuseTheDirectoryOfAnotherHostWhetherOrNotItIsLocked() throws IOException {
        make("n1", "machine-1");
        final List<String> before = names(root.resolve("n1"));
        refusal(root, "n1", "machine-2", ErrorCode.FILE_LOCK_FAIL, "'machine-1'", "'machine-2'", "--disk-node",
            root.resolve("n1").resolve("kvtier.node").toString());
        assertEquals(before, names(root.resolve("n1")));
        Files.delete(root.resolve("n1").resolve("kvtier.node"));
        make("n1", "machine-2");
        refusal(root, "n1", "machine-1", ErrorCode.FILE_LOCK_FAIL, "'machine-2'");
    }

    @Test
    void shouldReadTheMarkerThatIsRecorded() throws IOException {
        final Path own = Files.createDirectory(root.resolve("n1"));
        Files.writeString(own.resolve("kvtier.node"), "kvtier node directory 1\nhost machine-7\nof a later version\n");
        make("n1", "machine-7");
    }

    @ParameterizedTest
    @ValueSource(strings = {"kvtier node directory 2\nhost machine-1\n", "kvtier node directory 1\n", "\n"})
    void shouldRefuseAMarkerThatItDoesNotKnow(final String text) throws IOException {
        final Path own = Files.createDirectory(root.resolve("n1"));
        Files.writeString(own.resolve("kvtier.node"), text);
        refusal(root, "n1", "machine-1", ErrorCode.FILE_OPEN_FAIL, own.resolve("kvtier.node").toString(), "remove");
        assertEquals(List.of("kvtier.node"), names(own));
    }

    @Test
    void shouldRefuseARootThatIsNotThereAndMakeNone() {
        final Path absent = root.resolve("mnt");
        refusal(absent, "n1", "machine-1", ErrorCode.FILE_OPEN_FAIL, absent + " does not exist", "mount", "--dir");
        assertFalse(Files.exists(absent));
    }

    @Test
    void shouldRefuseAFileSystemWhoseCacheCannotBePassed() throws IOException {
        files = new ForwardingFileSystem(files) {
            @Override
            public Availability pastTheCache(final String folder) {
                return Availability.no("no O_DIRECT here", "mount it otherwise");
            }
        };
        refusal(root, "n1", "machine-1", ErrorCode.FILE_OPEN_FAIL, "no O_DIRECT here", "mount it otherwise");
        assertEquals(List.of(), names(root));
    }

    /** What is there must be readable again though others have filled the file system. */
    @Test
    void shouldNotTakeAFullFileSystemForOneWithoutDirectAccess() {
        final Faults faults = new Faults();
        files = new PosixFileSystem(new FaultyFiles(faults), engine);
        faults.failNth(Faults.Call.WRITE, 1, Errno.ENOSPC);
        make("n1", "machine-1");
    }

    /** Opens the C library's files, and cannot make the names in one directory durable. */
    private record Unsynced(Path refused) implements FileOpener, DirectoryEntries {
        @Override
        public BlockFile open(final String path, final OpenMode mode) {
            return FileOpener.POSIX.open(path, mode);
        }

        @Override
        public DirectoryEntries entries() {
            return this;
        }

        @Override
        public void createDirectory(final Path directory) throws IOException {
            SYSTEM.createDirectory(directory);
        }

        @Override
        public void rename(final Path from, final Path to) throws IOException {
            SYSTEM.rename(from, to);
        }

        @Override
        public void deleteIfExists(final Path file) throws IOException {
            SYSTEM.deleteIfExists(file);
        }

        @Override
        public void sync(final Path directory) {
            if (directory.equals(refused)) {
                throw new ErrnoException("fsync", Errno.EIO, directory.toString());
            }
            SYSTEM.sync(directory);
        }
    }

    /** The name of the node's directory is in the root, that of the marker in the directory. */
    @ParameterizedTest
    @ValueSource(strings = {"", "n1"})
    void shouldTellThatTheMarkerCouldNotBeMadeDurable(final String where) throws IOException {
        opener = new Unsynced(root.toAbsolutePath().resolve(where));
        refusal(root, "n1", "machine-1", ErrorCode.FILE_OPEN_FAIL, "kvtier.node");
        assertFalse(Files.exists(root.resolve("n1").resolve("kv_node.header")));
        opener = FileOpener.POSIX;
        make("n1", "machine-1");
    }

    @ParameterizedTest
    @ValueSource(strings = {"BUCKET", "FILE_PER_KEY", "OFFSET_ALLOCATOR"})
    void shouldNotMixWithOtherBackends(final DiskBackend other) throws IOException {
        make("n1", "machine-1");
        for (final Path where : List.of(root, root.resolve("n1"))) {
            final StoreException refusal = assertThrows(StoreException.class,
                () -> StorageBackends.open(other, options(where), engine, FileOpener.POSIX).close());
            assertEquals(ErrorCode.FILE_OPEN_FAIL, refusal.code());
            assertTrue(refusal.getMessage().contains("distributed_storage_backend"), refusal.getMessage());
        }
        final Path others = Files.createDirectory(root.resolve("others"));
        StorageBackends.open(other, options(others), engine, FileOpener.POSIX).close();
        refusal(others, "n1", "machine-1", ErrorCode.FILE_OPEN_FAIL, other.configName());
        refusal(root, "others", "machine-1", ErrorCode.FILE_OPEN_FAIL, other.configName());
        assertFalse(Files.exists(others.resolve("kvtier.node")));
        assertFalse(Files.exists(others.resolve("n1")));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "(none)", "../n", ".", "-n"})
    void shouldRefuseANameThatIsNoneOfADirectory(final String node) throws IOException {
        refusal(root, node, "machine-1", ErrorCode.INVALID_PARAMS, "'" + node + "'", "--disk-node");
        assertEquals(List.of(), names(root));
    }

    @Test
    void shouldUseTheNameOfTheHostWhereNoneIsSaid() throws IOException {
        DistributedDirectory.open(options(root), (String) null, DistributedDirectory.Means.of(engine, opener)).close();
        final String host = Files.readString(Path.of("/proc/sys/kernel/hostname")).strip();
        assertEquals(List.of(host), names(root));
    }

    @Test
    void shouldSayThatFilesOfKeysDoNotGoByUsrbio() {
        final String type = "MOONCAKE_DISTRIBUTED_FS_TYPE";
        SharedFileSystems.refuseForKeys(Environment.of(Map.of()));
        SharedFileSystems.refuseForKeys(Environment.of(Map.of(type, "posix")));
        SharedFileSystems.refuseForKeys(Environment.of(Map.of(type, "hf3fs", "MOONCAKE_DISTRIBUTED_PAGE_MODE",
            "true")));
        final StoreException refusal = assertThrows(StoreException.class,
            () -> SharedFileSystems.refuseForKeys(Environment.of(Map.of(type, "hf3fs"))));
        assertEquals(ErrorCode.INVALID_PARAMS, refusal.code());
        for (final String part : List.of(type, "'hf3fs'", "distributed_storage_backend", "posix", "FUSE")) {
            assertTrue(refusal.getMessage().contains(part), () -> refusal.getMessage() + " does not say " + part);
        }
    }
}
