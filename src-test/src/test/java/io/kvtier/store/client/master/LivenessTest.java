package io.kvtier.store.client.master;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreException;
import io.kvtier.store.protocol.Command;
import io.kvtier.store.protocol.Master;
import io.kvtier.store.protocol.SegmentCommand.ClientStatus;
import io.kvtier.store.protocol.SegmentCommand.Ping;
import io.kvtier.store.protocol.SegmentCommand.PingReply;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** When a client lends anew: once each time that the master has forgotten it. */
class LivenessTest {
    private static final PingReply KNOWN = reply(ClientStatus.OK, 1);
    private static final PingReply FORGOTTEN = reply(ClientStatus.NEED_REMOUNT, 1);

    private final LinkedBlockingQueue<Ping> asked = new LinkedBlockingQueue<>();
    private final LinkedBlockingQueue<PingReply> answers = new LinkedBlockingQueue<>();
    private final ExecutorService chores = Executors.newSingleThreadExecutor();
    private final AtomicInteger lent = new AtomicInteger();
    private final AtomicInteger first = new AtomicInteger();
    private volatile Runnable lendingFirst = () -> { };
    private volatile Runnable lending = () -> { };
    private volatile boolean answersAll;

    /** It answers as the test tells it. */
    private final Master master = new Master() {
        @Override
        @SuppressWarnings("unchecked") // Nothing but pings is sent.
        public <R> R apply(final Command<R> command) {
            asked.add((Ping) command);
            try {
                return (R) (answersAll ? KNOWN : answers.take());
            } catch (final InterruptedException e) {
                throw new AssertionError(e);
            }
        }
    };
    private final Liveness liveness = new Liveness(master, new Ping(new UUID(1, 2), "", "", ""), KNOWN, chores,
        new Liveness.Duties() {
            @Override
            public boolean lends() {
                return true;
            }

            @Override
            public void mount() {
                first.incrementAndGet();
                lendingFirst.run();
            }

            @Override
            public void remount() {
                lent.incrementAndGet();
                lending.run();
            }

            @Override
            public void tick() {
                // Nothing is to be done.
            }
        });

    private static PingReply reply(final ClientStatus status, final long term) {
        return new PingReply(status, term, 1000, 10);
    }

    @AfterEach
    void close() {
        answersAll = true;
        // For the ping that is under way.
        answers.add(KNOWN);
        liveness.close();
        chores.close();
    }

    /** Answers the ping under way; afterwards the next one is, and what the answer has set off has been done. */
    private void answer(final PingReply reply) throws Exception {
        answers.add(reply);
        asked.take();
        chores.submit(() -> { }).get();
    }

    private void start() throws InterruptedException {
        liveness.start();
        // The first ping may have been sent before all was lent, and what it is answered is passed over then.
        answers.add(KNOWN);
        asked.take();
        asked.take();
    }

    @Test
    void shouldLendAnewEachTimeThatTheMasterHasForgotten() throws Exception {
        start();
        answer(KNOWN);
        assertEquals(0, lent.get());
        answer(FORGOTTEN);
        assertEquals(1, lent.get());
        answer(KNOWN);
        assertTrue(liveness.isSettled());
        answer(reply(ClientStatus.OK, 2));
        assertEquals(2, lent.get(), "another master knows nothing");
        answer(reply(ClientStatus.OK, 2));
        assertEquals(2, lent.get());
    }

    /** What it says may be older than what is lent now, and memory that is lent anew loses what lies in it. */
    @Test
    void shouldNotLendAnewForAnAnswerToAPingFromBefore() throws Exception {
        final CountDownLatch inside = new CountDownLatch(1);
        final CountDownLatch go = new CountDownLatch(1);
        lending = () -> {
            inside.countDown();
            await(go);
        };
        start();
        answers.add(FORGOTTEN);
        inside.await();
        asked.take();
        // A ping is under way that was sent before the lending has ended.
        go.countDown();
        chores.submit(() -> { }).get();
        answer(FORGOTTEN);
        assertEquals(1, lent.get());
        assertTrue(liveness.isSettled());
        answer(FORGOTTEN);
        assertEquals(2, lent.get(), "this one was sent afterwards");
    }

    /** Memory is cleared, files are reserved: that may take longer than the master waits for a word of a client. */
    @Test
    void shouldPingWhileItLendsForTheFirstTime() throws Exception {
        lendingFirst = () -> {
            try {
                asked.take();
                answers.add(FORGOTTEN);
                asked.take();
            } catch (final InterruptedException e) {
                throw new AssertionError(e);
            }
        };
        liveness.start();
        assertEquals(1, first.get());
        answers.add(KNOWN);
        asked.take();
        answer(KNOWN);
        assertEquals(0, lent.get(), "it is being lent already");
    }

    /** A process that stood still for long, before anything of it was there. */
    @Test
    void shouldLendAgainWhenItWasTakenForDeadMeanwhile() {
        lendingFirst = () -> {
            if (first.get() < 3) {
                throw new StoreException(ErrorCode.UNAVAILABLE_IN_CURRENT_STATUS, "taken for dead");
            }
        };
        answersAll = true;
        liveness.start();
        assertEquals(3, first.get());
    }

    @Test
    void shouldSayWhyNothingCouldBeLent() {
        lendingFirst = () -> {
            throw new StoreException(ErrorCode.UNAVAILABLE_IN_CURRENT_STATUS, "number " + first.get());
        };
        answersAll = true;
        assertEquals("UNAVAILABLE_IN_CURRENT_STATUS: number 5",
            assertThrows(StoreException.class, liveness::start).getMessage());
    }

    /** Another master in its place has to be told of everything once more, also of what the first one heard of. */
    @Test
    void shouldLendAnewWhenAnotherMasterCameWhileItWasLending() throws Exception {
        final CountDownLatch inside = new CountDownLatch(1);
        final CountDownLatch go = new CountDownLatch(1);
        start();
        lending = () -> {
            inside.countDown();
            await(go);
        };
        answers.add(FORGOTTEN);
        inside.await();
        asked.take();
        // Answered while it lends; the one after it is answered by the same master.
        answers.add(reply(ClientStatus.OK, 2));
        asked.take();
        go.countDown();
        chores.submit(() -> { }).get();
        answer(reply(ClientStatus.OK, 2));
        answer(reply(ClientStatus.OK, 2));
        assertEquals(2, lent.get());
    }

    /** The master knows the client by its pings, and does not ask for it again. */
    @Test
    void shouldTryAgainToLendWhatCouldNotBeLent() throws Exception {
        lending = () -> {
            if (lent.get() < 3) {
                throw new StoreException(ErrorCode.RPC_FAIL, "lost");
            }
        };
        start();
        answer(FORGOTTEN);
        for (int i = 0; i < 5; i++) {
            answer(KNOWN);
        }
        assertEquals(3, lent.get());
        assertTrue(liveness.isSettled());
    }

    private static void await(final CountDownLatch latch) {
        try {
            latch.await();
        } catch (final InterruptedException e) {
            throw new AssertionError(e);
        }
    }
}
