package io.kvtier.store.master;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.store.ErrorCode;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.StoreException;
import io.kvtier.store.protocol.Command;
import io.kvtier.store.protocol.ObjectCommand.Exists;
import io.kvtier.store.protocol.TaskCommand.CreateDrain;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.jetbrains.lincheck.datastructures.ModelCheckingOptions;
import org.jetbrains.lincheck.datastructures.Operation;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Many threads at one conductor: every command is applied once, in its thread's order, by one thread at a time. */
class ConductorStress {
    private static final Conductor.Limits SMALL = new Conductor.Limits(64, 1000, 10);

    /** Two threads, whose every interleaving is tried, and no clock that could help a lost command out. */
    public static class Interleavings {
        private final CountingState state = new CountingState(0);
        private final Conductor conductor = new Conductor(state.running(() -> 0), SMALL);

        /** How many commands have been applied with this one. */
        @Operation
        public long next() {
            return conductor.apply(new CreateDrain(List.of()));
        }
    }

    /** The same by counting. */
    public static class Sequential {
        private long count;

        public long next() {
            return ++count;
        }
    }

    @Test
    void shouldAnswerEveryCommandInEveryInterleaving() {
        new ModelCheckingOptions().threads(2).actorsPerThread(2).iterations(2).invocationsPerIteration(100)
            .sequentialSpecification(Sequential.class).check(Interleavings.class);
    }

    /** A caller that does not wait, as a connection that has many calls under way. */
    private static final class Call extends CommandEntry<Boolean> {
        private final CountDownLatch left;
        private final AtomicInteger told = new AtomicInteger();

        Call(final String key, final CountDownLatch left) {
            super(new Exists(ObjectKey.of(key)), 0);
            this.left = left;
        }

        @Override
        boolean isLate() {
            return false;
        }

        @Override
        long connection() {
            return 1;
        }

        @Override
        public void deliver() {
            told.incrementAndGet();
            left.countDown();
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 8, 32})
    void shouldApplyEachOnceAndInOrderHoweverManySubmit(final int threads) throws InterruptedException {
        final int each = 60_000 / threads;
        final AtomicLong clockMs = new AtomicLong();
        final CountingState state = new CountingState(0);
        final Conductor conductor = new Conductor(state.running(clockMs::incrementAndGet), SMALL);
        conductor.start();
        final CountDownLatch left = new CountDownLatch(threads * each);
        final List<CompletableFuture<List<Call>>> all = new ArrayList<>();
        for (int thread = 0; thread < threads; thread++) {
            final int number = thread;
            final boolean virtual = thread % 2 == 1;
            all.add(CompletableFuture.supplyAsync(() -> submitAll(conductor, number, each, left),
                command -> (virtual ? Thread.ofVirtual() : Thread.ofPlatform()).start(command)));
        }
        final List<Call> calls = all.stream().flatMap(calls1 -> calls1.join().stream()).toList();
        left.await();
        conductor.close();

        assertTrue(calls.stream().allMatch(call -> call.told.get() == 1 && call.reply()), "each is told once");
        assertEquals(threads * each, state.applied().size(), "each is applied once");
        final Map<String, Integer> next = new HashMap<>();
        for (final Command<?> command : state.applied()) {
            final String[] key = ((Exists) command).key().key().split("-");
            assertEquals(next.merge(key[0], 1, Integer::sum) - 1, Integer.parseInt(key[1]), "order of a thread");
        }
        assertTrue(state.isClosed());
    }

    private static List<Call> submitAll(final Conductor conductor, final int thread, final int each,
        final CountDownLatch left) {
        final List<Call> calls = new ArrayList<>(each);
        for (int i = 0; i < each; i++) {
            final Call call = new Call(thread + "-" + i, left);
            calls.add(call);
            while (!conductor.submit(call)) {
                Thread.yield();
            }
        }
        return calls;
    }

    /** Whoever calls while it is closed is answered, by the state or by the refusal, and never waits for ever. */
    @Test
    void shouldAnswerEverybodyWhileItIsClosed() {
        for (int round = 0; round < 50; round++) {
            final CountingState state = new CountingState(0);
            final Conductor conductor = new Conductor(state.running(() -> 0), SMALL);
            conductor.start();
            final AtomicInteger answered = new AtomicInteger();
            final List<CompletableFuture<Void>> callers = new ArrayList<>();
            for (int thread = 0; thread < 3; thread++) {
                callers.add(CompletableFuture.runAsync(() -> callUntilClosed(conductor, answered),
                    command -> Thread.ofVirtual().start(command)));
            }
            while (answered.get() < 4 * round) {
                Thread.onSpinWait();
            }
            conductor.close();
            callers.forEach(CompletableFuture::join);

            assertEquals(answered.get(), state.applied().size());
        }
    }

    private static void callUntilClosed(final Conductor conductor, final AtomicInteger answered) {
        while (true) {
            try {
                conductor.apply(new Exists(ObjectKey.of("k")));
                answered.incrementAndGet();
            } catch (final StoreException e) {
                assertEquals(ErrorCode.UNAVAILABLE_IN_CURRENT_STATUS, e.code());
                return;
            }
        }
    }
}
