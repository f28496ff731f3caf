package io.kvtier.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.Proxy;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** In one thread, which interrupts itself: no other one can come too early or too late. */
class UninterruptedTest {
    private int calls;

    @AfterEach
    void forgetTheInterrupt() {
        Thread.interrupted();
    }

    /** Interrupted so many times. */
    private String waited(final int interrupts) throws InterruptedException {
        calls++;
        if (calls <= interrupts) {
            throw new InterruptedException();
        }
        return "result";
    }

    @Test
    void shouldLeaveTheFlagAloneWhenNobodyInterrupts() {
        assertEquals("result", Uninterrupted.get(() -> waited(0)));
        Uninterrupted.await(() -> waited(0));
        Uninterrupted.park(() -> true);
        assertEquals(2, calls);
        assertFalse(Thread.currentThread().isInterrupted());
    }

    @Test
    void shouldWaitAgainAfterEachInterruptAndKeepIt() {
        assertEquals("result", Uninterrupted.get(() -> waited(2)));
        assertEquals(3, calls);
        assertTrue(Thread.interrupted());

        calls = 0;
        Uninterrupted.await(() -> waited(3));
        assertEquals(4, calls);
        assertTrue(Thread.interrupted());
    }

    @Test
    void shouldTakeFromAQueueThoughTheFlagWasSetBefore() {
        final BlockingQueue<String> queue = new ArrayBlockingQueue<>(1, false, List.of("item"));
        Thread.currentThread().interrupt();

        assertEquals("item", Uninterrupted.get(queue::take));

        assertTrue(Thread.currentThread().isInterrupted());
    }

    @Test
    void shouldKeepTheInterruptWhenTheWaitFails() {
        assertThrows(IllegalStateException.class, () -> Uninterrupted.get(() -> {
            waited(1);
            throw new IllegalStateException("a test's failure");
        }));
        assertTrue(Thread.currentThread().isInterrupted());
    }

    /** A condition that says each time how much is left; below zero, that it was interrupted. */
    private Condition condition(final long... left) {
        return (Condition) Proxy.newProxyInstance(getClass().getClassLoader(), new Class<?>[] {Condition.class},
            (proxy, method, arguments) -> {
                assertEquals("awaitNanos", method.getName());
                assertFalse(Thread.currentThread().isInterrupted(), "it would end at once");
                final long answer = left[calls];
                calls++;
                if (answer < 0) {
                    throw new InterruptedException();
                }
                return answer;
            });
    }

    @Test
    void shouldLookAgainAfterAnInterruptAndNotBeEndedByItTwice() {
        final Condition condition = condition(-1, 5);

        final long left = Uninterrupted.awaitNanos(condition, Long.MAX_VALUE);

        assertTrue(left > 0, "nanoseconds left of more than a life: " + left);
        assertEquals(1, calls, "the caller has to look whether it was signalled");
        assertTrue(Thread.currentThread().isInterrupted());
        assertEquals(5, Uninterrupted.awaitNanos(condition, 10));
        assertTrue(Thread.currentThread().isInterrupted());
    }

    @Test
    void shouldCountTheTimeBeforeTheInterrupt() {
        final long nanos = Uninterrupted.awaitNanos(condition(-1), 0);

        assertTrue(nanos <= 0, "nothing can be left of nothing: " + nanos);
    }

    @Test
    void shouldParkUntilItIsOver() {
        Thread.currentThread().interrupt();

        Uninterrupted.park(() -> {
            calls++;
            // The first time it does not sleep because of the flag, the second time because of this.
            LockSupport.unpark(Thread.currentThread());
            return calls == 3;
        });

        assertEquals(3, calls);
        assertTrue(Thread.currentThread().isInterrupted());
    }
}
