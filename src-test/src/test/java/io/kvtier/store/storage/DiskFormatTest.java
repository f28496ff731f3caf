package io.kvtier.store.storage;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.MemoryDirectory;
import io.kvtier.kit.PatternBytes;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.StoreException;
import io.kvtier.transport.file.FileOpener;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.logging.Level;
import java.util.logging.Logger;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The files as bytes: recorded ones are read and written again, and anything else is refused or cut off. */
@ExtendWith(LeakCheck.class)
class DiskFormatTest {
    private static final int UNIT = Value.UNIT;
    private static final int UNITS = 8;
    private static final String DATA = "kv_cache.data";
    private static final String LOG = "index.log";
    private static final int LOG_HEADER = 64;
    private static final List<Value> VALUES = List.of(Value.of("first", 1, 100), Value.of("second", 2, UNIT),
        Value.of("third", 3, UNIT + 1));

    /** It warns of each cut log, of which there are a thousand here. */
    private static final Logger INDEX_LOG = Logger.getLogger(IndexLog.class.getName());

    @TempDir(factory = MemoryDirectory.class)
    private Path directory;

    @BeforeAll
    static void muteWarnings() {
        INDEX_LOG.setLevel(Level.SEVERE);
    }

    @AfterAll
    static void restoreWarnings() {
        INDEX_LOG.setLevel(null);
    }

    private BackendRig.Setup setup(final long units) {
        return new BackendRig.Setup(BackendRig::offsetAllocator, directory, units, 1, 1, FileOpener.POSIX, false);
    }

    private void makeStore() {
        try (BackendRig rig = setup(UNITS).open()) {
            rig.storeAll(new ModelOwner(), VALUES);
        }
    }

    private StoreException refusal(final BackendRig.Setup setup) throws IOException {
        final List<String> before = names();
        final byte[] data = content(DATA);
        final byte[] log = content(LOG);
        final StoreException refusal = assertThrows(StoreException.class, setup::open);
        assertArrayEquals(data, content(DATA), "a refused file is left as it is");
        assertArrayEquals(log, content(LOG), "a refused file is left as it is");
        assertEquals(before, names());
        return refusal;
    }

    private List<String> names() throws IOException {
        try (Stream<Path> all = Files.list(directory)) {
            return all.map(path -> path.getFileName().toString()).filter(name -> !name.equals("LOCK")).sorted()
                .toList();
        }
    }

    private byte[] content(final String name) throws IOException {
        final Path path = directory.resolve(name);
        return Files.isRegularFile(path) ? Files.readAllBytes(path) : new byte[0];
    }

    private void overwrite(final String name, final long at, final byte... bytes) throws IOException {
        try (FileChannel channel = FileChannel.open(directory.resolve(name), StandardOpenOption.WRITE)) {
            channel.write(ByteBuffer.wrap(bytes), at);
        }
    }

    private static void assertNames(final StoreException refusal, final ErrorCode code, final String... parts) {
        assertEquals(code, refusal.code());
        for (final String part : parts) {
            assertTrue(refusal.getMessage().contains(part), () -> refusal.getMessage() + " does not say " + part);
        }
    }

    private static byte[] resource(final String name) throws IOException {
        try (InputStream in = DiskFormatTest.class.getResourceAsStream(name)) {
            final StringBuilder hex = new StringBuilder();
            new String(in.readAllBytes(), StandardCharsets.US_ASCII).lines().map(line -> line.replaceAll("#.*", ""))
                .forEach(line -> hex.append(line.replace(" ", "")));
            return HexFormat.of().parseHex(hex);
        }
    }

    /** The recorded store: capacity 8 units, a value, one of another tenant, and the removal of a third. */
    private List<IndexRecord> recorded() {
        return List.of(
            IndexRecord.stored(new StoredValue(ObjectKey.of("alpha"), 1, 0, 100, 0xEF46DB3751D8E999L)),
            IndexRecord.stored(new StoredValue(ObjectKey.of("beta"), 0x0102030405060708L, 4096, 4096, -2)),
            IndexRecord.stored(new StoredValue(new ObjectKey("tenant-7", "prefix/\u00e9"), 9, 8192, 8191, 3)),
            IndexRecord.removed(new StoredValue(ObjectKey.of("beta"), 0x0102030405060708L, 4096, 4096, -2)));
    }

    /** What is in them is for whoever may use the store. */
    @Test
    void shouldLetNobodyElseReadItsFiles() throws IOException {
        makeStore();
        for (final String name : List.of(DATA, LOG)) {
            assertEquals("rw-------",
                PosixFilePermissions.toString(Files.getPosixFilePermissions(directory.resolve(name))), name);
        }
    }

    /** Changes the body of the first record, which stays whole. */
    private void change(final int at, final String hex) throws IOException {
        final ByteBuffer log = ByteBuffer.wrap(content(LOG)).order(ByteOrder.LITTLE_ENDIAN);
        log.put(LOG_HEADER + 8 + at, HexFormat.of().parseHex(hex));
        final CRC32C crc = new CRC32C();
        crc.update(log.slice(LOG_HEADER + 8, log.getInt(LOG_HEADER)));
        overwrite(LOG, 0, log.putInt(LOG_HEADER + 4, (int) crc.getValue()).array());
    }

    /** Of a later version, or of who knows whom: as little to be guessed at as a header would be. */
    @ParameterizedTest
    @CsvSource({"0, 03", "33, ffff", "33, 0600", "42, ffff", "42, 0000", "35, 5f"})
    void shouldRefuseALogWithARecordThatIsWholeAndMeansNothing(final int at, final String bytes) throws IOException {
        makeStore();
        change(at, bytes);
        assertNames(refusal(setup(UNITS)), ErrorCode.FILE_OPEN_FAIL, LOG, "byte " + LOG_HEADER, "another directory");
    }

    @ParameterizedTest
    @CsvSource({"17, ffffffffffffff7f", "17, 00f0ffffffffff7f", "17, 0000000000000080", "9, 00f0ffffffffff7f"})
    void shouldLeaveAValueOutThatCannotLieInTheFile(final int at, final String bytes) throws IOException {
        makeStore();
        change(at, bytes);
        try (BackendRig rig = setup(UNITS).open()) {
            assertEquals(VALUES.stream().skip(1).map(Value::key).toList(),
                rig.backend().recovered().stream().map(StoredValue::key).toList());
            rig.storeAll(new ModelOwner(), List.of(Value.of("more", 4, (UNITS - 3) * UNIT)));
        }
    }

    @Test
    void shouldReadRecordedFilesOfVersion1() throws IOException {
        Files.write(directory.resolve(DATA), Arrays.copyOf(resource("data-v1.hex"), (UNITS + 1) * UNIT));
        Files.write(directory.resolve(LOG), resource("log-v1.hex"));
        try (BackendRig rig = setup(UNITS).open()) {
            assertEquals(List.of(recorded().get(0).value(), recorded().get(2).value()), rig.backend().recovered());
            assertEquals(3L * UNIT, rig.backend().usedBytes());
        }
        assertArrayEquals(resource("data-v1.hex"), Arrays.copyOf(content(DATA), 44), "the header stays as it was");
    }

    @Test
    void shouldWriteTheRecordedBytesOfVersion1() throws IOException {
        Files.write(directory.resolve(DATA), Arrays.copyOf(resource("data-v1.hex"), (UNITS + 1) * UNIT));
        // Growing writes the header anew; the id is the recorded one.
        final BackingFile grown = BackingFile.open(directory, (UNITS + 1L) * UNIT, UNIT, FileOpener.POSIX);
        final byte[] expected = resource("data-v1.hex");
        expected[17] = (byte) 0x90;
        final CRC32C crc = new CRC32C();
        crc.update(expected, 0, 40);
        ByteBuffer.wrap(expected).order(ByteOrder.LITTLE_ENDIAN).putInt(40, (int) crc.getValue());
        final byte[] header = Arrays.copyOf(content(DATA), UNIT);
        assertArrayEquals(Arrays.copyOf(expected, UNIT), header);
        assertEquals(UUID.fromString("00112233-4455-6677-8899-aabbccddeeff"), grown.storageId());

        final byte[] log = resource("log-v1.hex");
        try (IndexLog<IndexRecord, StoredValue> fresh =
            IndexLog.open(directory, grown.storageId(), FileOpener.POSIX).log()) {
            fresh.append(recorded());
            fresh.sync();
        }
        final byte[] written = content(LOG);
        assertArrayEquals(log, Arrays.copyOf(written, log.length));
        for (int i = log.length; i < written.length; i++) {
            assertEquals(0, written[i], "only zeros are written ahead");
        }
    }

    @Test
    void shouldRefuseAForeignDataFile() throws IOException {
        Files.write(directory.resolve(DATA), "some other program's file".getBytes(StandardCharsets.US_ASCII));
        assertNames(refusal(setup(UNITS)), ErrorCode.FILE_OPEN_FAIL, DATA, "not a backing file", "another directory");
        Files.write(directory.resolve(DATA), new byte[3 * UNIT]);
        assertNames(refusal(setup(UNITS)), ErrorCode.FILE_OPEN_FAIL, DATA, "not a backing file");
        Files.write(directory.resolve(DATA), new byte[0]);
        assertNames(refusal(setup(UNITS)), ErrorCode.FILE_OPEN_FAIL, DATA, "not a backing file");
    }

    @ParameterizedTest
    @CsvSource({"0,not a backing file", "8,format version", "13,damaged header", "16,damaged header",
        "30,damaged header", "40,damaged header"})
    void shouldRefuseADataFileWithADamagedHeader(final int at, final String complaint) throws IOException {
        makeStore();
        overwrite(DATA, at, (byte) (content(DATA)[at] ^ 0x40));
        assertNames(refusal(setup(UNITS)), ErrorCode.FILE_OPEN_FAIL, DATA, complaint);
    }

    @ParameterizedTest
    @CsvSource({"0,not an index log", "8,format version", "12,damaged header", "20,damaged header",
        "32,damaged header"})
    void shouldRefuseALogWithADamagedHeader(final int at, final String complaint) throws IOException {
        makeStore();
        overwrite(LOG, at, (byte) (content(LOG)[at] ^ 0x40));
        assertNames(refusal(setup(UNITS)), ErrorCode.FILE_OPEN_FAIL, LOG, complaint);
    }

    @Test
    void shouldRefuseALogThatIsShorterThanItsHeader() throws IOException {
        makeStore();
        Files.write(directory.resolve(LOG), Arrays.copyOf(content(LOG), LOG_HEADER - 1));
        assertNames(refusal(setup(UNITS)), ErrorCode.FILE_OPEN_FAIL, LOG, "not an index log");
    }

    @Test
    void shouldRefuseATruncatedDataFile() throws IOException {
        makeStore();
        Files.write(directory.resolve(DATA), Arrays.copyOf(content(DATA), UNITS * UNIT));
        assertNames(refusal(setup(UNITS)), ErrorCode.FILE_OPEN_FAIL, DATA, "truncated", "" + UNITS * UNIT);
    }

    @Test
    void shouldRefuseTheLogOfAnotherStore(@TempDir final Path other) throws IOException {
        makeStore();
        try (BackendRig rig = setup(UNITS).in(other).open()) {
            rig.storeAll(new ModelOwner(), VALUES);
        }
        Files.copy(other.resolve(LOG), directory.resolve(LOG), StandardCopyOption.REPLACE_EXISTING);
        assertNames(refusal(setup(UNITS)), ErrorCode.FILE_OPEN_FAIL, LOG, "belongs to storage");
    }

    @ParameterizedTest
    @ValueSource(strings = {DATA, LOG})
    void shouldStartEmptyWhenOneOfTheFilesIsMissing(final String missing) throws IOException {
        makeStore();
        Files.delete(directory.resolve(missing));
        try (BackendRig rig = setup(UNITS).open()) {
            assertEquals(List.of(), rig.backend().recovered());
            rig.storeAll(new ModelOwner(), List.of(Value.of("all", 1, UNITS * UNIT)));
        }
    }

    @Test
    void shouldGrowAFileAndRefuseToShrinkIt() throws IOException {
        makeStore();
        assertNames(refusal(setup(UNITS - 1)), ErrorCode.FILE_OPEN_FAIL, DATA, "" + UNITS * UNIT,
            "" + (UNITS - 1) * UNIT);
        try (BackendRig rig = setup(2 * UNITS).open()) {
            VALUES.forEach(rig::assertReadable);
            rig.storeAll(new ModelOwner(), List.of(Value.of("more", 1, (2 * UNITS - 4) * UNIT)));
        }
        assertEquals((2 * UNITS + 1) * UNIT, Files.size(directory.resolve(DATA)));
        assertNames(refusal(setup(UNITS)), ErrorCode.FILE_OPEN_FAIL, DATA);
    }

    @Test
    void shouldRefuseADirectoryThatIsAFileOrBelowOne() throws IOException {
        final Path file = Files.writeString(directory.resolve("file"), "x");
        assertNames(refusal(setup(UNITS).in(file)), ErrorCode.FILE_OPEN_FAIL, file.toString());
        assertNames(refusal(setup(UNITS).in(file.resolve("below"))), ErrorCode.FILE_OPEN_FAIL, file.toString());
        assertNames(refusal(setup(UNITS).in(Path.of("/proc/no"))), ErrorCode.FILE_OPEN_FAIL, "/proc/no");
        assertEquals("x", Files.readString(file));
    }

    @Test
    void shouldRefuseASecondStoreAndLeaveTheFirstAlone() throws IOException {
        try (BackendRig rig = setup(UNITS).open()) {
            rig.storeAll(new ModelOwner(), VALUES);
            assertNames(refusal(setup(UNITS)), ErrorCode.FILE_LOCK_FAIL, directory.toString());
            VALUES.forEach(rig::assertReadable);
        }
    }

    @Test
    void shouldIgnoreWhatACrashLeftHalfMade() throws IOException {
        makeStore();
        Files.write(directory.resolve(DATA + ".tmp"), new byte[10]);
        Files.write(directory.resolve(LOG + ".tmp"), new byte[10]);
        try (BackendRig rig = setup(UNITS).open()) {
            VALUES.forEach(rig::assertReadable);
        }
        assertEquals(List.of(LOG, DATA), names());
    }

    /** Where each record of the log of {@link #VALUES} starts, and the end of the last: by the layout, not by code. */
    private static List<Integer> recordStarts() {
        final List<Integer> starts = new ArrayList<>();
        int at = LOG_HEADER;
        starts.add(at);
        for (final Value value : VALUES) {
            at += 8 + 1 + 4 * 8 + 2 + "default".length() + 2 + value.key().key().length();
            starts.add(at);
        }
        return starts;
    }

    @Test
    void shouldFindEverythingBeforeALogThatIsCutOffAnywhere() throws IOException {
        makeStore();
        final byte[] log = content(LOG);
        final List<Integer> starts = recordStarts();
        assertEquals(starts.getLast(), log.length, "the log after a close has nothing but its values");
        for (int length = LOG_HEADER; length <= log.length; length++) {
            Files.write(directory.resolve(LOG), Arrays.copyOf(log, length));
            assertFoundBefore(length, starts);
        }
    }

    @Test
    void shouldFindEverythingBeforeADamagedByteOfTheLog() throws IOException {
        makeStore();
        final byte[] log = content(LOG);
        final List<Integer> starts = recordStarts();
        for (int at = starts.get(2); at < log.length; at++) {
            for (final int mask : new int[] {0x01, 0x80, 0xff}) {
                final byte[] damaged = log.clone();
                damaged[at] ^= (byte) mask;
                Files.write(directory.resolve(LOG), damaged);
                assertFoundBefore(at, starts);
            }
        }
    }

    @Test
    void shouldFindEverythingBeforeGarbageInTheLog() throws IOException {
        makeStore();
        final byte[] log = content(LOG);
        for (int seed = 0; seed < 20; seed++) {
            final byte[] longer = Arrays.copyOf(log, log.length + 500);
            final byte[] garbage = PatternBytes.of(seed, 500);
            System.arraycopy(garbage, 0, longer, log.length, 500);
            Files.write(directory.resolve(LOG), longer);
            assertFoundBefore(log.length, recordStarts());
        }
    }

    private void assertFoundBefore(final int intactBytes, final List<Integer> starts) throws IOException {
        final int whole = (int) starts.stream().skip(1).filter(end -> end <= intactBytes).count();
        try (BackendRig rig = setup(UNITS).open()) {
            assertEquals(VALUES.subList(0, whole).stream().map(Value::key).toList(),
                rig.backend().recovered().stream().map(StoredValue::key).toList(), "intact bytes " + intactBytes);
            VALUES.subList(0, whole).forEach(rig::assertReadable);
            assertEquals(VALUES.subList(0, whole).stream().mapToLong(Value::extent).sum(), rig.backend().usedBytes());
        }
        assertFalse(Files.exists(directory.resolve(LOG + ".tmp")));
    }

    /** A copy of the files while the store runs is what a killed process leaves. */
    @Test
    void shouldNotFindAnOlderVersionAfterTheNewerOneWasRemoved(@TempDir final Path copy) throws IOException {
        final ModelOwner owner = new ModelOwner();
        final Value first = Value.of("k", 1, UNIT);
        final Value second = Value.of("k", 2, UNIT);
        try (BackendRig rig = setup(UNITS).open()) {
            rig.storeAll(owner, List.of(first));
            rig.storeAll(owner, List.of(second));
            rig.remove(owner, second);
            for (final String name : List.of(DATA, LOG)) {
                Files.copy(directory.resolve(name), copy.resolve(name));
            }
        }
        try (BackendRig rig = setup(UNITS).in(copy).open()) {
            assertEquals(List.of(), rig.backend().recovered());
            assertEquals(0, rig.backend().usedBytes());
        }
    }

    /** What an owner gave up is gone for good, though it could not be asked for more; a copy is what a crash leaves. */
    @Test
    void shouldNotFindWhatWasEvictedBeforeTheOwnerCouldNotBeAsked(@TempDir final Path copy) throws IOException {
        final ModelOwner owner = new ModelOwner();
        final List<Value> values = Stream.of("a", "b", "c", "d").map(key -> Value.of(key, 1, UNIT)).toList();
        try (BackendRig rig = setup(values.size()).open()) {
            rig.storeAll(owner, values);
            // The first two are asked for together, and then another one in the place of the second.
            owner.allow(victim -> switch (victim.key().key()) {
                case "a" -> true;
                case "b" -> false;
                default -> throw new StoreException(ErrorCode.RPC_FAIL, "a test's owner that cannot be asked");
            });
            try {
                rig.store(owner, true, List.of(Value.of("large", 1, 2 * UNIT)));
            } catch (final StoreException e) {
                assertEquals(ErrorCode.RPC_FAIL, e.code());
            }
            assertFalse(rig.has(values.getFirst()));
            for (final String name : List.of(DATA, LOG)) {
                Files.copy(directory.resolve(name), copy.resolve(name));
            }
        }
        try (BackendRig rig = setup(values.size()).in(copy).open()) {
            assertEquals(Set.of("b", "c", "d"), rig.backend().recovered().stream().map(one -> one.key().key())
                .collect(Collectors.toSet()));
        }
    }
}
