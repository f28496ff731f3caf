package io.kvtier.store.storage.shared;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.PatternBytes;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreException;
import io.kvtier.store.replica.PageLayout;
import io.kvtier.transport.file.FileOpener;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** The files of a shared disk: made once, grown, never cut. */
@ExtendWith(LeakCheck.class)
class BucketFilesTest {
    private static final long PAGE = 4096;
    private static final int BUCKETS = 256;

    @TempDir
    private Path folder;

    private PageLayout layout(final int buckets, final long pages) {
        return new PageLayout(folder.toString(), buckets, PAGE, pages * PAGE);
    }

    private List<String> names() throws IOException {
        try (Stream<Path> all = Files.list(folder)) {
            return all.map(path -> path.getFileName().toString()).sorted().toList();
        }
    }

    @Test
    void shouldMakeAllFilesByTheNamesThatTheMasterGives() throws IOException {
        try (FileSystemAdapter files = PosixFiles.open(FileOpener.POSIX)) {
            final BucketFiles made = BucketFiles.prepare(layout(BUCKETS, 2), files);

            assertEquals(IntStream.range(0, BUCKETS).mapToObj("bucket_%02x.data"::formatted).sorted().toList(),
                names());
            assertEquals(folder + "/bucket_ff.data", made.states().get(255).path());
            assertTrue(made.states().stream().allMatch(state -> state.before() == 0 && state.size() == 2 * PAGE));
            assertEquals(2 * PAGE, Files.size(folder.resolve("bucket_a0.data")));
        }
    }

    @Test
    void shouldGrowWhatIsTooSmallAndLeaveTheRestAsItIs() throws IOException {
        final byte[] small = PatternBytes.of(1, (int) PAGE);
        final byte[] large = PatternBytes.of(2, 5 * (int) PAGE);
        Files.write(folder.resolve("bucket_00.data"), small);
        Files.write(folder.resolve("bucket_01.data"), large);
        try (FileSystemAdapter files = PosixFiles.open(FileOpener.POSIX)) {
            final BucketFiles grown = BucketFiles.prepare(layout(3, 3), files);

            assertEquals(List.of(PAGE, 5 * PAGE, 0L), grown.states().stream().map(BucketFiles.State::before).toList());
            assertEquals(List.of(3 * PAGE, 5 * PAGE, 3 * PAGE),
                grown.states().stream().map(BucketFiles.State::size).toList());
            assertTrue(grown.summary().contains("2 of them made or grown"), grown::summary);
        }
        final byte[] begun = new byte[3 * (int) PAGE];
        System.arraycopy(small, 0, begun, 0, small.length);
        assertArrayEquals(begun, Files.readAllBytes(folder.resolve("bucket_00.data")));
        assertArrayEquals(large, Files.readAllBytes(folder.resolve("bucket_01.data")));
    }

    /** Two hosts: each has an engine and descriptors of its own. */
    @Test
    void shouldBePreparedByManyHostsAtOnce() throws Exception {
        final int hosts = 4;
        final CyclicBarrier together = new CyclicBarrier(hosts);
        try (ExecutorService threads = Executors.newFixedThreadPool(hosts)) {
            final List<Future<BucketFiles>> all = new ArrayList<>();
            for (int i = 0; i < hosts; i++) {
                all.add(threads.submit(() -> {
                    try (FileSystemAdapter files = PosixFiles.open(FileOpener.POSIX)) {
                        together.await();
                        return BucketFiles.prepare(layout(32, 8), files);
                    }
                }));
            }
            for (final Future<BucketFiles> one : all) {
                assertTrue(one.get().states().stream().allMatch(state -> state.size() == 8 * PAGE));
            }
        }
        assertEquals(32, names().size());
        for (final String name : names()) {
            assertEquals(8 * PAGE, Files.size(folder.resolve(name)));
        }
    }

    @Test
    void shouldMakeNothingWhereThereIsNotEnoughRoomForAll() throws IOException {
        Files.write(folder.resolve("bucket_00.data"), new byte[4 * (int) PAGE]);
        try (FileSystemAdapter files = new ForwardingFileSystem(PosixFiles.open(FileOpener.POSIX)) {
            @Override
            public long freeBytes(final String of) {
                return 8 * PAGE - 1;
            }
        }) {
            final StoreException full =
                assertThrows(StoreException.class, () -> BucketFiles.prepare(layout(3, 4), files));
            assertEquals(ErrorCode.FILE_OPEN_FAIL, full.code());
            assertTrue(full.getMessage().contains(String.valueOf(8 * PAGE))
                && full.getMessage().contains(String.valueOf(8 * PAGE - 1)), full::getMessage);
            assertEquals(List.of("bucket_00.data"), names());
            assertEquals(2, BucketFiles.prepare(layout(2, 4), files).states().size(), "one more file has room");
        }
    }

    /** What another host has reserved by then is neither free nor missing. */
    @Test
    void shouldNotMissTheRoomThatAnotherHostHasTakenForTheSameFiles() {
        final PageLayout layout = layout(3, 4);
        try (FileSystemAdapter files = new ForwardingFileSystem(PosixFiles.open(FileOpener.POSIX)) {
            private boolean asked;

            @Override
            public long freeBytes(final String of) {
                if (!asked) {
                    asked = true;
                    grow(layout.path(0), layout.bucketBytes());
                    grow(layout.path(1), layout.bucketBytes());
                }
                return layout.bucketBytes();
            }
        }) {
            assertEquals(3, BucketFiles.prepare(layout, files).states().size());
        }
    }

    @Test
    void shouldSayWhereNoRoomIsReserved() {
        try (FileSystemAdapter files = new ForwardingFileSystem(PosixFiles.open(FileOpener.POSIX)) {
            @Override
            public Growth grow(final String path, final long bytes) {
                final Growth real = super.grow(path, bytes);
                return new Growth(real.before(), real.size(), !path.endsWith("_01.data"));
            }
        }) {
            final String said = BucketFiles.prepare(layout(2, 4), files).summary();
            assertTrue(said.contains("reserved no room for 1 of them"), said);
            final String once = BucketFiles.prepare(layout(1, 4), files).summary();
            assertFalse(once.contains("reserved no room"), once);
        }
    }
}
