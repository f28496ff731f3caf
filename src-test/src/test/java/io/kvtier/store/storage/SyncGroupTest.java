package io.kvtier.store.storage;

import static io.kvtier.store.storage.SyncGroup.SINCE_OPENED;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.Threads;
import io.kvtier.transport.Uninterrupted;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class SyncGroupTest {
    private final SyncGroup group = new SyncGroup();
    private final AtomicInteger calls = new AtomicInteger();
    private final CountDownLatch entered = new CountDownLatch(1);
    private final CountDownLatch release = new CountDownLatch(1);

    static List<Throwable> throwables() {
        return List.of(new IllegalStateException("full"), new LinkageError("a test's error"));
    }

    private static Runnable failing(final Throwable thrown) {
        return () -> {
            if (thrown instanceof Error error) {
                throw error;
            }
            throw (RuntimeException) thrown;
        };
    }

    /** Begins a call that stays inside until it is released, and then ends in a way. */
    private CompletableFuture<Throwable> held(final Runnable ending) {
        final CompletableFuture<Throwable> outcome = Threads.start(() -> group.sync(group.failures(), () -> {
            calls.incrementAndGet();
            entered.countDown();
            Uninterrupted.await(release::await);
            ending.run();
        }));
        Uninterrupted.await(entered::await);
        return outcome;
    }

    /** Others who have written, and wait for a call of their own. */
    private List<CompletableFuture<Throwable>> waiting(final int count) {
        final List<CompletableFuture<Throwable>> outcomes = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            final CompletableFuture<Throwable> outcome = new CompletableFuture<>();
            outcomes.add(outcome);
            final Thread thread = Thread.ofPlatform().daemon().start(
                () -> outcome.complete(group.sync(SINCE_OPENED, calls::incrementAndGet)));
            assertTrue(Threads.awaitWaiting(thread), "one call at a time");
        }
        return outcomes;
    }

    @Test
    void shouldCallForEachWhoComesAlone() {
        for (int i = 1; i <= 3; i++) {
            assertNull(group.sync(group.failures(), calls::incrementAndGet));
            assertEquals(i, calls.get());
        }
    }

    /** A call that had begun before says nothing about what was written since; the next one is for all. */
    @Test
    void shouldCallOnceForAllWhoCameDuringACall() {
        final CompletableFuture<Throwable> first = held(() -> { });
        final List<CompletableFuture<Throwable>> others = waiting(4);
        assertEquals(1, calls.get());

        release.countDown();

        assertNull(first.join());
        others.forEach(outcome -> assertNull(outcome.join()));
        assertEquals(2, calls.get());
    }

    /** They had written before it failed, and what it lost may have been theirs. */
    @ParameterizedTest
    @MethodSource("throwables")
    void shouldFailForAllWhoCameDuringACallThatFails(final Throwable thrown) {
        final CompletableFuture<Throwable> first = held(failing(thrown));
        final List<CompletableFuture<Throwable>> others = waiting(3);

        release.countDown();

        assertSame(thrown, first.join());
        others.forEach(outcome -> assertSame(thrown, outcome.join()));
        assertEquals(1, calls.get(), "the next call would succeed, and mean nothing");
        assertEquals(1, group.failures());
    }

    /** The kernel says it once only. */
    @ParameterizedTest
    @MethodSource("throwables")
    void shouldFailForWhoHadBegunToWriteBeforeACallFailed(final Throwable thrown) {
        final long before = group.failures();
        assertSame(thrown, group.sync(before, failing(thrown)));

        assertSame(thrown, group.sync(before, calls::incrementAndGet));
        assertSame(thrown, group.sync(SINCE_OPENED, calls::incrementAndGet));

        assertEquals(0, calls.get());
    }

    @Test
    void shouldCallAgainForWhoBeganToWriteAfterACallHadFailed() {
        group.sync(SINCE_OPENED, failing(new IllegalStateException("full")));
        final long before = group.failures();

        assertNull(group.sync(before, calls::incrementAndGet));

        assertEquals(1, calls.get());
        final RuntimeException again = new IllegalStateException("full again");
        assertSame(again, group.sync(before, failing(again)));
        assertSame(again, group.sync(before, calls::incrementAndGet));
    }
}
