package io.kvtier.store.storage.shared;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.bindings.Availability;
import io.kvtier.bindings.posix.BlockFile;
import io.kvtier.bindings.posix.Errno;
import io.kvtier.bindings.posix.ErrnoException;
import io.kvtier.bindings.posix.OpenMode;
import io.kvtier.bindings.posix.PosixFile;
import io.kvtier.kit.Faults;
import io.kvtier.kit.FaultyFiles;
import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.MemoryDirectory;
import io.kvtier.kit.PatternBytes;
import io.kvtier.kit.PowerLossFiles;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreException;
import io.kvtier.transport.TransferConfig;
import io.kvtier.transport.TransferEngine;
import io.kvtier.transport.file.FileOpener;
import io.kvtier.transport.file.PosixTransport;
import io.kvtier.transport.file.UringConfig;
import io.kvtier.transport.file.UringTransport;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Stream;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The contract over system calls, and over rings; and what a file system does that is not well. */
class PosixFileSystemTest {
    private static final int BLOCK = 4096;
    private static final int FILE = 1 << 20;

    @Nested
    class SystemCalls extends FileSystemAdapterContract {
        @Override
        FileSystemAdapter open() {
            return PosixFiles.open(FileOpener.POSIX);
        }
    }

    /** Where there is no io_uring, the calls behind it: the contract is the same. */
    @Nested
    class Rings extends FileSystemAdapterContract {
        @Override
        FileSystemAdapter open() {
            return new PosixFileSystem(FileOpener.POSIX, TransferEngine.open(TransferConfig.DEFAULT, List.of(
                new UringTransport(FileOpener.POSIX, UringConfig.DEFAULT, true),
                new PosixTransport(FileOpener.POSIX, 2, true))));
        }
    }

    @Nested
    @ExtendWith(LeakCheck.class)
    class Faulty {
        @TempDir
        private Path folder;
        private final Faults faults = new Faults();
        private final FaultyFiles opener = new FaultyFiles(faults);

        private String path() {
            return folder.resolve("a").toString();
        }

        @ParameterizedTest
        @ValueSource(longs = {1, 2, 3, 4, 5})
        void shouldGoOnAfterShortAndInterruptedCalls(final long seed) {
            final byte[] bytes = PatternBytes.of(seed, 300_001);
            try (FileSystemAdapter files = PosixFiles.open(opener); Arena arena = Arena.ofShared()) {
                files.grow(path(), FILE);
                faults.randomShort(seed);
                try (SharedFile file = files.open(path())) {
                    final MemorySegment source = arena.allocate(bytes.length, BLOCK);
                    source.copyFrom(MemorySegment.ofArray(bytes));
                    file.write(BLOCK, List.of(source.asSlice(0, 100_000), source.asSlice(100_000)), 0).await();
                    final MemorySegment target = arena.allocate(bytes.length + 1).asSlice(1);
                    file.read(BLOCK, List.of(target.asSlice(0, 7), target.asSlice(7)), 0, true).await();
                    assertArrayEquals(bytes, PatternBytes.copyOf(target));
                }
            }
        }

        /** A part of a block in the page cache is what another host's write would be lost to. */
        @Test
        void shouldWritePastThePageCacheAlone() {
            try (FileSystemAdapter files = PosixFiles.open(new DirectAlone(opener)); Arena arena = Arena.ofShared()) {
                files.grow(path(), FILE);
                try (SharedFile file = files.open(path())) {
                    for (final int size : new int[] {1, BLOCK - 1, BLOCK + 1, 70_000}) {
                        file.write(0, List.of(arena.allocate(size).asSlice(0, size / 2), arena.allocate(size)), 0)
                            .await();
                        file.read(3, List.of(arena.allocate(size)), 0, true).await();
                    }
                    file.sync();
                }
            }
        }

        @ParameterizedTest
        @EnumSource(value = Faults.Call.class, names = {"READ", "WRITE", "SYNC"})
        void shouldTellWhatFailedAndGoOnAfterwards(final Faults.Call call) {
            try (FileSystemAdapter files = PosixFiles.open(opener); Arena arena = Arena.ofShared()) {
                files.grow(path(), FILE);
                try (SharedFile file = files.open(path())) {
                    final List<MemorySegment> memory = List.of(arena.allocate(BLOCK, BLOCK));
                    faults.failNth(call, 1, Errno.EIO);
                    final StoreException failure = assertThrows(StoreException.class, () -> {
                        file.write(0, memory, 0).await();
                        file.sync();
                        file.read(0, memory, 0, true).await();
                    });
                    assertEquals(call == Faults.Call.READ ? ErrorCode.FILE_READ_FAIL : ErrorCode.FILE_WRITE_FAIL,
                        failure.code());
                    assertTrue(failure.getMessage().contains("EIO") && failure.getMessage().contains(path()),
                        failure::getMessage);
                    file.write(0, memory, 0).await();
                    file.sync();
                    file.read(0, memory, 0, true).await();
                }
            }
        }

        /** What was made stays: another host may have taken it by then. */
        @Test
        void shouldNotRemoveOrCutWhatCouldNotBeGrown() throws IOException {
            try (FileSystemAdapter files = PosixFiles.open(opener)) {
                files.grow(path(), 3 * BLOCK);
                Files.write(Path.of(path()), PatternBytes.of(1, 3 * BLOCK));
                faults.failAlways(Faults.Call.PREALLOCATE, Errno.ENOSPC);
                final StoreException full =
                    assertThrows(StoreException.class, () -> files.grow(path(), FILE));
                assertTrue(full.getMessage().contains("ENOSPC") && full.getMessage().contains("make room"),
                    full::getMessage);
                final String other = folder.resolve("b").toString();
                assertThrows(StoreException.class, () -> files.grow(other, FILE));
                assertTrue(Files.exists(Path.of(other)));
            }
            assertArrayEquals(PatternBytes.of(1, 3 * BLOCK), Files.readAllBytes(Path.of(path())));
        }

        @Test
        void shouldWaitForAnotherHostThatMakesTheFile() throws Exception {
            try (FileSystemAdapter files = PosixFiles.open(opener);
                ExecutorService thread = Executors.newSingleThreadExecutor();
                PosixFile other = PosixFile.open(path(), OpenMode.CREATE)) {
                assertTrue(other.tryLock(true));
                final Faults.Gate grown = faults.blockNext(Faults.Call.SIZE);
                final Future<FileSystemAdapter.Growth> growth = thread.submit(() -> files.grow(path(), BLOCK));
                grown.awaitEntered();
                grown.release();
                other.preallocate(0, 2 * BLOCK);
                assertTrue(growth.get().size() == 2 * BLOCK, "it is large enough by then");
                assertEquals(0, faults.count(Faults.Call.PREALLOCATE), "nothing was left to be done");
            }
        }

        @Test
        void shouldSayWhereTheCacheCannotBePassed() throws IOException {
            faults.refuseDirect();
            try (FileSystemAdapter files = PosixFiles.open(opener)) {
                final Availability answer = files.pastTheCache(folder.toString());
                assertFalse(answer.available());
                assertTrue(answer.reason().contains("O_DIRECT"), answer::reason);
                try (Stream<Path> left = Files.list(folder)) {
                    assertEquals(List.of(), left.toList());
                }
                final Path file = Files.write(folder.resolve("a"), new byte[BLOCK]);
                final Availability read = files.readsPastTheCache(file.toString());
                assertTrue(!read.available() && read.reason().contains("O_DIRECT"), read::reason);
            }
        }

        /** A file that is all holes holds nothing yet, and may find the file system full. */
        @Test
        void shouldSayWhetherRoomIsReserved() throws IOException {
            final Path sparse = folder.resolve("sparse");
            try (FileSystemAdapter files = PosixFiles.open(opener);
                FileChannel channel = FileChannel.open(sparse, StandardOpenOption.CREATE,
                    StandardOpenOption.WRITE)) {
                channel.write(ByteBuffer.wrap(new byte[] {1}), FILE - 1L);
                assertFalse(files.grow(sparse.toString(), FILE).reserved());
                assertTrue(files.grow(path(), FILE).reserved());
            }
        }

        @Test
        void shouldKeepBytesWhenManyWriteBesideEachOther() {
            try (FileSystemAdapter files = PosixFiles.open(opener); Arena arena = Arena.ofShared()) {
                files.grow(path(), FILE);
                final byte[] expected = new byte[16 * BLOCK];
                try (SharedFile file = files.open(path())) {
                    for (int i = 0; i < 16; i++) {
                        final byte[] one = PatternBytes.of(i, BLOCK - i);
                        System.arraycopy(one, 0, expected, i * BLOCK, one.length);
                        final MemorySegment source = arena.allocate(one.length);
                        source.copyFrom(MemorySegment.ofArray(one));
                        file.write((long) i * BLOCK, List.of(source), 0).await();
                    }
                    final MemorySegment all = arena.allocate(expected.length);
                    file.read(0, List.of(all), 0, true).await();
                    assertArrayEquals(expected, PatternBytes.copyOf(all));
                }
            }
        }
    }

    /** Who was told that a file has its size counts on it, on every host. */
    @Test
    void shouldHaveAFileThatWasMadeWhenThePowerFails(@TempDir(factory = MemoryDirectory.class) final Path root)
        throws IOException {
        for (int seed = 1; seed <= 12; seed++) {
            final Path made = Files.createDirectory(root.resolve("power-" + seed)).resolve("bucket");
            try (PowerLossFiles power = new PowerLossFiles(seed); FileSystemAdapter files = PosixFiles.open(power)) {
                files.grow(made.toString(), 1 << 20);
                power.lose();
            }
            assertEquals(1 << 20, Files.size(made));
        }
    }

    /** Fails whoever writes through a descriptor that is not direct, or reads by it. */
    private record DirectAlone(FileOpener real) implements FileOpener {
        @Override
        public BlockFile open(final String path, final OpenMode mode) {
            final BlockFile file = real.open(path, mode);
            return mode.direct() ? file : (BlockFile) Proxy.newProxyInstance(
                getClass().getClassLoader(), new Class<?>[] {BlockFile.class},
                (proxy, method, arguments) -> {
                    if (Arrays.asList("read", "write").contains(method.getName())) {
                        throw new ErrnoException("pwrite", Errno.EIO,
                            path + ", through the page cache");
                    }
                    try {
                        return method.invoke(file, arguments);
                    } catch (final InvocationTargetException e) {
                        throw e.getCause();
                    }
                });
        }
    }
}
