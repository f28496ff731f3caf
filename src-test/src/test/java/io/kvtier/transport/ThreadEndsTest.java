package io.kvtier.transport;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.Threads;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;

class ThreadEndsTest {
    private final CountDownLatch go = new CountDownLatch(1);

    private Thread waiting() {
        return Thread.ofPlatform().daemon().start(() -> {
            try {
                go.await();
            } catch (final InterruptedException e) {
                throw new AssertionError("the threads that are waited for are not interrupted", e);
            }
        });
    }

    @Test
    void shouldWaitForAllInSpiteOfAnInterruptAndKeepIt() throws InterruptedException {
        final List<Thread> all = List.of(waiting(), waiting());
        final CompletableFuture<Boolean> kept = new CompletableFuture<>();
        final Thread caller = Thread.ofPlatform().daemon().start(() -> {
            ThreadEnds.await(all);
            kept.complete(Thread.currentThread().isInterrupted() && all.stream().noneMatch(Thread::isAlive));
        });
        assertTrue(Threads.awaitWaiting(caller));

        caller.interrupt();
        // Until the interrupt has been noticed, which takes it away from the thread.
        while (caller.isInterrupted() && !kept.isDone()) {
            Thread.onSpinWait();
        }
        go.countDown();

        assertTrue(kept.join(), "all have ended, and the interrupt is there again");
    }

    @Test
    void shouldNotWaitForAThreadThatWasNeverStarted() {
        ThreadEnds.await(Thread.ofPlatform().unstarted(go::countDown));
        assertFalse(Thread.currentThread().isInterrupted());
    }
}
