package io.kvtier.transport.tcp;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.Threads;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Who leads a loop: its thread, or a caller; that there is one at most, and that nothing is left lying. */
@ExtendWith(LeakCheck.class)
class LoopTest {
    /** An item: open until somebody closes it from outside, or at once. */
    private record Item(boolean staysOpen, CompletableFuture<Thread> taken) {
        static Item open() {
            return new Item(true, new CompletableFuture<>());
        }

        static Item shut() {
            return new Item(false, new CompletableFuture<>());
        }
    }

    private final ConcurrentLinkedQueue<Throwable> faults = new ConcurrentLinkedQueue<>();
    private final AtomicReference<Thread> inside = new AtomicReference<>();
    private final AtomicInteger drained = new AtomicInteger();
    /** The leader's. */
    private int underWay;
    private final Loop loop = new Loop("kvtier-test-loop", this::take, drained::incrementAndGet, () -> underWay == 0);

    private void take(final Object item) {
        final Item one = (Item) item;
        final Thread self = Thread.currentThread();
        if (!inside.compareAndSet(null, self)) {
            faults.add(new AssertionError(self + " is inside beside " + inside.get()));
        }
        if (one.staysOpen()) {
            underWay++;
        }
        assertTrue(loop.isInside());
        inside.set(null);
        one.taken().complete(self);
    }

    @AfterEach
    void stop() {
        loop.stop();
        assertEquals(List.of(), List.copyOf(faults));
        assertFalse(loop.lead(Item.shut()), "nobody leads what has ended");
        assertFalse(loop.put(Item.shut()));
    }

    /** As often as it takes: the loop's thread rests once it has served a caller that wanted to lead. */
    private void lead(final Object item) {
        while (!loop.lead(item)) {
            loop.put(Item.shut());
            loop.flush();
        }
    }

    /** By a task, for which the thread takes over. */
    private void closeOne() {
        assertTrue(loop.execute(() -> underWay--));
    }

    @Test
    void shouldTakeItemsOnItsThreadUntilACallerWantsToLead() {
        final Item first = Item.shut();
        assertTrue(loop.put(first));
        loop.flush();
        final Thread thread = first.taken().join();
        assertEquals("kvtier-test-loop", thread.getName());

        final Item second = Item.shut();
        lead(second);
        assertSame(Thread.currentThread(), second.taken().getNow(null));
        assertFalse(loop.isInside());

        final Item third = Item.shut();
        assertTrue(loop.put(third));
        loop.flush();
        assertSame(thread, third.taken().join(), "the thread rests, and is woken");
    }

    @Test
    void shouldLeadAgainAtOnceWhenNothingElseCame() {
        lead(Item.shut());
        for (int i = 0; i < 1000; i++) {
            final Item item = Item.shut();
            // The thread looks once a second whether callers lead, and is not wanted meanwhile.
            lead(item);
            assertSame(Thread.currentThread(), item.taken().getNow(null));
        }
    }

    @Test
    void shouldHandOverToItsThreadWhenSomethingElseComes() throws Exception {
        final Item mine = Item.open();
        final CompletableFuture<Void> caller = Threads.start(() -> lead(mine));
        final Thread leader = mine.taken().join();
        assertFalse(caller.isDone(), "its item is under way");

        final Item other = Item.shut();
        assertTrue(loop.put(other));
        loop.flush();

        final Thread thread = other.taken().join();
        assertEquals("kvtier-test-loop", thread.getName());
        assertFalse(leader == thread);
        caller.join();
        assertFalse(loop.lead(Item.shut()), "the thread leads while something is under way");
        closeOne();
    }

    @Test
    void shouldHandOverWhenTheCallerIsInterruptedAndKeepTheInterrupt() throws Exception {
        final Item mine = Item.open();
        final CompletableFuture<Boolean> interrupted = Threads.start(() -> {
            lead(mine);
            return Thread.currentThread().isInterrupted();
        });
        mine.taken().join().interrupt();

        assertTrue(interrupted.join());
        closeOne();
        final Item later = Item.shut();
        assertTrue(loop.put(later));
        loop.flush();
        assertEquals("kvtier-test-loop", later.taken().join().getName());
    }

    @Test
    void shouldNotLetAnInterruptedCallerLead() {
        lead(Item.shut());
        Thread.currentThread().interrupt();
        try {
            assertFalse(loop.lead(Item.shut()));
        } finally {
            assertTrue(Thread.interrupted());
        }
    }

    @Test
    void shouldStopWhileACallerLeads() {
        final Item mine = Item.open();
        final CompletableFuture<Void> caller = Threads.start(() -> lead(mine));
        mine.taken().join();

        loop.stop();

        caller.join();
    }

    @Test
    void shouldGoOnWhenAnItemThrows() {
        lead(Item.shut());
        // No item of this test's: a ClassCastException where it is taken, logged.
        lead("no item");

        final Item item = Item.shut();
        lead(item);
        assertSame(Thread.currentThread(), item.taken().join());
    }

    @Test
    void shouldTickMembersWhicheverThreadLeads() throws Exception {
        final SynchronousQueue<Thread> ticks = new SynchronousQueue<>();
        loop.execute(() -> loop.add(new Loop.Member() {
            @Override
            public long tick(final long nowNanos) {
                ticks.offer(Thread.currentThread());
                return nowNanos + 1_000_000;
            }

            @Override
            public void stop() {
                loop.remove(this);
            }
        }));
        assertEquals("kvtier-test-loop", ticks.take().getName());
        final Item mine = Item.open();
        final CompletableFuture<Void> caller = Threads.start(() -> lead(mine));
        final Thread leader = mine.taken().join();
        Thread ticking = ticks.take();
        while (ticking != leader) {
            ticking = ticks.take();
        }
        closeOne();
        caller.join();
        assertEquals("kvtier-test-loop", ticks.take().getName(), "also while it rests");
    }

    /** As a request that times out, or whose server cannot be reached: nothing else would ever wake the caller. */
    @Test
    void shouldNotKeepACallerWhoseItemADeadlineEnds() {
        loop.execute(() -> loop.add(new Loop.Member() {
            @Override
            public long tick(final long nowNanos) {
                if (underWay > 0) {
                    underWay--;
                    return Loop.NEVER;
                }
                return nowNanos + 1_000_000;
            }

            @Override
            public void stop() {
                loop.remove(this);
            }
        }));
        final Item mine = Item.open();
        lead(mine);
        assertSame(Thread.currentThread(), mine.taken().getNow(null));
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 4})
    void shouldLoseNoItemAndLetNoTwoInsideWhenManyCallersComeAndGo(final int callers) {
        final int each = 5000;
        final AtomicInteger led = new AtomicInteger();
        final CountDownLatch go = new CountDownLatch(1);
        final List<CompletableFuture<Void>> running = new ArrayList<>();
        IntStream.range(0, callers).forEach(number -> running.add(Threads.start(() -> {
            try {
                go.await();
            } catch (final InterruptedException e) {
                throw new IllegalStateException(e);
            }
            for (int i = 0; i < each; i++) {
                final Item item = Item.shut();
                if (loop.lead(item)) {
                    led.incrementAndGet();
                } else {
                    loop.put(item);
                    loop.flush();
                }
                // Also by who could not lead: nobody leaves an item lying.
                item.taken().join();
            }
        })));
        go.countDown();
        running.forEach(CompletableFuture::join);

        assertTrue(callers > 1 || led.get() > each / 2, "led " + led.get() + " of " + each);
        assertNull(inside.get());
        assertTrue(drained.get() > 0);
    }
}
