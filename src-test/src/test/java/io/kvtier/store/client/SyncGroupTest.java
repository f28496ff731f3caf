package io.kvtier.store.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.Threads;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class SyncGroupTest {
    private final SyncGroup group = new SyncGroup();
    private final AtomicInteger calls = new AtomicInteger();

    @Test
    void shouldCallForEachWhoComesAlone() {
        for (int i = 1; i <= 3; i++) {
            assertNull(group.sync(calls::incrementAndGet));
            assertEquals(i, calls.get());
        }
    }

    /** A call that had begun before says nothing about what was written since; the next one is for all. */
    @Test
    void shouldCallOnceForAllWhoCameDuringACall() throws InterruptedException {
        final CountDownLatch entered = new CountDownLatch(1);
        final CountDownLatch release = new CountDownLatch(1);
        final CompletableFuture<Void> first = Threads.start(() -> assertNull(group.sync(() -> {
            calls.incrementAndGet();
            entered.countDown();
            awaitQuietly(release);
        })));
        entered.await();
        final List<Thread> waiting = new ArrayList<>();
        final List<CompletableFuture<String>> outcomes = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            final CompletableFuture<String> outcome = new CompletableFuture<>();
            outcomes.add(outcome);
            waiting.add(Thread.ofPlatform().start(() -> outcome.complete(group.sync(calls::incrementAndGet))));
        }
        waiting.forEach(thread -> assertTrue(Threads.awaitWaiting(thread)));
        assertEquals(1, calls.get());
        release.countDown();
        first.join();
        outcomes.forEach(outcome -> assertNull(outcome.join()));
        assertEquals(2, calls.get());
    }

    /** The kernel says it once only. */
    @Test
    void shouldFailForAllWhenACallFailed() {
        assertEquals("full", group.sync(() -> {
            throw new IllegalStateException("full");
        }));
        assertEquals("full", group.sync(calls::incrementAndGet));
        assertEquals(0, calls.get());
    }

    private static void awaitQuietly(final CountDownLatch latch) {
        try {
            latch.await();
        } catch (final InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
