package io.kvtier.store.cli.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.Threads;
import io.kvtier.transport.Uninterrupted;
import java.io.IOException;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

final class CrowdTest {
    @Test
    void shouldCountWhatAllDo() throws IOException, InterruptedException {
        final AtomicLong done = new AtomicLong();
        final Set<Integer> seen = ConcurrentHashMap.newKeySet();
        final long start = System.nanoTime();
        final double rate;
        try (Crowd crowd = Crowd.of(3, number -> () -> {
            seen.add(number);
            done.addAndGet(10);
            return 10;
        })) {
            rate = crowd.perSecond(1_000_000);
        }
        final double seconds = (System.nanoTime() - start) / 1e9;
        assertEquals(Set.of(0, 1, 2), seen);
        // Each has run for a part of the time at most, so its rate is not below what it did in all of it.
        assertTrue(rate >= done.get() / seconds, rate + " " + done + " " + seconds);
    }

    @Test
    void shouldDoEachThingOnceAtLeast() throws IOException, InterruptedException {
        final AtomicLong done = new AtomicLong();
        try (Crowd crowd = Crowd.of(2, number -> done::incrementAndGet)) {
            crowd.perSecond(0);
        }
        assertEquals(2, done.get());
    }

    @Test
    void shouldFailWithTheReasonOfAThread() throws IOException {
        try (Crowd crowd = Crowd.of(2, number -> () -> {
            if (number == 1) {
                throw new IOException("no such key");
            }
            return 1;
        })) {
            assertEquals("no such key", assertThrows(IOException.class, () -> crowd.perSecond(0)).getMessage());
        }
    }

    /** What is closed behind it may be the memory that the others work on. */
    @Test
    void shouldWaitForTheOthersWhenOneHasFailed() throws IOException, InterruptedException {
        final CountDownLatch working = new CountDownLatch(1);
        final CountDownLatch go = new CountDownLatch(1);
        final AtomicBoolean over = new AtomicBoolean();
        final Thread closing = Thread.currentThread();
        final CompletableFuture<Void> letting;
        try (Crowd crowd = Crowd.of(2, number -> () -> number == 0 ? fail(working) : work(working, go, over))) {
            assertEquals("no such key", assertThrows(IOException.class, () -> crowd.perSecond(0)).getMessage());
            letting = Threads.start(() -> {
                Threads.awaitWaiting(closing);
                go.countDown();
            });
        }
        final boolean waited = over.get();
        go.countDown();
        assertTrue(waited);
        letting.join();
    }

    private static long fail(final CountDownLatch working) throws IOException {
        Uninterrupted.await(working::await);
        throw new IOException("no such key");
    }

    private static long work(final CountDownLatch working, final CountDownLatch go, final AtomicBoolean over) {
        working.countDown();
        Uninterrupted.await(go::await);
        over.set(true);
        return 1;
    }
}
