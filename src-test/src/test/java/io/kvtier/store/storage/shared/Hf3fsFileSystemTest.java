package io.kvtier.store.storage.shared;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.bindings.Availability;
import io.kvtier.bindings.hf3fs.Usrbio;
import io.kvtier.bindings.hf3fs.UsrbioOptions;
import io.kvtier.bindings.posix.Errno;
import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.NotExercised;
import io.kvtier.kit.PatternBytes;
import io.kvtier.kit.SimulatedUsrbio;
import io.kvtier.kit.Threads;
import io.kvtier.kit.UsrbioFaults;
import io.kvtier.kit.UsrbioFaults.Call;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreException;
import io.kvtier.store.config.SharedDiskVariables;
import io.kvtier.transport.TransferConfig;
import io.kvtier.transport.TransferEngine;
import io.kvtier.transport.file.FileOpener;
import io.kvtier.transport.file.PosixTransport;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The contract over a simulated USRBIO, and what the library and the client behind it do that is not well. */
class Hf3fsFileSystemTest {
    private static final int BLOCK = 4096;
    private static final int FILE = 1 << 20;
    /** Small blocks, so that the sizes of the contract are many of them. */
    private static final UsrbioOptions SMALL = new UsrbioOptions(2, 3, 16 << 10, 30_000, false, -1);

    private static FileSystemAdapter mounted() {
        return new PosixFileSystem(FileOpener.POSIX,
            TransferEngine.open(TransferConfig.DEFAULT, List.of(new PosixTransport(FileOpener.POSIX, 1, true))));
    }

    private static Path folderOn(final SimulatedUsrbio simulated) {
        try {
            return Files.createDirectories(simulated.mount().resolve("shared"));
        } catch (final IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static FileSystemAdapter over(final SimulatedUsrbio simulated, final UsrbioOptions options) {
        return Hf3fsFileSystem.over(mounted(), FileOpener.POSIX, simulated.usrbio(), options);
    }

    /** Runs behind everything else, when the contract has closed what it opened. */
    private static void end(final SimulatedUsrbio simulated) {
        try {
            assertEquals(List.of(), simulated.problems());
            assertEquals(List.of(), simulated.links());
            assertEquals(0, simulated.live());
        } finally {
            simulated.close();
        }
    }

    private abstract static class Simulated extends FileSystemAdapterContract {
        @RegisterExtension
        final AfterEachCallback last = context -> end(simulated());
        private SimulatedUsrbio library;

        final SimulatedUsrbio simulated() {
            return library;
        }

        @Override
        Path folder(final Path anywhere) {
            library = new SimulatedUsrbio(anywhere);
            return folderOn(library);
        }
    }

    @Nested
    class Plain extends Simulated {
        @Override
        FileSystemAdapter open() {
            return over(simulated(), UsrbioOptions.DEFAULT);
        }
    }

    /** Entries end in any order and a few at a time, writes are short, and there are more threads than lanes. */
    @Nested
    class Disorderly extends Simulated {
        @Override
        FileSystemAdapter open() {
            simulated().faults().random(1);
            return over(simulated(), SMALL);
        }
    }

    @Nested
    @ExtendWith(LeakCheck.class)
    class Faulty {
        @TempDir
        private Path directory;
        private SimulatedUsrbio simulated;
        private UsrbioFaults faults;
        private Path folder;

        @BeforeEach
        void begin() {
            simulated = new SimulatedUsrbio(directory);
            faults = simulated.faults();
            folder = folderOn(simulated);
        }

        @AfterEach
        void endOfIt() {
            end(simulated);
        }

        private String path() {
            return folder.resolve("a").toString();
        }

        @ParameterizedTest
        @EnumSource(value = Call.class, names = {"READ_ENTRY", "WRITE_ENTRY", "PREP", "SUBMIT"})
        void shouldTellWhatFailedAndGoOnAfterwards(final Call call) {
            try (FileSystemAdapter files = over(simulated, SMALL); Arena arena = Arena.ofShared()) {
                files.grow(path(), FILE);
                try (SharedFile file = files.open(path())) {
                    final List<MemorySegment> memory = List.of(arena.allocate(BLOCK, BLOCK));
                    faults.nth(call, 1, -Errno.EIO);
                    final StoreException failure = assertThrows(StoreException.class, () -> {
                        file.write(0, memory, 0).await();
                        file.read(0, memory, 0, true).await();
                    });
                    assertEquals(call == Call.READ_ENTRY ? ErrorCode.FILE_READ_FAIL : ErrorCode.FILE_WRITE_FAIL,
                        failure.code());
                    assertTrue(failure.getMessage().contains("EIO") && failure.getMessage().contains(path()),
                        failure::getMessage);
                    // Not sent at all, an entry may be carried out later; what comes finds its lane again.
                    file.write(0, memory, 0).await();
                    file.read(0, memory, 0, true).await();
                }
            }
        }

        @Test
        void shouldNotEndAWriteThatMayStillChangeTheFile() throws Exception {
            final byte[] bytes = PatternBytes.of(1, 3 * BLOCK);
            try (FileSystemAdapter files = over(simulated, SMALL); Arena arena = Arena.ofShared()) {
                files.grow(path(), FILE);
                try (SharedFile file = files.open(path())) {
                    final MemorySegment source = arena.allocate(bytes.length);
                    source.copyFrom(MemorySegment.ofArray(bytes));
                    faults.loseNth(Call.WRITE_ENTRY, 1);
                    // More than a minute of the simulation's time, of which half would end a read.
                    final CountDownLatch silence = new CountDownLatch(700);
                    simulated.onWait(silence::countDown);
                    final RangeTransfer write = file.write(0, List.of(source), 0);
                    final CompletableFuture<Void> awaited = Threads.start(write::await);
                    silence.await();
                    assertFalse(awaited.isDone());

                    simulated.hear();

                    awaited.get();
                }
            }
            assertArrayEquals(bytes, Arrays.copyOf(Files.readAllBytes(Path.of(path())), bytes.length));
        }

        @Test
        void shouldGiveUpAReadOfWhichNothingIsHeardAndLeaveItsMemoryAlone() {
            try (FileSystemAdapter files = over(simulated, SMALL); Arena arena = Arena.ofShared()) {
                files.grow(path(), FILE);
                try (SharedFile file = files.open(path())) {
                    final MemorySegment target = arena.allocate(BLOCK);
                    faults.loseNth(Call.READ_ENTRY, 1);
                    final StoreException failure = assertThrows(StoreException.class,
                        () -> file.read(0, List.of(target), 0, true).await());
                    assertEquals(ErrorCode.FILE_READ_FAIL, failure.code());
                    assertTrue(failure.getMessage().contains("hf3fs_fuse_main"), failure::getMessage);
                    target.fill((byte) 7);

                    simulated.hear();
                    file.read(0, List.of(arena.allocate(BLOCK)), 0, true).await();

                    final byte[] kept = new byte[BLOCK];
                    Arrays.fill(kept, (byte) 7);
                    assertArrayEquals(kept, PatternBytes.copyOf(target));
                }
            }
        }

        @Test
        void shouldNotBeginWhatIsTooLate() throws Exception {
            try (FileSystemAdapter files = over(simulated, SMALL); Arena arena = Arena.ofShared()) {
                files.grow(path(), FILE);
                try (SharedFile file = files.open(path())) {
                    final CountDownLatch inside = new CountDownLatch(SMALL.lanes());
                    final CountDownLatch go = new CountDownLatch(1);
                    simulated.onWait(() -> {
                        inside.countDown();
                        try {
                            go.await();
                        } catch (final InterruptedException e) {
                            Thread.currentThread().interrupt();
                        }
                    });
                    final List<RangeTransfer> running = new ArrayList<>();
                    for (int lane = 0; lane < SMALL.lanes(); lane++) {
                        running.add(file.read(0, List.of(arena.allocate(BLOCK)), 0, false));
                    }
                    inside.await();

                    // All threads are held, so these cannot begin, however long their millisecond takes.
                    final RangeTransfer late = file.read(0, List.of(arena.allocate(BLOCK)), 1, false);
                    final StoreException failure = assertThrows(StoreException.class, late::await);
                    assertTrue(failure.getMessage().contains("1 ms"), failure::getMessage);
                    final long reads = faults.count(Call.READ_ENTRY);
                    go.countDown();
                    running.forEach(RangeTransfer::await);
                    assertEquals(reads + SMALL.lanes(), faults.count(Call.READ_ENTRY));
                }
            }
        }

        @Test
        void shouldMoveNothingWhenItIsClosed() {
            final FileSystemAdapter files = over(simulated, SMALL);
            files.grow(path(), FILE);
            try (SharedFile file = files.open(path()); Arena arena = Arena.ofShared()) {
                files.close();
                files.close();
                final List<MemorySegment> memory = List.of(arena.allocate(BLOCK));
                assertThrows(StoreException.class, () -> file.read(0, memory, 0, true).await());
                assertThrows(StoreException.class, () -> file.read(0, memory, 0, false).await());
                assertThrows(StoreException.class, () -> file.write(0, memory, 0).await());
                assertThrows(StoreException.class, () -> files.open(path()));
                assertFalse(files.isAbandoned());
            }
        }

        @Test
        void shouldTakeVirtualThreads() throws Exception {
            try (FileSystemAdapter files = over(simulated, SMALL); Arena arena = Arena.ofShared()) {
                files.grow(path(), FILE);
                try (SharedFile file = files.open(path())) {
                    final CompletableFuture<Thread> by = new CompletableFuture<>();
                    simulated.onWait(() -> by.complete(Thread.currentThread()));
                    Thread.ofVirtual().start(() ->
                        file.read(0, List.of(arena.allocate(BLOCK)), 0, true).await()).join();
                    assertFalse(by.get().isVirtual());
                }
            }
        }

        @Test
        void shouldSayThatAFolderIsOnNo3fs() throws IOException {
            final Path other = Files.createDirectory(directory.resolve("other"));
            try (FileSystemAdapter files = over(simulated, SMALL)) {
                final Availability answer = files.pastTheCache(other.toString());
                assertFalse(answer.available());
                assertTrue(answer.reason().contains(other + " is on no 3FS") && answer.remedy().contains("posix"),
                    answer.toString());
                final String there = Files.createFile(other.resolve("a")).toString();
                final StoreException refused = assertThrows(StoreException.class, () -> files.open(there));
                assertEquals(ErrorCode.FILE_OPEN_FAIL, refused.code());
                assertTrue(refused.getMessage().contains(other + " is on no 3FS"), refused::getMessage);
                // Nothing of that is kept: the next one may be on it.
                files.grow(path(), FILE);
                files.open(path()).close();
                assertThrows(StoreException.class, () -> files.open(there));
            }
        }

        @Test
        void shouldTryAgainWhenThereWasNoRoomForSharedMemory() {
            try (FileSystemAdapter files = over(simulated, SMALL)) {
                files.grow(path(), FILE);
                faults.nth(Call.IOV_CREATE, 1, -Errno.EIO);
                final StoreException refused = assertThrows(StoreException.class, () -> files.open(path()));
                assertEquals(ErrorCode.FILE_OPEN_FAIL, refused.code());
                assertTrue(refused.getMessage().contains("/dev/shm"), refused::getMessage);
                files.open(path()).close();
            }
        }

        @Test
        void shouldHoldNothingOfAFileThatCannotBeRegistered() {
            try (FileSystemAdapter files = over(simulated, SMALL)) {
                files.grow(path(), FILE);
                faults.nth(Call.REG_FD, 1, Errno.EINVAL);
                final StoreException refused = assertThrows(StoreException.class, () -> files.open(path()));
                assertEquals(ErrorCode.FILE_OPEN_FAIL, refused.code());
                assertTrue(refused.getMessage().contains(path()), refused::getMessage);
                files.open(path()).close();
            }
        }

        @Test
        void shouldSayWhyTheTrialFailedAndLeaveNothingBehind() throws IOException {
            try (FileSystemAdapter files = over(simulated, SMALL)) {
                faults.nth(Call.WRITE_ENTRY, 1, -Errno.EROFS);
                final Availability answer = files.pastTheCache(folder.toString());
                assertFalse(answer.available());
                assertTrue(answer.reason().contains("EROFS"), answer::reason);
                try (Stream<Path> left = Files.list(folder)) {
                    assertEquals(List.of(), left.toList());
                }
            }
        }

        @Test
        void shouldSayThatThereIsNoLibraryAndOpenNothing() {
            final Availability library = Usrbio.availability();
            NotExercised.require("no-usrbio", !library.available(), "this machine has libhf3fs_api_shared.so");
            final StoreException refused = assertThrows(StoreException.class, () -> SharedFileSystems.open(
                SharedDiskVariables.FileSystem.HF3FS, FileOpener.POSIX, () -> {
                    throw new AssertionError("an engine for nothing");
                }));
            assertEquals(ErrorCode.INVALID_PARAMS, refused.code());
            for (final String part : List.of(SharedDiskVariables.FS_TYPE, library.reason(), library.remedy(), "posix")) {
                assertTrue(refused.getMessage().contains(part), refused::getMessage);
            }
        }
    }
}
