package io.kvtier.store.storage.shared;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreException;
import io.kvtier.store.storage.shared.OpenFiles.Opened;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Which files are open, and when they are closed. */
class OpenFilesTest {
    private final StubFileSystem files = new StubFileSystem();
    private final AtomicLong nanos = new AtomicLong();
    private final AtomicReference<StoreException> elsewhere = new AtomicReference<>();
    private final OpenFiles open = new OpenFiles(files, this::look, 2, nanos::get);

    @BeforeEach
    void put() {
        for (final String path : List.of("a", "b", "c")) {
            files.put(path, path.charAt(0));
        }
    }

    private void look() {
        if (elsewhere.get() != null) {
            throw elsewhere.get();
        }
    }

    private void use(final String path) {
        open.enter(path).leave();
    }

    private List<String> openPaths() {
        return files.opened().stream().filter(StubFileSystem.StubFile::isOpen).map(SharedFile::path).sorted().toList();
    }

    private void later(final long ms) {
        nanos.addAndGet(TimeUnit.MILLISECONDS.toNanos(ms));
    }

    @Test
    void shouldOpenAFileOnceForAllWhoUseIt() {
        final Opened first = open.enter("a");
        final Opened second = open.enter("a");
        assertSame(first.file(), second.file());
        first.leave();
        second.leave();
        use("a");
        assertEquals(1, files.opened().size());
        assertEquals(List.of("a"), openPaths(), "it stays open for the next one");
    }

    @Test
    void shouldCloseTheOneThatWasUsedLongestAgo() {
        use("a");
        use("b");
        use("a");
        use("c");
        assertEquals(List.of("a", "c"), openPaths());
        assertEquals(2, open.size());
        use("b");
        assertEquals(List.of("b", "c"), openPaths());
        assertEquals(4, files.opened().size());
    }

    @Test
    void shouldCloseAFileOnlyWhenItsLastUserHasLeft() {
        final Opened first = open.enter("a");
        final Opened second = open.enter("a");
        use("b");
        use("c");
        assertEquals(List.of("a", "b", "c"), openPaths(), "pushed out, and still in use");
        first.leave();
        assertTrue(files.opened().getFirst().isOpen());
        second.leave();
        assertEquals(List.of("b", "c"), openPaths());
    }

    @Test
    void shouldFindOutNowAndThenThatAFileWasReplaced() {
        final Opened before = open.enter("a");
        files.put("a", 1000);
        later(999);
        use("a");
        assertEquals(1, files.opened().size(), "not looked up for every use");
        later(1);
        final Opened after = open.enter("a");
        assertEquals(1000, after.file().identity());
        assertTrue(files.opened().getFirst().isOpen(), "its user still reads it");
        before.leave();
        assertFalse(files.opened().getFirst().isOpen());
        after.leave();
        assertTrue(files.opened().getLast().isOpen());
        assertEquals(1, open.replaced());
        later(1000);
        use("a");
        assertEquals(2, files.opened().size(), "the same again");
    }

    /** That of another file system has the same name. */
    @Test
    void shouldCloseAFileThatIsNotTheOneThatIsMeant() {
        use("b");
        final StoreException why = new StoreException(ErrorCode.FILE_OPEN_FAIL, "another volume");
        elsewhere.set(why);
        assertSame(why, assertThrows(StoreException.class, () -> open.enter("a")));
        use("b");
        assertEquals(List.of("b"), openPaths());
        elsewhere.set(null);
        use("a");
        assertEquals(List.of("a", "b"), openPaths());
    }

    @Test
    void shouldNotKeepAFileWhosePathLeadsNowhere() {
        use("a");
        files.remove("a");
        later(1000);
        assertThrows(StoreException.class, () -> open.enter("a"));
        assertEquals(List.of(), openPaths());
    }

    @Test
    void shouldKeepAFileWhenTheSystemDoesNotTellWhatItIs() {
        use("a");
        files.failStatus(true);
        later(5000);
        use("a");
        assertEquals(1, files.opened().size());
    }

    @Test
    void shouldOpenAFileAnewAfterAFailureAndSayWhetherItWasReplaced() {
        final Opened broken = open.enter("a");
        assertFalse(open.failed(broken));
        final Opened again = open.enter("a");
        assertNotSame(broken.file(), again.file());
        assertFalse(open.failed(broken), "said twice");
        assertSame(again.file(), enterAndLeave("a"), "the second word about the old one does not touch the new one");
        broken.leave();
        assertFalse(files.opened().getFirst().isOpen());
        files.put("a", 1000);
        assertTrue(open.failed(again));
        again.leave();
        assertEquals(1, open.replaced());
    }

    private SharedFile enterAndLeave(final String path) {
        final Opened opened = open.enter(path);
        opened.leave();
        return opened.file();
    }

    @Test
    void shouldNotRememberWhatCouldNotBeOpened() {
        assertThrows(StoreException.class, () -> open.enter("d"));
        assertEquals(0, open.size());
        files.put("d", 1);
        use("d");
        assertEquals(List.of("d"), openPaths());
    }

    @Test
    void shouldGiveBackEverythingWhenClosedAndWhatIsInUseLater() {
        use("a");
        final Opened used = open.enter("b");
        open.close();
        open.close();
        assertEquals(List.of("b"), openPaths());
        assertThrows(IllegalStateException.class, () -> open.enter("a"));
        used.leave();
        assertEquals(List.of(), openPaths());
    }

    @Test
    void shouldCloseAFileThatWasBeingOpenedWhileAllWereClosed() throws Exception {
        final CountDownLatch opening = files.holdNextOpen();
        try (ExecutorService thread = Executors.newSingleThreadExecutor()) {
            final Future<?> user = thread.submit(() -> open.enter("a"));
            opening.await();
            open.close();
            files.release();
            assertInstanceOf(IllegalStateException.class,
                assertThrows(ExecutionException.class, user::get).getCause());
        }
        assertEquals(1, files.opened().size());
        assertEquals(List.of(), openPaths());
    }

    /** What is in use is never closed, whoever pushes, fails and replaces beside it. */
    @Test
    void shouldServeManyThreadsAtOnce() throws Exception {
        final int workers = 6;
        final CyclicBarrier together = new CyclicBarrier(workers);
        try (ExecutorService threads = Executors.newFixedThreadPool(workers)) {
            final List<Future<?>> all = new ArrayList<>();
            for (int i = 0; i < workers; i++) {
                final SplittableRandom random = new SplittableRandom(i);
                all.add(threads.submit(() -> {
                    together.await();
                    for (int round = 0; round < 5000; round++) {
                        step(random);
                    }
                    return null;
                }));
            }
            for (final Future<?> one : all) {
                one.get();
            }
        }
        open.close();
        assertEquals(List.of(), openPaths());
    }

    private void step(final SplittableRandom random) {
        final String path = List.of("a", "b", "c").get(random.nextInt(3));
        final Opened one = open.enter(path);
        assertEquals(path, one.file().path());
        assertTrue(((StubFileSystem.StubFile) one.file()).isOpen());
        switch (random.nextInt(8)) {
            case 0 -> open.failed(one);
            case 1 -> files.put(path, random.nextInt());
            case 2 -> later(300);
            default -> Thread.yield();
        }
        assertTrue(((StubFileSystem.StubFile) one.file()).isOpen());
        one.leave();
    }
}
