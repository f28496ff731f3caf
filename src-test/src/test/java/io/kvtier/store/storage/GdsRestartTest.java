package io.kvtier.store.storage;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.MemoryDirectory;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.UUID;
import java.util.logging.Level;
import java.util.logging.Logger;
import java.util.stream.Stream;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What the next start of a file finds: its values, or nothing and another generation; never a half of both. */
@ExtendWith(LeakCheck.class)
class GdsRestartTest {
    private static final int UNIT = Value.UNIT;
    private static final int UNITS = 16;
    private static final int INDEX_HEADER = 64;
    private static final List<Value> VALUES = List.of(Value.of("first", 1, 100), Value.of("second", 2, UNIT),
        Value.of("third", 3, UNIT + 1), Value.of("first", 4, 3 * UNIT));
    /** They warn of each file that starts anew, of which there are hundreds here. */
    private static final List<Logger> LOGGERS = Stream.of(GdsBackingFile.class, GdsStorageManager.class,
        IndexLog.class, ExtentMap.class).map(of -> Logger.getLogger(of.getName())).toList();

    @TempDir(factory = MemoryDirectory.class)
    private Path directory;

    /** Which file it is, and which time. */
    private record Identity(UUID id, long generation) {
        static Identity of(final GdsRig rig) {
            return new Identity(rig.storage().storageId(), rig.storage().generation());
        }
    }

    @BeforeAll
    static void mute() {
        LOGGERS.forEach(logger -> logger.setLevel(Level.OFF));
    }

    @AfterAll
    static void unmute() {
        LOGGERS.forEach(logger -> logger.setLevel(null));
    }

    private Path file() {
        return directory.resolve("gds");
    }

    private Path index() {
        return directory.resolve("gds.index");
    }

    private GdsRig.Setup setup() {
        return GdsRig.Setup.of(file(), UNITS, true);
    }

    private List<StoredExtent> putAll(final GdsRig rig) {
        final List<StoredExtent> stored = new ArrayList<>();
        for (final Value value : VALUES) {
            stored.add(rig.put(value, 10 + value.version()));
        }
        return stored;
    }

    private Identity make() {
        try (GdsRig rig = setup().open()) {
            putAll(rig);
            return Identity.of(rig);
        }
    }

    /** Opens the file, which must have nothing of before and be usable, durably. */
    private Identity assertAnew(final GdsRig.Setup setup, final Identity before) {
        final Identity now;
        try (GdsRig rig = setup.open()) {
            now = Identity.of(rig);
            assertNotEquals(before, now);
            assertNotEquals(before.generation(), now.generation());
            assertTrue(now.generation() > 0);
            assertEquals(List.of(), rig.storage().recovered());
            rig.assertNothingLeft();
            rig.put(Value.of("new", 9, UNIT), 99);
        }
        try (GdsRig rig = setup.open()) {
            if (setup.warm()) {
                assertEquals(now, Identity.of(rig), "the next start goes on");
                assertEquals(List.of("new"), rig.storage().recovered().stream().map(one -> one.key().key()).toList());
            }
        }
        return now;
    }

    /** What is found when the process dies now. */
    private void copyTo(final Path copy) throws IOException {
        for (final String name : List.of("gds", "gds.index")) {
            Files.copy(directory.resolve(name), copy.resolve(name));
        }
    }

    private void change(final Path path, final long at, final int mask) throws IOException {
        final byte was = Files.readAllBytes(path)[(int) at];
        overwrite(path, at, (byte) (was ^ mask));
    }

    private static void overwrite(final Path path, final long at, final byte... bytes) throws IOException {
        try (FileChannel channel = FileChannel.open(path, StandardOpenOption.WRITE)) {
            channel.write(ByteBuffer.wrap(bytes), at);
        }
    }

    private static Object fileKey(final Path path) throws IOException {
        return Files.readAttributes(path, BasicFileAttributes.class).fileKey();
    }

    @ParameterizedTest
    @EnumSource(GdsRig.Mover.class)
    void shouldFindWhatWasCommittedUnderTheSameIdentity(final GdsRig.Mover mover) {
        final Identity identity;
        final List<StoredExtent> stored;
        try (GdsRig rig = setup().by(mover).open()) {
            identity = Identity.of(rig);
            stored = putAll(rig);
            final StoredExtent dropped = rig.put(Value.of("dropped", 1, UNIT), 50);
            rig.storage().flush();
            rig.storage().drop(dropped.extent().offset(), 50);
            // What nobody has committed is not there.
            final GdsReservation open = rig.reserve(Value.of("open", 1, UNIT));
            GdsRig.write(open, Value.of("open", 1, UNIT));
            open.offered();
            open.close();
        }
        try (GdsRig rig = setup().by(mover).open()) {
            assertEquals(identity, Identity.of(rig));
            assertEquals(stored, rig.storage().recovered());
            assertEquals(List.of(), rig.storage().committed());
            assertEquals(List.of(), rig.storage().unsettled(10));
            assertEquals(VALUES.stream().mapToLong(Value::extent).sum(), rig.storage().usedBytes());
            assertEquals(4, rig.storage().stats().recovered());
            stored.forEach(one -> assertTrue(rig.has(one), "for who heard of it from a master that adopts it now"));

            assertTrue(rig.storage().adopt(stored.get(0), stored.get(0).replicaId()));
            assertTrue(rig.storage().adopt(stored.get(1), 77));
            rig.storage().refuse(stored.get(2));
            rig.assertReadable(VALUES.get(0), stored.get(0));
            rig.assertReadable(VALUES.get(1), stored.get(1));
            assertEquals(List.of(stored.get(3)), rig.storage().recovered(), "what is not answered is offered again");
            assertEquals(List.of(stored.get(0), stored.get(1).under(77)), rig.storage().committed());
        }
        try (GdsRig rig = setup().by(mover).open()) {
            assertEquals(List.of(stored.get(0), stored.get(1).under(77), stored.get(3)), rig.storage().recovered());
            rig.storage().drop(stored.get(1).extent().offset(), 12);
            assertEquals(3, rig.storage().recovered().size(), "that was its replica before");
            rig.storage().drop(stored.get(1).extent().offset(), 77);
            // The answer is slow, and the master has dropped what it is about to name.
            rig.storage().drop(stored.get(3).extent().offset(), 88);
            assertFalse(rig.storage().adopt(stored.get(3), 88));
            assertEquals(List.of(stored.get(0)), rig.storage().recovered());
        }
        try (GdsRig rig = setup().by(mover).open()) {
            assertEquals(List.of(stored.get(0)), rig.storage().recovered());
            rig.storage().refuse(stored.get(0));
            rig.assertNothingLeft();
        }
    }

    /** What another replica was given is found as that one, though the index was not written anew since. */
    @Test
    void shouldFindTheReplicaThatAValueWasGivenLast(@TempDir final Path copy) throws IOException {
        try (GdsRig rig = setup().open()) {
            final List<StoredExtent> stored = putAll(rig);
            rig.storage().flush();
            rig.storage().adopt(stored.get(1), 77);
            rig.storage().flush();
            copyTo(copy);
        }
        try (GdsRig rig = setup().at(copy.resolve("gds")).open()) {
            assertEquals(List.of(11L, 13L, 14L, 77L),
                rig.storage().recovered().stream().map(StoredExtent::replicaId).toList());
        }
    }

    @Test
    void shouldBeginEmptyAtEveryStartWithoutAWarmRestart() {
        final GdsRig.Setup cold = setup().warm(false);
        Identity before = null;
        for (int i = 0; i < 3; i++) {
            try (GdsRig rig = cold.open()) {
                assertEquals(List.of(), rig.storage().recovered());
                assertEquals(0, rig.storage().usedBytes());
                assertNotEquals(before, Identity.of(rig));
                if (before != null) {
                    assertEquals(before.id(), rig.storage().storageId(), "it is the same file");
                    assertNotEquals(before.generation(), rig.storage().generation());
                }
                before = Identity.of(rig);
                final List<StoredExtent> stored = putAll(rig);
                rig.storage().flush();
                rig.assertReadable(VALUES.getFirst(), stored.getFirst());
            }
            assertFalse(Files.exists(index()));
        }
    }

    /** A start without the index writes over what it names. */
    @Test
    void shouldNotFindWhatAStartWithoutAWarmRestartHasGivenUp() throws IOException {
        final Identity warm = make();
        final byte[] oldIndex = Files.readAllBytes(index());
        final Identity cold;
        try (GdsRig rig = setup().warm(false).open()) {
            cold = Identity.of(rig);
            assertNotEquals(warm, cold);
            rig.put(Value.of("over", 1, UNITS * UNIT), 1);
        }
        // As if its deletion had not lasted.
        Files.write(index(), oldIndex);
        assertAnew(setup(), cold);
    }

    @ParameterizedTest
    @CsvSource({"8, version", "12, unit", "17, capacity", "30, id", "41, generation", "48, checksum", "9, version"})
    void shouldBeginAnewWhenTheHeaderIsDamagedOrOfAnotherRelease(final int at, final String what) throws IOException {
        final Identity before = make();
        final Object key = fileKey(file());
        change(file(), at, 0x40);
        final Identity now = assertAnew(setup(), before);
        assertNotEquals(before.id(), now.id(), () -> "nobody knows whether the id was right: " + what);
        assertEquals(key, fileKey(file()), "it is written over in its place");
        assertEquals((UNITS + 1L) * UNIT, Files.size(file()));
    }

    @Test
    void shouldBeginAnewWhenTheFileWasCut() throws IOException {
        for (final long size : new long[] {8, 100, UNIT, 2 * UNIT, (UNITS + 1L) * UNIT - 1}) {
            Files.deleteIfExists(file());
            final Identity before = make();
            try (FileChannel channel = FileChannel.open(file(), StandardOpenOption.WRITE)) {
                channel.truncate(size);
            }
            final Identity now = assertAnew(setup(), before);
            assertEquals(size >= UNIT, before.id().equals(now.id()));
            assertEquals((UNITS + 1L) * UNIT, Files.size(file()));
        }
    }

    @Test
    void shouldBeginAnewWithAnotherCapacity() throws IOException {
        final Identity first = make();
        final Object key = fileKey(file());
        final Identity larger = assertAnew(setup().units(UNITS + 4), first);
        assertEquals(first.id(), larger.id());
        assertEquals(key, fileKey(file()), "it has grown");
        assertEquals((UNITS + 5L) * UNIT, Files.size(file()));

        final Identity smaller = assertAnew(setup().units(4), larger);
        assertEquals(first.id(), smaller.id());
        assertNotEquals(key, fileKey(file()), "a file is never cut: another one has its place");
        assertEquals(5L * UNIT, Files.size(file()));
        assertFalse(Files.exists(directory.resolve("gds.tmp")));
    }

    @ParameterizedTest
    @ValueSource(strings = {"deleted", "empty", "cut header", "magic", "version", "id", "generation", "checksum",
        "record", "foreign"})
    void shouldBeginAnewWhenTheIndexIsNotOfThisFile(final String damage) throws IOException {
        final Identity before = make();
        switch (damage) {
            case "deleted" -> Files.delete(index());
            case "empty" -> Files.write(index(), new byte[0]);
            case "cut header" -> Files.write(index(), Arrays.copyOf(Files.readAllBytes(index()), INDEX_HEADER - 1));
            case "magic" -> change(index(), 0, 1);
            case "version" -> change(index(), 8, 2);
            case "id" -> change(index(), 20, 1);
            case "generation" -> change(index(), 33, 1);
            case "checksum" -> change(index(), 40, 1);
            case "record" -> changeFirstRecord(0, (byte) 3);
            default -> Files.write(index(), "notes of an operator".repeat(10).getBytes(StandardCharsets.US_ASCII));
        }
        final Identity now = assertAnew(setup(), before);
        assertEquals(before.id(), now.id());
    }

    /** The record stays whole, and means something else. */
    private void changeFirstRecord(final int at, final byte... bytes) throws IOException {
        final ByteBuffer log = ByteBuffer.wrap(Files.readAllBytes(index())).order(ByteOrder.LITTLE_ENDIAN);
        log.put(INDEX_HEADER + 8 + at, bytes);
        final CRC32C crc = new CRC32C();
        crc.update(log.slice(INDEX_HEADER + 8, log.getInt(INDEX_HEADER)));
        overwrite(index(), 0, log.putInt(INDEX_HEADER + 4, (int) crc.getValue()).array());
    }

    @ParameterizedTest
    @CsvSource({"18, ffffffffffffff7f", "18, 0100010000000000", "10, 00f0ffffffffff7f", "10, 0000010000000000"})
    void shouldLeaveOutAValueThatCannotLieInTheFile(final int at, final String hex) throws IOException {
        final Identity before = make();
        changeFirstRecord(at, HexFormat.of().parseHex(hex));
        for (int start = 0; start < 2; start++) {
            try (GdsRig rig = setup().open()) {
                assertEquals(before, Identity.of(rig));
                assertEquals(VALUES.stream().skip(1).map(Value::key).toList(),
                    rig.storage().recovered().stream().map(StoredExtent::key).toList());
                assertEquals(VALUES.stream().skip(1).mapToLong(Value::extent).sum(), rig.storage().usedBytes());
            }
        }
    }

    /** What lies under a younger value must not come back when that one goes. */
    @Test
    void shouldForgetForGoodWhatLiesUnderAYoungerValue(@TempDir final Path copy) throws IOException {
        final Identity identity = make();
        // The size of the first value, so that it reaches over the second one.
        changeFirstRecord(18, HexFormat.of().parseHex("0020000000000000"));
        final StoredExtent second;
        try (GdsRig rig = setup().open()) {
            assertEquals(identity, Identity.of(rig));
            assertEquals(List.of(2L, 3L, 4L), rig.storage().recovered().stream().map(StoredExtent::version).toList());
            second = rig.storage().recovered().getFirst();
            rig.storage().drop(second.extent().offset(), second.replicaId());
            rig.storage().flush();
            copyTo(copy);
        }
        try (GdsRig rig = setup().at(copy.resolve("gds")).open()) {
            assertEquals(List.of(3L, 4L), rig.storage().recovered().stream().map(StoredExtent::version).toList());
        }
    }

    /** A crash may leave any part of what was written last. */
    @Test
    void shouldFindEverythingBeforeAnIndexThatIsCutOffAnywhere(
        @TempDir(factory = MemoryDirectory.class) final Path copy) throws IOException {
        final List<Long> replicas = new ArrayList<>();
        try (GdsRig rig = setup().open()) {
            for (final Value value : VALUES) {
                rig.put(value, 10 + value.version());
                rig.storage().flush();
                replicas.add(10 + value.version());
            }
            copyTo(copy);
        }
        final byte[] whole = Files.readAllBytes(copy.resolve("gds.index"));
        final ByteBuffer log = ByteBuffer.wrap(whole).order(ByteOrder.LITTLE_ENDIAN);
        final List<Integer> ends = new ArrayList<>();
        int end = INDEX_HEADER;
        for (int i = 0; i < VALUES.size(); i++) {
            end += 8 + log.getInt(end);
            ends.add(end);
        }
        for (int cut = INDEX_HEADER; cut <= end; cut += 3) {
            final int at = cut;
            Files.write(copy.resolve("gds.index"), Arrays.copyOf(whole, cut));
            try (GdsRig rig = setup().at(copy.resolve("gds")).open()) {
                assertEquals(replicas.subList(0, (int) ends.stream().filter(one -> one <= at).count()),
                    rig.storage().recovered().stream().map(StoredExtent::replicaId).toList(), () -> "cut at " + at);
            }
        }
    }

    /** Most of an index that is appended to for long is dead. */
    @Test
    void shouldWriteAnIndexAnewThatHasGrown() throws IOException {
        final String name = "x".repeat(4000);
        final int rounds = 400;
        try (GdsRig rig = setup().open()) {
            final StoredExtent kept = rig.put(VALUES.getFirst(), 1);
            for (int i = 0; i < rounds; i++) {
                final StoredExtent stored = rig.put(Value.of(name, i, UNIT), 100 + i);
                rig.storage().flush();
                rig.storage().drop(stored.extent().offset(), 100 + i);
                rig.storage().flush();
            }
            assertTrue(2L * rounds * name.length() > 3 << 20, "so much was appended");
            assertTrue(Files.size(index()) < 3 << 20, () -> "the index is as large as all that was appended");
            assertEquals(List.of(kept), rig.storage().committed());
        }
        try (GdsRig rig = setup().open()) {
            assertEquals(1, rig.storage().recovered().size());
        }
    }

    private static void assertRefused(final GdsRig.Setup setup, final ErrorCode code, final String part)
        throws IOException {
        final byte[] before = Files.isRegularFile(setup.file()) ? Files.readAllBytes(setup.file()) : new byte[0];
        final StoreException refusal = assertThrows(StoreException.class, setup::open);
        assertEquals(code, refusal.code());
        assertTrue(refusal.getMessage().contains(setup.file().toString()), refusal.getMessage());
        assertTrue(refusal.getMessage().contains(part), refusal.getMessage());
        if (Files.isRegularFile(setup.file())) {
            assertArrayEquals(before, Files.readAllBytes(setup.file()), "a refused file is left as it is");
        }
    }

    @Test
    void shouldRefuseWhatIsSomebodyElses() throws IOException {
        for (final byte[] content : List.of("some other program's file".getBytes(StandardCharsets.US_ASCII),
            new byte[1], new byte[3 * UNIT], new byte[40 * UNIT],
            "KVTIERDF and so on".getBytes(StandardCharsets.US_ASCII))) {
            Files.write(file(), content);
            assertRefused(setup(), ErrorCode.FILE_OPEN_FAIL, "is not one that this store has made");
            assertRefused(setup().warm(false), ErrorCode.FILE_OPEN_FAIL, "name another file");
        }
        Files.delete(file());
        Files.createDirectory(file());
        assertRefused(setup(), ErrorCode.FILE_OPEN_FAIL, "not a regular file");
    }

    @Test
    void shouldTakeAnEmptyFileAndMakeTheDirectoriesThatLeadToIt() throws IOException {
        Files.write(file(), new byte[0]);
        make();
        try (GdsRig rig = setup().open()) {
            assertEquals(4, rig.storage().recovered().size());
        }
        final Path deep = directory.resolve("a").resolve("b").resolve("gds");
        try (GdsRig rig = setup().at(deep).open()) {
            assertTrue(Files.isRegularFile(deep));
            rig.assertNothingLeft();
        }
    }

    @Test
    void shouldFollowALink() throws IOException {
        make();
        final Path elsewhere = Files.createDirectory(directory.resolve("elsewhere"));
        final Path link = Files.createSymbolicLink(elsewhere.resolve("link"), file());
        try (GdsRig rig = setup().at(link).open()) {
            assertEquals(4, rig.storage().recovered().size());
            assertRefused(setup(), ErrorCode.FILE_LOCK_FAIL, "in use by another store");
        }
        try (GdsRig rig = setup().at(link).units(2).open()) {
            assertEquals(0, rig.storage().usedBytes());
        }
        assertTrue(Files.isSymbolicLink(link));
        assertEquals(3L * UNIT, Files.size(file()));
    }

    @Test
    void shouldRefuseASecondStoreAndLeaveTheFirstAlone() throws IOException {
        try (GdsRig rig = setup().open()) {
            final List<StoredExtent> stored = putAll(rig);
            assertRefused(setup(), ErrorCode.FILE_LOCK_FAIL, "gds.lock");
            assertRefused(setup().warm(false), ErrorCode.FILE_LOCK_FAIL, "another file");
            rig.assertReadable(VALUES.getFirst(), stored.getFirst());
        }
        try (GdsRig rig = setup().open()) {
            assertEquals(VALUES.size(), rig.storage().recovered().size());
        }
    }

    @Test
    void shouldDeleteWhatACrashLeftHalfMadeAndLetNobodyElseReadItsFiles() throws IOException {
        make();
        Files.write(directory.resolve("gds.tmp"), new byte[100]);
        Files.write(directory.resolve("gds.index.tmp"), new byte[100]);
        try (GdsRig rig = setup().open()) {
            assertEquals(VALUES.size(), rig.storage().recovered().size());
        }
        try (Stream<Path> all = Files.list(directory)) {
            assertEquals(List.of("gds", "gds.index", "gds.lock"),
                all.map(path -> path.getFileName().toString()).sorted().toList());
        }
        for (final Path path : List.of(file(), index())) {
            assertEquals("rw-------", PosixFilePermissions.toString(Files.getPosixFilePermissions(path)));
        }
    }
}
