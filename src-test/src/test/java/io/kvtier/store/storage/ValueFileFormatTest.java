package io.kvtier.store.storage;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.bindings.posix.OpenMode;
import io.kvtier.bindings.posix.PosixFile;
import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.MemoryDirectory;
import io.kvtier.kit.ReferenceXxh64;
import io.kvtier.store.DiskBackend;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.StoreException;
import io.kvtier.transport.file.FileOpener;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Value files as bytes, by store/FORMAT.md and not by code: they are written so, and anything else is refused. */
@ExtendWith(LeakCheck.class)
@ParameterizedClass
@EnumSource(value = DiskBackend.class, names = "OFFSET_ALLOCATOR", mode = EnumSource.Mode.EXCLUDE)
class ValueFileFormatTest {
    private static final int UNIT = Value.UNIT;
    private static final int UNITS = 64;
    private static final String NOTES = "notes.log";
    private static final int NOTES_HEADER = 64;
    private static final int NOTE = 8 + 1 + 8;
    private static final Value FIRST = new Value(new ObjectKey("tenant-7", "prefix/\u00e9"), 0x0102030405060708L, 100);
    private static final Value SECOND = Value.of("second", 2, UNIT + 1);

    @Parameter
    private DiskBackend kind;
    @TempDir(factory = MemoryDirectory.class)
    private Path directory;

    private BackendRig.Setup setup() {
        return setup(kind);
    }

    private BackendRig.Setup setup(final DiskBackend which) {
        return new BackendRig.Setup(BackendRig.of(which), directory, UNITS, 1, 1, FileOpener.POSIX, false);
    }

    private void make(final Value... values) {
        try (BackendRig rig = setup().open()) {
            rig.storeAll(new ModelOwner(), List.of(values));
        }
    }

    private boolean isBucket() {
        return kind == DiskBackend.BUCKET;
    }

    private String header() {
        return switch (kind) {
            case BUCKET -> "kv_buckets.header";
            case FILE_PER_KEY -> "kv_files.header";
            case DISTRIBUTED -> "kv_node.header";
            case OFFSET_ALLOCATOR -> throw new AssertionError("has no value files");
        };
    }

    /** Value files by their addresses. */
    private Map<Long, Path> valueFiles() throws IOException {
        final Map<Long, Path> files = new TreeMap<>();
        try (Stream<Path> all = Files.walk(directory)) {
            all.filter(path -> path.toString().endsWith(isBucket() ? ".bucket" : ".kv")).forEach(path -> {
                final String name = path.getFileName().toString();
                files.put(Long.parseLong(name.substring(name.lastIndexOf('-') + 1, name.lastIndexOf('.')), 16), path);
            });
        }
        return files;
    }

    private Path onlyFile() throws IOException {
        final Map<Long, Path> files = valueFiles();
        assertEquals(1, files.size(), () -> "files " + files);
        return files.values().iterator().next();
    }

    private Map<String, byte[]> contents() throws IOException {
        final Map<String, byte[]> all = new TreeMap<>();
        try (Stream<Path> walk = Files.walk(directory)) {
            for (final Path path : walk.filter(Files::isRegularFile).toList()) {
                all.put(path.toString(), Files.readAllBytes(path));
            }
        }
        return all;
    }

    private StoreException refusal(final BackendRig.Setup setup) throws IOException {
        final Map<String, byte[]> before = contents();
        final StoreException refusal = assertThrows(StoreException.class, setup::open);
        assertEquals(before.keySet(), contents().keySet());
        contents().forEach((name, bytes) -> assertArrayEquals(before.get(name), bytes, name));
        return refusal;
    }

    private static void assertNames(final StoreException refusal, final ErrorCode code, final String... parts) {
        assertEquals(code, refusal.code());
        for (final String part : parts) {
            assertTrue(refusal.getMessage().contains(part), () -> refusal.getMessage() + " does not say " + part);
        }
    }

    private static int crc(final ByteBuffer bytes, final int entries) {
        final CRC32C crc = new CRC32C();
        crc.update(bytes.array(), 0, 60);
        crc.update(bytes.array(), 64, entries);
        return (int) crc.getValue();
    }

    private static void entry(final ByteBuffer bytes, final Value value, final long offset) {
        bytes.putLong(offset).putLong(value.version()).putLong(value.size()).putLong(value.checksum());
        for (final String text : List.of(value.key().tenant(), value.key().key())) {
            final byte[] utf8 = text.getBytes(StandardCharsets.UTF_8);
            bytes.putShort((short) utf8.length).put(utf8);
        }
    }

    /** The file that FORMAT.md draws. */
    private byte[] drawn(final byte[] storageId, final Value... values) {
        final int length = UNIT + Arrays.stream(values).mapToInt(value -> (int) value.extent()).sum();
        final ByteBuffer bytes = ByteBuffer.allocate(length).order(ByteOrder.LITTLE_ENDIAN);
        bytes.position(64);
        int at = UNIT;
        for (final Value value : values) {
            entry(bytes, value, at);
            bytes.put(at, value.bytes());
            at += (int) value.extent();
        }
        final int entries = bytes.position() - 64;
        bytes.put(0, (isBucket() ? "KVTIERBF" : "KVTIERKF").getBytes(StandardCharsets.US_ASCII));
        bytes.putInt(8, 1).putInt(12, UNIT).put(16, storageId).putLong(32, UNIT).putLong(40, length);
        bytes.putInt(48, entries).putInt(52, values.length);
        return bytes.putInt(60, crc(bytes, entries)).array();
    }

    @Test
    void shouldWriteWhatIsDrawn() throws IOException {
        final Value[] values = isBucket() ? new Value[] {FIRST, SECOND} : new Value[] {FIRST};
        make(values);
        final byte[] marker = Files.readAllBytes(directory.resolve(header()));
        assertEquals(UNIT, marker.length);
        assertEquals(isBucket() ? "KVTIERBD" : kind == DiskBackend.FILE_PER_KEY ? "KVTIERKD" : "KVTIERND",
            new String(marker, 0, 8, StandardCharsets.US_ASCII));
        final byte[] written = Files.readAllBytes(onlyFile());
        final byte[] expected = drawn(Arrays.copyOfRange(marker, 24, 40), values);
        // What follows a value in its last unit is not defined.
        System.arraycopy(written, UNIT + 100, expected, UNIT + 100, UNIT - 100);
        if (isBucket()) {
            System.arraycopy(written, 3 * UNIT + 1, expected, 3 * UNIT + 1, UNIT - 1);
        }
        assertArrayEquals(expected, written);
        final byte[] notes = Files.readAllBytes(directory.resolve(NOTES));
        assertEquals("KVTIERNX", new String(notes, 0, 8, StandardCharsets.US_ASCII));
        assertEquals(NOTES_HEADER + values.length * NOTE, notes.length, "a note of use a value, after a close");
    }

    @Test
    void shouldCallAFileWhatIsSaid() throws IOException {
        make(FIRST);
        // XXH64 of "tenant-7", NUL, "prefix/é", by the reference of the tests.
        final long hash = ReferenceXxh64.of("tenant-7\0prefix/\u00e9".getBytes(StandardCharsets.UTF_8));
        final String letters = "abcdefghijklmnop";
        final Path expected = isBucket() ? directory.resolve("0000000000001000.bucket")
            : directory.resolve("file_per_key_dir").resolve("" + letters.charAt((int) (hash & 15)))
                .resolve("" + letters.charAt((int) (hash >>> 4 & 15)))
                .resolve(String.format("%016x-0000000000001000.kv", hash));
        assertEquals(expected, onlyFile());
        assertEquals("rw-------", PosixFilePermissions.toString(Files.getPosixFilePermissions(expected)));
    }

    /** No byte of a key reaches a name. */
    @Test
    void shouldKeepKeysThatNoFileSystemWouldTake() {
        final List<Value> odd = List.of(Value.of("../../etc/passwd", 1, 10), Value.of("a/b\\c:*?\"<>|", 1, 11),
            Value.of(".", 1, 12), Value.of("\uD83D\uDE00".repeat(1024), 1, 13), Value.of("-\n\t ", 1, 14));
        make(odd.toArray(new Value[0]));
        try (BackendRig rig = setup().open()) {
            odd.forEach(rig::assertReadable);
        }
    }

    @Test
    void shouldPutNoMoreThanFiveHundredValuesIntoAFile() throws IOException {
        final Value[] values = IntStream.range(0, 50).mapToObj(i -> Value.of("k" + i, 1, 1)).toArray(Value[]::new);
        make(values);
        assertEquals(isBucket() ? 1 : 50, valueFiles().size());
        final BackendRig.Setup wide =
            new BackendRig.Setup(BackendRig.of(kind), directory.resolve("wide"), 2000, 1, 1, FileOpener.POSIX, false);
        try (BackendRig rig = wide.open()) {
            rig.storeAll(new ModelOwner(), IntStream.range(0, 501).mapToObj(i -> Value.of("k" + i, 1, 1)).toList());
        }
        try (Stream<Path> all = Files.walk(wide.directory())) {
            assertEquals(isBucket() ? 2 : 501, all.filter(path -> path.toString().matches(".*\\.(bucket|kv)")).count());
        }
    }

    @Test
    void shouldGiveTheBlocksOfARemovedValueBackAndDeleteAnEmptyFile() throws IOException {
        final Value large = Value.of("large", 1, 32 * UNIT);
        final Value small = Value.of("small", 1, UNIT);
        final ModelOwner owner = new ModelOwner();
        try (BackendRig rig = setup().open()) {
            rig.storeAll(owner, List.of(large, small));
            final long before = blocks();
            rig.remove(owner, large);
            rig.storeAll(owner, List.of(Value.of("later", 1, 1)));
            assertTrue(blocks() <= before - 28L * UNIT, "the blocks of the removed value are still taken");
            rig.assertReadable(small);
            rig.remove(owner, small);
            rig.storeAll(owner, List.of(Value.of("last", 1, 1)));
            assertEquals(2, valueFiles().size(), "a file without values is deleted");
        }
        assertEquals(2, valueFiles().size());
    }

    /** Bytes that value files take, holes left out. */
    private long blocks() throws IOException {
        long sum = 0;
        for (final Path path : valueFiles().values()) {
            try (PosixFile file = PosixFile.open(path.toString(), OpenMode.READ)) {
                sum += file.status().allocatedBytes();
            }
        }
        return sum;
    }

    @ParameterizedTest
    @EnumSource(DiskBackend.class)
    void shouldRefuseTheDirectoryOfAnotherBackend(final DiskBackend other) throws IOException {
        make(FIRST);
        if (other == kind) {
            try (BackendRig rig = setup(other).open()) {
                rig.assertReadable(FIRST);
            }
            return;
        }
        assertNames(refusal(setup(other)), ErrorCode.FILE_OPEN_FAIL, directory.toString(), kind.configName(),
            other.configName(), "MOONCAKE_OFFLOAD_STORAGE_BACKEND_DESCRIPTOR", "another directory");
        try (BackendRig rig = setup().open()) {
            rig.assertReadable(FIRST);
        }
    }

    @Test
    void shouldRefuseTheDirectoryOfTheOffsetAllocator() throws IOException {
        try (BackendRig rig = setup(DiskBackend.OFFSET_ALLOCATOR).open()) {
            rig.storeAll(new ModelOwner(), List.of(FIRST));
        }
        assertNames(refusal(setup()), ErrorCode.FILE_OPEN_FAIL, "kv_cache.data", "offset_allocator_storage_backend");
    }

    @Test
    void shouldRefuseASecondStoreAndLeaveTheFirstAlone() throws IOException {
        try (BackendRig rig = setup().open()) {
            rig.storeAll(new ModelOwner(), List.of(FIRST));
            assertNames(refusal(setup()), ErrorCode.FILE_LOCK_FAIL, directory.toString());
            rig.assertReadable(FIRST);
        }
    }

    @ParameterizedTest
    @CsvSource({"0,not a backing file", "8,format version", "13,damaged header", "30,damaged header"})
    void shouldRefuseADamagedHeaderOfTheDirectory(final int at, final String complaint) throws IOException {
        make(FIRST);
        flip(directory.resolve(header()), at);
        assertNames(refusal(setup()), ErrorCode.FILE_OPEN_FAIL, header(), complaint, "another directory");
    }

    @ParameterizedTest
    @CsvSource({"0,not an index log", "8,format version", "20,damaged header"})
    void shouldRefuseNotesThatAreNone(final int at, final String complaint) throws IOException {
        make(FIRST);
        flip(directory.resolve(NOTES), at);
        assertNames(refusal(setup()), ErrorCode.FILE_OPEN_FAIL, NOTES, complaint);
    }

    private static void flip(final Path path, final int at) throws IOException {
        final byte[] bytes = Files.readAllBytes(path);
        bytes[at] ^= 0x40;
        Files.write(path, bytes);
    }

    /** One bad file takes its values with it, and no others. */
    @ParameterizedTest
    @ValueSource(ints = {0, 12, 33, 41, 49, 53, 60, 64, 72, 80, 88, 96, 98, 105, 108})
    void shouldLeaveADamagedFileOutAndDeleteIt(final int at) throws IOException {
        make(FIRST);
        try (BackendRig rig = setup().open()) {
            rig.storeAll(new ModelOwner(), List.of(SECOND));
        }
        final Path damaged = valueFiles().get((long) UNIT);
        flip(damaged, at);
        try (BackendRig rig = setup().open()) {
            assertEquals(List.of(SECOND.key()), rig.backend().recovered().stream().map(StoredValue::key).toList());
            rig.assertReadable(SECOND);
            assertEquals(SECOND.extent(), rig.backend().usedBytes());
        }
        assertFalse(Files.exists(damaged));
    }

    @Test
    void shouldLeaveATruncatedFileOut() throws IOException {
        make(FIRST);
        final Path file = onlyFile();
        final byte[] whole = Files.readAllBytes(file);
        for (final int length : new int[] {0, 63, UNIT - 1, UNIT, 2 * UNIT - 1}) {
            Files.write(file, Arrays.copyOf(whole, length));
            try (BackendRig rig = setup().open()) {
                assertEquals(List.of(), rig.backend().recovered(), "cut to " + length);
            }
        }
    }

    /** A file that is copied here, or that a later release wrote, is somebody's: it is neither read nor deleted. */
    @ParameterizedTest
    @ValueSource(ints = {8, 16, 31})
    void shouldLeaveAFileOfAnotherVersionOrStorageAlone(final int at) throws IOException {
        make(FIRST);
        final Path file = onlyFile();
        flip(file, at);
        final byte[] before = Files.readAllBytes(file);
        try (BackendRig rig = setup().open()) {
            assertEquals(List.of(), rig.backend().recovered());
            rig.storeAll(new ModelOwner(), List.of(FIRST, SECOND));
        }
        assertArrayEquals(before, Files.readAllBytes(file));
        try (BackendRig rig = setup().open()) {
            rig.assertReadable(FIRST);
            rig.assertReadable(SECOND);
        }
    }

    @Test
    void shouldDeleteWhatWasNotFinishedAndLeaveForeignFilesAlone() throws IOException {
        make(FIRST);
        final Path unfinished = Files.write(Path.of(onlyFile() + ".tmp"), new byte[100]);
        final Path foreign = Files.write(onlyFile().resolveSibling("README"), new byte[1]);
        try (BackendRig rig = setup().open()) {
            rig.assertReadable(FIRST);
        }
        assertFalse(Files.exists(unfinished));
        assertTrue(Files.exists(foreign));
    }

    /** Nobody knows what was removed: it must not come back. */
    @Test
    void shouldStartEmptyWithoutItsNotes() throws IOException {
        make(FIRST, SECOND);
        Files.delete(directory.resolve(NOTES));
        try (BackendRig rig = setup().open()) {
            assertEquals(List.of(), rig.backend().recovered());
            assertEquals(Map.of(), valueFiles());
        }
    }

    /** A copy of the files while the store runs is what a killed process leaves. */
    @Test
    void shouldNotFindAnOlderVersionAfterTheNewerOneWasRemoved(@TempDir final Path copy) throws IOException {
        final ModelOwner owner = new ModelOwner();
        final Value other = Value.of("other", 1, 1);
        final Value second = new Value(FIRST.key(), FIRST.version() + 1, UNIT);
        try (BackendRig rig = setup().open()) {
            // Another value keeps the file of the older version there.
            rig.storeAll(owner, List.of(FIRST, other));
            rig.storeAll(owner, List.of(second));
            rig.remove(owner, second);
            rig.storeAll(owner, List.of(SECOND));
            try (Stream<Path> all = Files.walk(directory)) {
                for (final Path path : all.filter(one -> !one.equals(directory)).toList()) {
                    Files.copy(path, copy.resolve(directory.relativize(path).toString()));
                }
            }
        }
        try (BackendRig rig = setup().in(copy).open()) {
            assertEquals(List.of(other.key(), SECOND.key()),
                rig.backend().recovered().stream().map(StoredValue::key).toList());
        }
    }

    @Test
    void shouldTakeASmallerCapacityAndEvictDownToIt() {
        final ModelOwner owner = new ModelOwner();
        final List<Value> values = IntStream.range(0, 8).mapToObj(i -> Value.of("k" + i, 1, UNIT)).toList();
        make(values.toArray(new Value[0]));
        try (BackendRig rig = new BackendRig.Setup(BackendRig.of(kind), directory, 4, 1, 1, FileOpener.POSIX, false)
            .open()) {
            assertEquals(8L * UNIT, rig.backend().usedBytes());
            values.forEach(owner::want);
            rig.storeAll(owner, List.of(Value.of("new", 1, UNIT)));
            assertTrue(rig.backend().usedBytes() <= 4L * UNIT);
            assertEquals(List.of("k0", "k1", "k2", "k3", "k4"), owner.evictedKeys());
        }
    }
}
