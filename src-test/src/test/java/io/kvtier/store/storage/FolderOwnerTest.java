package io.kvtier.store.storage;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.bindings.posix.BlockFile;
import io.kvtier.bindings.posix.Errno;
import io.kvtier.bindings.posix.OpenMode;
import io.kvtier.kit.Faults;
import io.kvtier.kit.FaultyFiles;
import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.PowerLossFiles;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreException;
import io.kvtier.transport.file.DirectoryEntries;
import io.kvtier.transport.file.FileOpener;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Who has a folder, told without any lock, by openers whose time and steps the test makes. */
@ExtendWith(LeakCheck.class)
class FolderOwnerTest {
    private static final FolderMarker.Self HERE = new FolderMarker.Self("node", "machine-1", "kernel-1", "41");
    private static final FolderMarker.Self THERE = new FolderMarker.Self("node", "machine-2", "kernel-2", "41");
    private static final FolderMarker.Self OTHER_MOUNT = new FolderMarker.Self("node", "machine-1", "kernel-1", "42");
    /** In whole seconds, as the pages say them. */
    private static final long WATCH_AND_WAIT = 30_000_000_000L;
    private static final long LIMIT = 10_000_000_000L;

    @TempDir
    private Path folder;
    private final SteppedPace pace = new SteppedPace();

    /** Ends the opener where it is: it removes nothing. */
    private static final class Killed extends Error {
        private static final long serialVersionUID = 1;
    }

    /** Runs something before the n-th call that changes or opens something, from 0. */
    private static final class At implements FileOpener, DirectoryEntries {
        private final Runnable action;
        private long left;

        At(final long nth, final Runnable action) {
            this.left = nth;
            this.action = action;
        }

        private void step() {
            if (left-- == 0) {
                action.run();
            }
        }

        /** Whether it came to that; it does not any more. */
        boolean ended() {
            final boolean done = left < 0;
            left = -1;
            return done;
        }

        @Override
        public BlockFile open(final String path, final OpenMode mode) {
            step();
            final BlockFile file = FileOpener.POSIX.open(path, mode);
            if (mode == OpenMode.CREATE_NEW) {
                try {
                    // Between the name and the text.
                    step();
                } catch (final Killed e) {
                    file.close();
                    throw e;
                }
            }
            return file;
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
            step();
            SYSTEM.rename(from, to);
        }

        @Override
        public void deleteIfExists(final Path file) throws IOException {
            step();
            SYSTEM.deleteIfExists(file);
        }

        @Override
        public void sync(final Path directory) {
            step();
            SYSTEM.sync(directory);
        }
    }

    private FolderOwner take(final FolderMarker.Self self) {
        return take(self, FileOpener.POSIX);
    }

    private FolderOwner take(final FolderMarker.Self self, final FileOpener opener) {
        return FolderOwner.take(folder, self, opener, pace);
    }

    private static boolean mayWrite(final FolderOwner owner) {
        try {
            owner.check();
            return true;
        } catch (final StoreException e) {
            assertEquals(ErrorCode.FILE_LOCK_FAIL, e.code());
            return false;
        }
    }

    private List<String> names() throws IOException {
        try (Stream<Path> all = Files.list(folder)) {
            return all.map(path -> path.getFileName().toString()).sorted().toList();
        }
    }

    private static void assertSays(final StoreException told, final String... parts) {
        for (final String part : parts) {
            assertTrue(told.getMessage().contains(part), () -> told.getMessage() + " does not say " + part);
        }
    }

    private StoreException refused(final FolderMarker.Self self) {
        final StoreException refusal = assertThrows(StoreException.class, () -> take(self));
        assertEquals(ErrorCode.FILE_LOCK_FAIL, refusal.code(), refusal::getMessage);
        return refusal;
    }

    @Test
    void shouldGiveTheFolderBackSoThatAnotherHostHasItAtOnce() throws IOException {
        final FolderOwner first = take(HERE);
        assertEquals(List.of("kvtier.owner"), names());
        first.check();
        first.close();
        first.close();
        assertEquals(List.of(), names());
        try (FolderOwner second = take(THERE)) {
            second.check();
        }
        assertEquals(0, pace.pauses());
    }

    @Test
    void shouldWriteWhatIsRecorded() throws IOException {
        final FolderMarker marker = new FolderMarker(new FolderMarker.Self("node-1", "machine\n1", "k", "52"),
            UUID.fromString("00112233-4455-6677-8899-aabbccddeeff"), "2026-01-31T12:00:00Z", 7);
        final String text = """
            kvtier folder owner 1
            host node-1
            machine machine\\u000a1
            kernel k
            mount 52
            incarnation 00112233-4455-6677-8899-aabbccddeeff
            since 2026-01-31T12:00:00Z
            renewed 0000000000000000007
            """;
        assertEquals(text, marker.text());
        assertEquals(marker, FolderMarker.parse(folder, text));
        assertEquals(text.length(), marker.renewed().text().length());
    }

    @ParameterizedTest
    @ValueSource(strings = {"kvtier folder owner 2\nhost node\n", "x",
        "kvtier folder owner 1\nhost a\nmachine b\nkernel c\nmount d\nincarnation e\nsince f\nrenewed 1\n"})
    void shouldRefuseAndLeaveAMarkerThatItDoesNotKnow(final String text) throws IOException {
        Files.writeString(folder.resolve("kvtier.owner"), text);
        final StoreException refusal = assertThrows(StoreException.class, () -> take(HERE));
        assertEquals(ErrorCode.FILE_OPEN_FAIL, refusal.code());
        assertSays(refusal, folder.resolve("kvtier.owner").toString(), "remove");
        assertEquals(text, Files.readString(folder.resolve("kvtier.owner")));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "kvtier fol", "kvtier folder owner 1\nhost node\nmach", "\0\0\0\0"})
    void shouldWatchOneThatWasNotWrittenToTheEnd(final String text) throws IOException {
        Files.writeString(folder.resolve("kvtier.owner"), text);
        try (FolderOwner owner = take(HERE)) {
            owner.check();
            assertTrue(pace.nanoTime() >= WATCH_AND_WAIT, () -> "after " + pace.nanoTime());
        }
    }

    @Test
    void shouldRefuseAHostOfTheSameNameWhileTheOwnerLives() {
        try (FolderOwner owner = take(HERE)) {
            pace.meanwhile(owner::renew);
            assertSays(refused(THERE), "'machine-1'", "'machine-2'", "'node'", "hostId");
            assertSays(refused(OTHER_MOUNT), "'machine-1'");
            owner.check();
        }
    }

    @Test
    void shouldRefuseAHostOfAnotherNameAndSayTheRemedy() {
        take(HERE);
        assertSays(refused(new FolderMarker.Self("other", "machine-2", "kernel-1", "41")), "'node' on machine "
            + "'machine-1'", "'other' on machine 'machine-2'", "--host-id", folder.resolve("kvtier.owner").toString());
        assertEquals(0, pace.pauses());
    }

    @Test
    void shouldTakeOverAtOnceWhatTheLockTellsToBeOfADeadOne() throws IOException {
        take(HERE);
        try (FolderOwner next = take(HERE)) {
            next.check();
            assertEquals(0, pace.nanoTime());
            assertEquals(List.of("kvtier.owner"), names());
        }
    }

    @Test
    void shouldTakeOverAfterAWatchAndStopTheOneThatWasTakenForDead() throws IOException {
        final FolderOwner stopped = take(HERE);
        try (FolderOwner next = take(THERE)) {
            assertTrue(pace.nanoTime() >= WATCH_AND_WAIT, () -> "after " + pace.nanoTime());
            final StoreException told = assertThrows(StoreException.class, stopped::check);
            assertSays(told, "'machine-1'", "'machine-2'", "was taken", "anew");
            assertThrows(StoreException.class, stopped::checkOwned);
            stopped.close();
            assertEquals(List.of("kvtier.owner"), names());
            next.renew();
            next.check();
        }
        assertEquals(List.of(), names());
    }

    @Test
    void shouldStopWhenSomebodyRemovesTheMarker() throws IOException {
        final FolderOwner owner = take(HERE);
        Files.delete(folder.resolve("kvtier.owner"));
        owner.renew();
        assertSays(assertThrows(StoreException.class, owner::check), "removed");
        owner.close();
        assertEquals(List.of(), names());
    }

    @Test
    void shouldNotWriteWhenItIsNotFoundOutForTooLongAndGoOnAfterwards() {
        final Faults faults = new Faults();
        try (FolderOwner owner = take(HERE, new FaultyFiles(faults))) {
            pace.advance(LIMIT);
            owner.check();
            pace.advance(LIMIT + 1);
            faults.failNth(Faults.Call.OPEN, 1, Errno.EIO);
            assertSays(assertThrows(StoreException.class, owner::check), "10 s", "mount");
            owner.checkOwned();
            owner.check();
        }
    }

    @Test
    void shouldRenewByAThreadOfItsOwnThatEndsWithIt() {
        try (FolderOwner owner = take(HERE).keep()) {
            final String first = FolderOwner.read(folder, FileOpener.POSIX).text();
            while (FolderOwner.read(folder, FileOpener.POSIX).text().equals(first)) {
                Thread.onSpinWait();
            }
            owner.check();
        }
    }

    /** What is there before: nothing, or what a dead one has left. */
    private enum Before {
        NOTHING, OF_A_DEAD_ONE, UNWRITTEN
    }

    private void prepare(final Before before) throws IOException {
        Files.deleteIfExists(folder.resolve("kvtier.owner"));
        if (before == Before.OF_A_DEAD_ONE) {
            take(HERE);
        } else if (before == Before.UNWRITTEN) {
            Files.createFile(folder.resolve("kvtier.owner"));
        }
    }

    /** One opens from beginning to end within any step of the other: both may open, but never may both write. */
    @ParameterizedTest
    @EnumSource(Before.class)
    void shouldNotLetTwoWriteWhicheverStepsComeBetween(final Before before) throws IOException {
        int runs = 0;
        for (final FolderMarker.Self outer : List.of(HERE, THERE)) {
            final FolderMarker.Self inner = outer == HERE ? THERE : HERE;
            boolean behind = false;
            for (int nth = 0; !behind; nth++, runs++) {
                prepare(before);
                final List<FolderOwner> owners = new ArrayList<>();
                final At opener = new At(nth, () -> owners.add(take(inner)));
                try {
                    owners.add(take(outer, opener));
                } catch (final StoreException e) {
                    assertEquals(1, owners.size(), e::getMessage);
                }
                behind = !opener.ended();
                assertOneMayWrite(owners, before + " " + nth);
            }
        }
        assertTrue(runs > 10, "runs " + runs);
    }

    @Test
    void shouldNotLetTwoWriteWhenOneOpensWhileTheOtherWaits() throws IOException {
        int runs = 0;
        for (int nth = 0; runs == nth; nth++) {
            prepare(Before.OF_A_DEAD_ONE);
            final List<FolderOwner> owners = new ArrayList<>();
            pace.meanwhile(nth, () -> owners.add(take(OTHER_MOUNT)));
            try {
                owners.add(take(THERE));
            } catch (final StoreException e) {
                runs++;
            }
            pace.meanwhile(() -> { });
            assertOneMayWrite(owners, "pause " + nth);
        }
        assertTrue(runs > 10, "runs " + runs);
    }

    private static void assertOneMayWrite(final List<FolderOwner> owners, final String when) {
        assertEquals(1, owners.stream().filter(FolderOwnerTest::mayWrite).count(), when);
        owners.forEach(FolderOwner::close);
    }

    /** The next one has the folder, sooner or later, and nothing of the first one is left. */
    @ParameterizedTest
    @EnumSource(Before.class)
    void shouldBeTakenOverFromOneThatDiesAtAnyStep(final Before before) throws IOException {
        for (final FolderMarker.Self next : List.of(HERE, THERE)) {
            boolean behind = false;
            for (int nth = 0; !behind; nth++) {
                prepare(before);
                final At opener = new At(nth, () -> {
                    throw new Killed();
                });
                try {
                    take(HERE, opener);
                } catch (final Killed e) {
                    assertNotNull(e);
                }
                behind = !opener.ended();
                try (FolderOwner owner = take(next)) {
                    owner.check();
                    assertEquals(List.of("kvtier.owner"), names());
                }
            }
        }
    }

    @ParameterizedTest
    @EnumSource(value = Faults.Call.class, names = {"OPEN", "READ", "WRITE", "SYNC"})
    void shouldTellAFailureOfAnyCallAndLeaveNothing(final Faults.Call call) throws IOException {
        for (final Before before : Before.values()) {
            boolean failed = true;
            for (int nth = 1; failed; nth++) {
                prepare(before);
                final Faults faults = new Faults();
                faults.failNth(call, nth, Errno.EIO);
                failed = false;
                try {
                    take(HERE, new FaultyFiles(faults)).close();
                } catch (final StoreException e) {
                    assertEquals(ErrorCode.FILE_OPEN_FAIL, e.code());
                    assertSays(e, folder.resolve("kvtier.owner").toString());
                    failed = true;
                }
                assertFalse(names().stream().anyMatch(name -> name.endsWith(".tmp")), () -> "left by " + call);
                try (FolderOwner next = take(HERE)) {
                    next.check();
                }
            }
        }
    }

    /** Of the server, while the client goes on: what it has must not be another's then. */
    @ParameterizedTest
    @EnumSource(value = Before.class, mode = EnumSource.Mode.EXCLUDE, names = "UNWRITTEN")
    void shouldBeThereAfterAPowerLoss(final Before before) throws IOException {
        for (int seed = 0; seed < 20; seed++) {
            prepare(before);
            final UUID incarnation;
            try (PowerLossFiles files = new PowerLossFiles(seed)) {
                take(HERE, files);
                incarnation = FolderOwner.read(folder, FileOpener.POSIX).incarnation();
                files.lose();
            }
            final FolderMarker left = FolderOwner.read(folder, FileOpener.POSIX);
            assertNotNull(left, "seed " + seed);
            assertEquals(incarnation, left.incarnation());
        }
    }

    @ParameterizedTest
    @EnumSource(Before.class)
    void shouldBeTakenAfterAPowerLossAtAnyChange(final Before before) throws IOException {
        for (int cut = 1; cut < 12; cut++) {
            prepare(before);
            try (PowerLossFiles files = new PowerLossFiles(cut).cutAt(cut)) {
                try {
                    take(HERE, files);
                } catch (final StoreException e) {
                    assertTrue(files.isCut(), e::getMessage);
                }
                files.lose();
            }
            try (FolderOwner next = take(THERE)) {
                assertDoesNotThrow(next::check);
                assertEquals(List.of("kvtier.owner"), names());
            }
        }
    }
}
