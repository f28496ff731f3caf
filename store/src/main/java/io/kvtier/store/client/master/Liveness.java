package io.kvtier.store.client.master;

import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreException;
import io.kvtier.store.protocol.Master;
import io.kvtier.store.protocol.SegmentCommand.ClientStatus;
import io.kvtier.store.protocol.SegmentCommand.Ping;
import io.kvtier.store.protocol.SegmentCommand.PingReply;
import io.kvtier.transport.ThreadEnds;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Tells the master that this client is alive, and notices when the master has forgotten what it lends.
 *
 * <p>The thread does nothing else: lending anew is done by another, while this one goes on. An answer that was given
 * before that had ended says nothing about what is lent now and is passed over.
 *
 * <p><b>Threading:</b> one platform thread of its own. <b>Lifetime:</b> until closed, which waits for a ping under way.
 */
public final class Liveness implements AutoCloseable {
    private static final System.Logger LOG = System.getLogger(Liveness.class.getName());
    private static final int PINGS_A_LIFE = 10;
    private static final long LONGEST_MS = 1_000;
    private static final int MOUNT_ATTEMPTS = 5;

    private final Master master;
    private final Ping ping;
    private final ExecutorService chores;
    private final Duties duties;
    private final long intervalMs;
    private final AtomicLong mounted = new AtomicLong();
    private final AtomicBoolean mounting = new AtomicBoolean();
    private final CountDownLatch stop = new CountDownLatch(1);
    private final Thread thread = Thread.ofPlatform().daemon().name("kvtier-ping").unstarted(this::run);
    private long term;
    private boolean forgotten;
    private boolean silent;
    /** Lending anew has failed; the master knows this client by its pings and does not ask again. */
    private volatile boolean retry;
    private volatile boolean settled;

    /** What is to be done when the time has come. */
    public interface Duties {
        /**
         * Whether it lends anything: who does not is asked for it by every ping, and has nothing to do. Must not block.
         */
        boolean lends();

        /** Lends everything, for the first time; may block. */
        void mount();

        /** Lends everything anew; may block. */
        void remount();

        /** Every second or so, by the thread of the pings: must not block. */
        void tick();
    }

    /**
     * A client that has pinged once.
     *
     * @param master where to.
     * @param ping   what it says.
     * @param first  what it was answered.
     * @param chores does what takes time.
     * @param duties what is to be done.
     */
    public Liveness(final Master master, final Ping ping, final PingReply first, final ExecutorService chores,
        final Duties duties) {
        this.master = master;
        this.ping = ping;
        this.chores = chores;
        this.duties = duties;
        this.term = first.term();
        this.intervalMs = Math.max(1, Math.min(LONGEST_MS, first.ttlMs() / PINGS_A_LIFE));
    }

    /**
     * Begins to ping, and lends everything for the first time. That may take longer than the master waits for a word of
     * this client (memory is cleared, files are reserved, all that is on a disk is offered), so the pings come first.
     * Blocks until everything is lent; what is thrown says why it could not be.
     */
    public void start() {
        mounting.set(true);
        thread.start();
        try {
            CompletableFuture.runAsync(this::mount, chores).join();
        } catch (final CompletionException e) {
            switch (e.getCause()) {
                case RuntimeException why -> throw why;
                case Error why -> throw why;
                case null, default -> throw e;
            }
        } finally {
            mounted.incrementAndGet();
            mounting.set(false);
        }
    }

    /** A process that stood still for a while has been taken for dead; its next ping says that it is not. */
    private void mount() {
        for (int attempt = 1;; attempt++) {
            try {
                duties.mount();
                return;
            } catch (final StoreException e) {
                if (e.code() != ErrorCode.UNAVAILABLE_IN_CURRENT_STATUS || attempt == MOUNT_ATTEMPTS) {
                    throw e;
                }
                master.apply(ping);
            }
        }
    }

    private void run() {
        try {
            while (!stop.await(intervalMs, TimeUnit.MILLISECONDS)) {
                try {
                    once();
                } catch (final RuntimeException | Error e) {
                    LOG.log(System.Logger.Level.ERROR, "a ping ended in an unforeseen way", e);
                }
            }
        } catch (final InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void once() {
        final long before = mounted.get();
        try {
            final PingReply reply = master.apply(ping);
            heard();
            final boolean news =
                duties.lends() && (reply.status() == ClientStatus.NEED_REMOUNT || reply.term() != term);
            // A master that was started anew while something was being lent is noticed by the next answer.
            if (before == mounted.get() && !mounting.get()) {
                forgotten |= news;
                term = reply.term();
            }
            settled = !forgotten && !mounting.get();
            if (forgotten && mounting.compareAndSet(false, true)) {
                forgotten = false;
                chores.execute(this::remount);
            }
        } catch (final StoreException e) {
            settled = false;
            unheard(e);
        } catch (final RejectedExecutionException e) {
            // The store is being closed.
            mounting.set(false);
        }
        duties.tick();
    }

    /**
     * Whether the last ping was answered, and nothing is to be lent anew. Before, nothing may be lent alone: the master
     * would take the client for one that lends everything again.
     */
    public boolean isSettled() {
        return settled;
    }

    private void remount() {
        boolean done = false;
        try {
            LOG.log(System.Logger.Level.INFO, "the master does not know what this client lends; it is lent anew");
            duties.remount();
            done = true;
        } catch (final RuntimeException e) {
            LOG.log(System.Logger.Level.WARNING, "memory or disk could not be lent anew; it is tried again: {0}",
                e.getMessage());
        } finally {
            mounted.incrementAndGet();
            retry = !done;
            mounting.set(false);
        }
    }

    private void heard() {
        if (silent) {
            LOG.log(System.Logger.Level.INFO, "the master answers again");
            silent = false;
        }
        forgotten |= retry && !mounting.get();
    }

    /** Said once, not every second. */
    private void unheard(final StoreException why) {
        if (!silent && stop.getCount() > 0) {
            LOG.log(System.Logger.Level.WARNING, "the master does not answer: {0}", why.getMessage());
            silent = true;
        }
    }

    @Override
    public void close() {
        stop.countDown();
        ThreadEnds.await(thread);
    }
}
