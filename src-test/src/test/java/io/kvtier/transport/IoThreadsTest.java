package io.kvtier.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.Threads;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class IoThreadsTest {
    private final IoThreads threads = new IoThreads("test-io", 2, 3);

    @AfterEach
    void closeThreads() {
        threads.close();
    }

    private static Thread onVirtual(final Runnable body) {
        return Thread.ofVirtual().start(body);
    }

    @Test
    void shouldRunOnNamedDaemonPlatformThreads() {
        final CompletableFuture<Thread> seen = new CompletableFuture<>();

        threads.execute(() -> seen.complete(Thread.currentThread()));

        assertTrue(seen.join().getName().startsWith("test-io-"), seen.join().getName());
        assertTrue(seen.join().isDaemon());
        assertFalse(seen.join().isVirtual());
    }

    @Test
    void shouldWaitForAPlaceWhenAllAreTaken() throws InterruptedException {
        final CountDownLatch release = new CountDownLatch(1);
        final AtomicInteger ran = new AtomicInteger();
        final Runnable held = () -> {
            Uninterrupted.await(release::await);
            ran.incrementAndGet();
        };
        for (int i = 0; i < 3; i++) {
            threads.execute(held);
        }
        final List<Thread> waiting = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            waiting.add(onVirtual(() -> threads.execute(held)));
        }
        for (final Thread one : waiting) {
            assertTrue(Threads.awaitWaiting(one));
        }
        assertEquals(0, ran.get());

        release.countDown();
        for (final Thread one : waiting) {
            one.join();
        }
        threads.close();
        assertEquals(8, ran.get());
    }

    @Test
    void shouldGiveThePlaceBackWhenATaskThrows() throws InterruptedException {
        final CountDownLatch ended = new CountDownLatch(10);
        for (int i = 0; i < 10; i++) {
            threads.execute(() -> {
                Thread.currentThread().setUncaughtExceptionHandler((thread, e) -> ended.countDown());
                throw new IllegalStateException("a task that must not throw");
            });
        }
        ended.await();
    }

    @Test
    void shouldRunWhatIsQueuedAndRefuseMoreWhenClosed() {
        final AtomicInteger ran = new AtomicInteger();
        for (int i = 0; i < 20; i++) {
            threads.execute(ran::incrementAndGet);
        }
        threads.close();
        assertEquals(20, ran.get());

        for (int i = 0; i < 10; i++) {
            assertThrows(RejectedExecutionException.class, () -> threads.execute(ran::incrementAndGet));
        }
        threads.close();
        assertEquals(20, ran.get());
    }

    @Test
    void shouldRunWhatIsQueuedWhenInterruptedWhileClosing() throws InterruptedException {
        final IoThreads one = new IoThreads("test-io", 1, 8);
        final CompletableFuture<Void> release = new CompletableFuture<>();
        // As a system call: an interrupt does not end it.
        one.execute(release::join);
        final CompletableFuture<String> answer = new CompletableFuture<>();
        final Thread caller = onVirtual(() -> answer.complete(one.call(() -> "called")));
        assertTrue(Threads.awaitWaiting(caller));
        final CompletableFuture<Boolean> interrupted = new CompletableFuture<>();
        final Thread closer = Thread.ofPlatform().daemon().start(() -> {
            Thread.currentThread().interrupt();
            one.close();
            interrupted.complete(Thread.currentThread().isInterrupted());
        });
        assertTrue(Threads.awaitWaiting(closer));
        release.complete(null);
        closer.join();

        assertTrue(interrupted.join(), "the interrupt is kept");
        assertFalse(Threads.awaitWaiting(caller), "the caller waits for ever");
        assertEquals("called", answer.join());
    }

    @Test
    void shouldCallAtOnceOnAPlatformThreadAndHandOverFromAVirtualOne() throws InterruptedException {
        assertSame(Thread.currentThread(), threads.call(Thread::currentThread));

        final CompletableFuture<Thread> seen = new CompletableFuture<>();
        onVirtual(() -> seen.complete(threads.call(Thread::currentThread))).join();
        assertFalse(seen.join().isVirtual());
        assertTrue(seen.join().getName().startsWith("test-io-"));
    }

    @Test
    void shouldThrowWhatTheCallThrowsWhoeverCalls() throws InterruptedException {
        for (final Throwable thrown : List.of(new IllegalStateException("state"), new LinkageError("link"))) {
            assertSame(thrown, assertThrows(Throwable.class, () -> threads.call(() -> raise(thrown))));

            final CompletableFuture<Throwable> seen = new CompletableFuture<>();
            onVirtual(() -> seen.complete(assertThrows(Throwable.class, () -> threads.call(() -> raise(thrown)))))
                .join();
            assertSame(thrown, seen.join());
        }
    }

    private static Object raise(final Throwable thrown) {
        if (thrown instanceof Error error) {
            throw error;
        }
        throw (RuntimeException) thrown;
    }

    @ParameterizedTest
    @CsvSource({"0, 1", "-1, 10", "2, 1", "1, 0"})
    void shouldRefuseWhenThereIsNoThreadOrNoPlaceForEach(final int count, final int queueDepth) {
        assertThrows(IllegalArgumentException.class, () -> new IoThreads("refused", count, queueDepth));
    }
}
