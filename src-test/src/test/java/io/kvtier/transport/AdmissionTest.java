package io.kvtier.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.Threads;
import io.kvtier.transport.Admission.Answer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The bound of what is under way. */
class AdmissionTest {
    static Answer now(final Admission admission, final long slices, final long bytes) {
        return admission.take(admission.charge(slices, bytes), false, 0);
    }

    @Test
    void shouldRefuseWhatExceedsEitherLimit() {
        final Admission admission = new Admission(10, 1000);

        assertEquals(Answer.ADMITTED, now(admission, 4, 600));
        assertEquals(Answer.FULL, now(admission, 1, 401));
        assertEquals(Answer.FULL, now(admission, 7, 1));
        assertEquals(Answer.ADMITTED, now(admission, 6, 400));
        assertEquals(Answer.FULL, now(admission, 1, 0));
        assertEquals(10, admission.slices());
        assertEquals(1000, admission.bytes());
        admission.giveBack(admission.charge(4, 600));
        assertEquals(6, admission.slices());
        assertEquals(400, admission.bytes());
        assertEquals(Answer.ADMITTED, now(admission, 4, 600));
    }

    @Test
    void shouldLetWhatIsLargerThanALimitInAlone() {
        final Admission admission = new Admission(10, 1000);

        assertEquals(Answer.ADMITTED, now(admission, 1, 1));
        assertEquals(Answer.FULL, now(admission, 5000, 5));
        assertEquals(Answer.FULL, now(admission, 1, 1L << 50));
        admission.giveBack(admission.charge(1, 1));
        assertEquals(Answer.ADMITTED, now(admission, 5000, 1L << 50));
        assertEquals(Answer.FULL, now(admission, 1, 0));
        admission.giveBack(admission.charge(5000, 1L << 50));
        assertEquals(0, admission.slices() + admission.bytes());
    }

    @Test
    void shouldHoldTheGreatestLimitsThereAre() {
        final Admission admission = new Admission(Admission.MAX_SLICES, Admission.MAX_BYTES);

        assertEquals(Answer.ADMITTED, now(admission, Admission.MAX_SLICES - 1, Admission.MAX_BYTES - 1));
        assertEquals(Answer.FULL, now(admission, 2, 0));
        assertEquals(Answer.FULL, now(admission, 0, 2));
        assertEquals(Answer.ADMITTED, now(admission, 1, 1));
        assertEquals(Admission.MAX_SLICES, admission.slices());
        assertEquals(Admission.MAX_BYTES, admission.bytes());
    }

    @Test
    void shouldLetWaitersInInTheOrderOfTheirArrivalAndNobodyOvertake() {
        final Admission admission = new Admission(10, 1000);
        assertEquals(Answer.ADMITTED, now(admission, 10, 0));
        final List<Integer> order = Collections.synchronizedList(new ArrayList<>());
        final List<Thread> waiters = new ArrayList<>();
        // The first one wants much: the others would fit sooner, and must not starve it.
        final int[] wants = {9, 1, 3, 2};
        for (int i = 0; i < wants.length; i++) {
            final int number = i;
            waiters.add(Thread.ofPlatform().start(() -> {
                admission.take(admission.charge(wants[number], 0), true, 0);
                order.add(number);
            }));
            assertTrue(Threads.awaitWaiting(waiters.get(i)));
        }

        admission.giveBack(admission.charge(3, 0));
        assertEquals(Answer.FULL, now(admission, 1, 0), "there is room for one, but others came before");
        waiters.forEach(waiter -> assertTrue(Threads.awaitWaiting(waiter)));
        assertEquals(List.of(), order);
        admission.giveBack(admission.charge(7, 0));
        while (order.size() < 2) {
            Thread.onSpinWait();
        }

        assertEquals(List.of(0, 1), order.stream().sorted().toList());
        admission.giveBack(admission.charge(9, 0));
        while (order.size() < 4) {
            Thread.onSpinWait();
        }
        assertEquals(6, admission.slices());
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void shouldRefuseWaitersAndNewcomersWhenClosed(final boolean virtual) {
        final Admission admission = new Admission(1, 1);
        assertEquals(Answer.ADMITTED, now(admission, 1, 1));
        final CompletableFuture<Answer> answer = new CompletableFuture<>();
        final Thread.Builder builder = virtual ? Thread.ofVirtual() : Thread.ofPlatform();
        final Thread waiter =
            builder.start(() -> answer.complete(admission.take(admission.charge(1, 1), true, 0)));
        assertTrue(Threads.awaitWaiting(waiter));

        admission.close();

        assertEquals(Answer.CLOSED, answer.join());
        assertEquals(Answer.CLOSED, now(admission, 1, 1));
        assertFalse(admission.awaitEmpty(0));
        admission.giveBack(admission.charge(1, 1));
        assertTrue(admission.awaitEmpty(0));
    }

    @Test
    void shouldGiveUpAtItsDeadlineAndLetTheNextOneTry() {
        final Admission admission = new Admission(4, 100);
        assertEquals(Answer.ADMITTED, now(admission, 2, 0));

        final CompletableFuture<Answer> big = Threads.start(
            () -> admission.take(admission.charge(4, 0), true, System.nanoTime() + 20_000_000));
        while (now(admission, 0, 0) != Answer.FULL && !big.isDone()) {
            Thread.onSpinWait();
        }
        final Answer small = admission.take(admission.charge(2, 0), true, 0);

        assertEquals(Answer.TIMEOUT, big.join());
        assertEquals(Answer.ADMITTED, small, "it fits once the one before it has given up");
    }

    @Test
    @Timeout(value = 1, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
    void shouldTellWhoAwaitsItsEndOfTheLastOneThatIsGivenBack() throws InterruptedException {
        final Admission admission = new Admission(2, 100);
        assertEquals(Answer.ADMITTED, now(admission, 1, 1));
        assertEquals(Answer.ADMITTED, now(admission, 1, 1));
        admission.close();
        final CompletableFuture<Boolean> empty = new CompletableFuture<>();
        final Thread closer = Thread.ofPlatform().daemon()
            .start(() -> empty.complete(admission.awaitEmpty(Long.MAX_VALUE)));
        assertTrue(Threads.awaitWaiting(closer));

        admission.giveBack(admission.charge(1, 1));
        assertTrue(Threads.awaitWaiting(closer));
        assertFalse(empty.isDone());
        admission.giveBack(admission.charge(1, 1));

        assertTrue(empty.join());
        closer.join();
    }

    @Test
    void shouldKeepAnInterruptAndGoOnWaiting() throws InterruptedException {
        final Admission admission = new Admission(1, 1);
        assertEquals(Answer.ADMITTED, now(admission, 1, 1));
        final CompletableFuture<Boolean> interrupted = new CompletableFuture<>();
        final Thread waiter = Thread.ofPlatform().start(() -> {
            admission.take(admission.charge(1, 1), true, 0);
            interrupted.complete(Thread.currentThread().isInterrupted());
        });
        waiter.interrupt();
        assertTrue(Threads.awaitWaiting(waiter));

        admission.giveBack(admission.charge(1, 1));

        assertTrue(interrupted.join());
        waiter.join();
    }

    @Test
    void shouldNeverHoldMoreThanItsLimitsNorLoseAWaiterUnderManyThreads() {
        final Admission admission = new Admission(7, 100);
        final AtomicLong slices = new AtomicLong();
        final AtomicLong bytes = new AtomicLong();
        final List<CompletableFuture<Void>> all = new ArrayList<>();
        for (int thread = 0; thread < 8; thread++) {
            final SplittableRandom random = new SplittableRandom(thread);
            all.add(Threads.start(() -> {
                for (int i = 0; i < 5000; i++) {
                    final long wantSlices = 1 + random.nextInt(4);
                    final long wantBytes = random.nextInt(60);
                    final long charge = admission.charge(wantSlices, wantBytes);
                    assertEquals(Answer.ADMITTED, admission.take(charge, true, 0));
                    assertTrue(slices.addAndGet(wantSlices) <= 7);
                    assertTrue(bytes.addAndGet(wantBytes) <= 100);
                    LockSupport.parkNanos(random.nextInt(2));
                    slices.addAndGet(-wantSlices);
                    bytes.addAndGet(-wantBytes);
                    admission.giveBack(charge);
                }
            }));
        }
        all.forEach(CompletableFuture::join);
        assertEquals(0, admission.slices() + admission.bytes());
    }
}
