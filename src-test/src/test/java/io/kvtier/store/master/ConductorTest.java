package io.kvtier.store.master;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.ManualClock;
import io.kvtier.kit.Threads;
import io.kvtier.store.BatchResult;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.PutOptions;
import io.kvtier.store.StoreException;
import io.kvtier.store.protocol.AdminCommand;
import io.kvtier.store.protocol.Batch;
import io.kvtier.store.protocol.ObjectCommand.Exists;
import io.kvtier.store.protocol.ObjectCommand.PutStart;
import io.kvtier.store.protocol.ObjectCommand.Remove;
import io.kvtier.store.protocol.PutStartReply;
import io.kvtier.store.protocol.PutStartReply.NoSpace;
import io.kvtier.store.protocol.PutStartReply.Started;
import io.kvtier.store.protocol.TaskCommand.CreateTask;
import io.kvtier.store.protocol.TaskCommand.Kind;
import io.kvtier.store.protocol.WorkKind;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What a conductor does besides applying commands: waits, time, limits, the end. */
class ConductorTest {
    private static final UUID CLIENT = new UUID(1, 2);
    private static final UUID OTHER = new UUID(3, 4);
    private static final ObjectKey KEY = ObjectKey.of("k");

    private final ManualClock clock = new ManualClock(1000);
    private final CountingState state = new CountingState(0);
    private final Conductor conductor = new Conductor(state.running(clock), new Conductor.Limits(8, 20, 3));
    private final List<Object> told = Collections.synchronizedList(new ArrayList<>());

    /** Lets a state machine go on that a test has stopped. */
    private final CountDownLatch goOn = new CountDownLatch(1);

    /** A put of a connection; what it was told is noted. */
    private final class Put extends CommandEntry<PutStartReply> {
        private final long connection;
        private volatile boolean late;

        Put(final long connection, final long waitMs) {
            super(new PutStart(CLIENT, connection, KEY, 1, PutOptions.DEFAULT, false), waitMs);
            this.connection = connection;
        }

        @Override
        boolean isLate() {
            return late;
        }

        @Override
        long connection() {
            return connection;
        }

        @Override
        public void deliver() {
            told.add(this);
        }
    }

    /** A batch of 19 commands. */
    private static final class Bulk extends CommandEntry<List<BatchResult<Boolean>>> {
        private final CountDownLatch over = new CountDownLatch(1);

        Bulk() {
            super(new Batch<>(Collections.nCopies(19, new Exists(KEY))), 0);
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
            over.countDown();
        }
    }

    private final class Wait extends AwaitEntry {
        private final long connection;

        Wait(final UUID clientId, final long connection, final long timeoutMs) {
            super(clientId, timeoutMs);
            this.connection = connection;
        }

        @Override
        long connection() {
            return connection;
        }

        @Override
        public void deliver() {
            told.add(this);
        }
    }

    @AfterEach
    void close() {
        // A test that failed must not leave the state machine standing still.
        goOn.countDown();
        conductor.close();
    }

    private <E extends Entry> E submitted(final E entry) {
        assertTrue(conductor.submit(entry));
        return entry;
    }

    /** A command that stands still inside the state, once this returns, until {@link #goOn}. */
    private CompletableFuture<Boolean> stoppedInside() {
        final CountDownLatch inside = new CountDownLatch(1);
        state.onApply(() -> {
            inside.countDown();
            await(goOn);
        });
        final CompletableFuture<Boolean> holder = Threads.start(() -> conductor.apply(new Exists(KEY)));
        await(inside);
        return holder;
    }

    private void remove() {
        conductor.apply(new Remove(KEY, true));
    }

    private void queueTask(final UUID client) {
        conductor.apply(new CreateTask(Kind.COPY, ObjectKey.of(client.toString()), "a", List.of("b")));
    }

    /** The clock's thread ticks once more, so that it has seen what time it is. */
    private void awaitTick() {
        conductor.start();
        final CountDownLatch ticked = new CountDownLatch(1);
        final long before = ticks();
        Threads.start(() -> {
            while (ticks() < before + 2) {
                Thread.onSpinWait();
            }
            ticked.countDown();
        }).join();
        assertEquals(0, ticked.getCount());
    }

    /** Read inside the state, where it is written. */
    private long ticks() {
        final long[] ticks = new long[1];
        state.onApply(() -> ticks[0] = state.ticks());
        conductor.apply(new Exists(KEY));
        return ticks[0];
    }

    @Test
    void shouldKeepPutsUntilThereIsRoomAndServeThemInTheirOrder() {
        final Put first = submitted(new Put(1, 1000));
        final Put second = submitted(new Put(2, 1000));
        assertEquals(List.of(), told);

        remove();
        assertEquals(List.of(first), told);
        assertInstanceOf(Started.class, first.reply());
        remove();

        assertEquals(List.of(first, second), told);
        assertInstanceOf(Started.class, second.reply());
    }

    @Test
    void shouldAnswerAtOnceWhenAPutDoesNotWaitOrTooManyDo() {
        final Put impatient = submitted(new Put(1, 0));
        for (int i = 0; i < 3; i++) {
            submitted(new Put(2, 1000));
        }
        final Put oneTooMany = submitted(new Put(3, 1000));

        assertEquals(List.of(impatient, oneTooMany), told);
        assertEquals(new NoSpace(true), oneTooMany.reply());
    }

    @Test
    void shouldEndAWaitWhenItsTimeIsOver() {
        final Put put = submitted(new Put(1, 1000));
        final Wait wait = submitted(new Wait(CLIENT, 2, 3000));
        clock.advance(999);
        awaitTick();
        assertEquals(List.of(), told);

        clock.advance(1);
        while (told.isEmpty()) {
            Thread.onSpinWait();
        }
        assertEquals(List.of(put), told);
        assertEquals(new NoSpace(true), put.reply());
        clock.advance(2000);
        while (told.size() < 2) {
            Thread.onSpinWait();
        }
        assertEquals(List.of(put, wait), told);
        assertEquals(0, wait.kinds());
    }

    @Test
    void shouldEndFirstWhatIsOverFirstThoughItCameLast() {
        final Wait late = submitted(new Wait(CLIENT, 1, 3000));
        final Put latePut = submitted(new Put(1, 3000));
        final Wait early = submitted(new Wait(OTHER, 2, 1000));
        final Put earlyPut = submitted(new Put(2, 2000));
        conductor.start();
        final List<Entry> over = List.of(early, earlyPut);
        for (int i = 0; i < 2; i++) {
            clock.advance(1000);
            while (told.size() < i + 1) {
                Thread.onSpinWait();
            }
            assertEquals(over.subList(0, i + 1), told);
        }
        clock.advance(1000);
        while (told.size() < 4) {
            Thread.onSpinWait();
        }
        assertTrue(told.containsAll(List.of(late, latePut)));
    }

    @Test
    void shouldEndWaitsWithTheirConnectionAndLeaveTheOthers() {
        final Put gone = submitted(new Put(1, 1000));
        final Wait goneToo = submitted(new Wait(CLIENT, 1, 1000));
        final Put stays = submitted(new Put(2, 1000));

        conductor.disconnected(1);
        // Told, so that the server does not wait for them when it closes; their answers go nowhere.
        submitted(new Put(9, 0));
        assertTrue(told.containsAll(List.of(gone, goneToo)));
        assertFalse(told.contains(stays));
        final int applied = state.applied().size();
        remove();

        assertTrue(told.contains(stays));
        assertEquals(applied + 2, state.applied().size(), "the remove and the put that is still there");
        queueTask(CLIENT);
        assertEquals(WorkKind.TASKS.bit(), submitted(new Wait(CLIENT, 3, 1000)).kinds(), "nobody else took it");
    }

    @Test
    void shouldTellAllWaitsOfAClientOfItsWorkAndNobodyElse() {
        final Wait first = submitted(new Wait(CLIENT, 1, 1000));
        final Wait second = submitted(new Wait(CLIENT, 2, 1000));
        submitted(new Wait(OTHER, 3, 1000));

        queueTask(CLIENT);

        assertEquals(List.of(first, second), told);
        assertEquals(WorkKind.TASKS.bit(), first.kinds());
        assertEquals(WorkKind.TASKS.bit(), second.kinds());
        submitted(new Wait(CLIENT, 1, 1000));
        assertEquals(2, told.size(), "it was told once");
    }

    @Test
    void shouldRememberWorkThatComesWhileNobodyWaits() {
        queueTask(CLIENT);

        assertEquals(0, submitted(new Wait(OTHER, 1, 0)).kinds());
        assertEquals(WorkKind.TASKS.bit(), submitted(new Wait(CLIENT, 1, 1000)).kinds());
        assertEquals(0, submitted(new Wait(CLIENT, 1, 0)).kinds());
        assertEquals(3, told.size());
    }

    @Test
    void shouldNotCarryOutWhatIsLate() {
        final Put late = new Put(1, 1000);
        late.late = true;
        submitted(late);
        assertTrue(late.wasLate());
        assertEquals(List.of(), state.applied());

        final Put parked = submitted(new Put(2, 1000));
        parked.late = true;
        remove();
        assertTrue(parked.wasLate(), "its caller gave up while it was parked");
        assertEquals(2, state.applied().size(), "its first try and the remove");
    }

    @Test
    void shouldRefuseWhenTheQueueIsFullAndTakeMoreLater() {
        final CompletableFuture<Boolean> holder = stoppedInside();
        int taken = 0;
        while (conductor.submit(new Put(1, 0))) {
            taken++;
        }
        assertEquals(8, taken);
        final StoreException full = assertThrows(StoreException.class, () -> conductor.apply(new Exists(KEY)));
        assertEquals(ErrorCode.UNAVAILABLE_IN_CURRENT_STATUS, full.code());
        goOn.countDown();

        assertTrue(holder.join());
        while (told.size() < taken) {
            conductor.submit(new Put(1, 0));
        }
        assertTrue(conductor.apply(new Exists(KEY)));
    }

    @Test
    void shouldTellTheOthersAndGoOnWhenOneCannotBeTold() {
        final CompletableFuture<Boolean> holder = stoppedInside();
        submitted(new Entry() {
            @Override
            public boolean apply(final Running running, final Parked parked) {
                return true;
            }

            @Override
            public void deliver() {
                throw new IllegalStateException("a test's answer that cannot be given");
            }
        });
        final Put other = submitted(new Put(1, 0));
        goOn.countDown();

        assertTrue(holder.join());
        assertEquals(List.of(other), told);
        assertTrue(conductor.apply(new Exists(KEY)));
    }

    @Test
    void shouldApplyOthersCommandsWhileOneIsTold() {
        final CountDownLatch telling = new CountDownLatch(1);
        final CompletableFuture<Boolean> slow = Threads.start(() -> conductor.submit(new Entry() {
            @Override
            public boolean apply(final Running running, final Parked parked) {
                return true;
            }

            @Override
            public void deliver() {
                telling.countDown();
                await(goOn);
            }
        }));
        await(telling);
        assertTrue(conductor.apply(new Exists(KEY)));
        assertFalse(slow.isDone());
        goOn.countDown();
        assertTrue(slow.join());
    }

    @Test
    void shouldCountTheCommandsOfBatchesAgainstTheLimit() {
        final CompletableFuture<Boolean> holder = stoppedInside();
        final Bulk bulk = submitted(new Bulk());
        int taken = 0;
        while (conductor.submit(new Put(1, 0))) {
            taken++;
        }
        assertTrue(taken < 8, "the batch fills the queue long before its places do");
        goOn.countDown();

        assertTrue(holder.join());
        await(bulk.over);
        assertEquals(19, bulk.reply().size());
    }

    @Test
    void shouldAnswerWithWhatTheStateThrows() {
        final StoreException refused = assertThrows(StoreException.class,
            () -> conductor.apply(new AdminCommand.Quotas()));
        assertEquals(ErrorCode.INVALID_PARAMS, refused.code());
        final StoreException broken = assertThrows(StoreException.class,
            () -> conductor.apply(new AdminCommand.Statistics()));
        assertEquals(ErrorCode.INTERNAL_ERROR, broken.code());

        assertTrue(conductor.apply(new Exists(KEY)));
    }

    @Test
    void shouldAnswerAllThatWaitWhenItCloses() {
        final Put put = submitted(new Put(1, 1000));
        final Wait wait = submitted(new Wait(CLIENT, 1, 1000));
        conductor.close();
        conductor.close();

        assertTrue(told.containsAll(List.of(put, wait)));
        assertEquals(new NoSpace(true), put.reply());
        assertTrue(state.isClosed());
        final Put after = submitted(new Put(1, 1000));
        assertEquals(ErrorCode.UNAVAILABLE_IN_CURRENT_STATUS, after.refusal().code());
    }

    @Test
    void shouldRefuseWhoComesDuringItsLastTurn() throws Exception {
        final CompletableFuture<StoreException> refusal = new CompletableFuture<>();
        final Thread caller = Thread.ofPlatform().daemon().unstarted(() -> refusal.complete(
            assertThrows(StoreException.class, () -> conductor.apply(new Exists(KEY)))));
        state.onClose(() -> {
            caller.start();
            assertTrue(Threads.awaitWaiting(caller), "the one that closes has the lock");
        });

        conductor.close();

        assertEquals(ErrorCode.UNAVAILABLE_IN_CURRENT_STATUS, refusal.get().code());
    }

    @Test
    void shouldNotBeClosedBeforeItsThreadHasToldTheLastOne() throws InterruptedException {
        final CountDownLatch telling = new CountDownLatch(1);
        final AwaitEntry slow = new AwaitEntry(CLIENT, 1) {
            @Override
            long connection() {
                return 1;
            }

            @Override
            public void deliver() {
                telling.countDown();
                await(goOn);
                told.add(this);
            }
        };
        submitted(slow);
        clock.advance(1);
        conductor.start();
        await(telling);
        final Thread closer = Thread.ofPlatform().daemon().start(conductor::close);

        assertTrue(Threads.awaitWaiting(closer), "it has ended while an answer was still to be given");

        goOn.countDown();
        closer.join();
        assertEquals(List.of(slow), told);
    }

    private static void await(final CountDownLatch latch) {
        try {
            latch.await();
        } catch (final InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
