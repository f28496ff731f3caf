package io.kvtier.transport.file;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.alloc.HostRegion;
import io.kvtier.bindings.NativeTag;
import io.kvtier.kit.HeldTransport;
import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.Threads;
import io.kvtier.transport.IoThreads;
import io.kvtier.transport.Segment;
import io.kvtier.transport.Slice;
import io.kvtier.transport.TransferConfig;
import io.kvtier.transport.TransferEngine;
import io.kvtier.transport.TransferRequest;
import io.kvtier.transport.TransportKind;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** How slices get from those who submit them to the threads that move them. */
@ExtendWith(LeakCheck.class)
class SliceQueuesTest {
    private static final int COUNT = 4000;
    private static final int BLOCK = 4096;

    private final HeldTransport held = new HeldTransport(TransportKind.POSIX, Segment.Kind.FILE);
    private TransferEngine engine;
    private HostRegion memory;
    private List<Slice> slices;

    @BeforeEach
    void makeSlices() {
        engine = TransferEngine.open(new TransferConfig(BLOCK, 30_000).withOutstanding(COUNT, 1L << 30),
            List.of(held));
        memory = HostRegion.allocate(NativeTag.TEST, (long) COUNT * BLOCK);
        engine.submit(List.of(TransferRequest.read(memory.slice(0, memory.byteSize()),
            engine.openSegment("file:///data"), 0)));
        slices = held.slices();
    }

    @AfterEach
    void endSlices() {
        slices.forEach(Slice::completed);
        engine.close();
        memory.close();
    }

    @Test
    void shouldGiveSlicesInOrderOfArrival() {
        final SliceInbox inbox = new SliceInbox();
        final SliceQueue queue = new SliceQueue();
        inbox.drainTo(queue);
        assertTrue(queue.isEmpty());

        slices.subList(0, 10).forEach(inbox::add);
        assertFalse(inbox.isEmpty());
        inbox.drainTo(queue);
        assertTrue(inbox.isEmpty());
        slices.subList(10, 20).forEach(inbox::add);
        for (int i = 0; i < 5; i++) {
            assertSame(slices.get(i), queue.poll());
        }
        inbox.drainTo(queue);
        for (int i = 5; i < 20; i++) {
            assertSame(slices.get(i), queue.poll());
        }
        assertNull(queue.poll());
        assertNull(slices.get(7).attachment());
    }

    @Test
    void shouldGiveEachSliceOnceWhileManyThreadsPutThemIn() {
        final int threads = 8;
        final SliceInbox inbox = new SliceInbox();
        final CountDownLatch start = new CountDownLatch(threads);
        final List<CompletableFuture<Void>> all = new ArrayList<>();
        for (int t = 0; t < threads; t++) {
            final List<Slice> mine = slices.subList(t * COUNT / threads, (t + 1) * COUNT / threads);
            all.add(Threads.start(() -> {
                start.countDown();
                while (start.getCount() > 0) {
                    Thread.onSpinWait();
                }
                mine.forEach(inbox::add);
            }));
        }
        final SliceQueue queue = new SliceQueue();
        final int[] next = new int[threads];
        int taken = 0;
        while (taken < COUNT) {
            inbox.drainTo(queue);
            for (Slice slice = queue.poll(); slice != null; slice = queue.poll()) {
                final int number = (int) (slice.offset() / BLOCK);
                final int thread = number / (COUNT / threads);
                assertEquals(next[thread]++, number % (COUNT / threads), "of thread " + thread);
                taken++;
            }
        }
        all.forEach(CompletableFuture::join);
        assertTrue(inbox.isEmpty());
    }

    @Test
    void shouldMoveEachSliceOnceOnAsManyThreadsAsThereMayBe() {
        final AtomicInteger moved = new AtomicInteger();
        final CountDownLatch three = new CountDownLatch(3);
        final SliceThreads threads = new SliceThreads("test-io", 3, slice -> {
            three.countDown();
            try {
                three.await();
            } catch (final InterruptedException e) {
                throw new AssertionError(e);
            }
            assertTrue(IoThreads.isIoThread());
            moved.incrementAndGet();
        });
        slices.forEach(threads::add);
        threads.close();

        assertEquals(COUNT, moved.get());
        assertThrows(RejectedExecutionException.class, () -> threads.add(slices.getFirst()));
        threads.close();
    }

    @Test
    void shouldGoOnBehindAMoverThatThrows() {
        final AtomicInteger moved = new AtomicInteger();
        final AtomicReference<Throwable> reported = new AtomicReference<>();
        final SliceThreads threads = new SliceThreads("test-io", 1, slice -> {
            Thread.currentThread().setUncaughtExceptionHandler((thread, e) -> reported.set(e));
            if (moved.incrementAndGet() == 1) {
                throw new IllegalStateException("a mover that must not throw");
            }
        });
        slices.subList(0, 10).forEach(threads::add);
        threads.close();

        assertEquals(10, moved.get());
        assertEquals("a mover that must not throw", reported.get().getMessage());
    }

    @Test
    void shouldStartAThreadAgainAndAgainForOneSliceAtATime() throws InterruptedException {
        final AtomicReference<CountDownLatch> done = new AtomicReference<>();
        final SliceThreads threads = new SliceThreads("test-io", 4, slice -> done.get().countDown());
        for (int i = 0; i < 1000; i++) {
            done.set(new CountDownLatch(1));
            threads.add(slices.get(i));
            done.get().await();
        }
        threads.close();
    }

    @Test
    void shouldRefuseToHaveNoThread() {
        assertThrows(IllegalArgumentException.class, () -> new SliceThreads("refused", 0, slice -> { }));
    }
}
