package io.kvtier.store.client.work;

import io.kvtier.store.StoreException;
import io.kvtier.store.client.master.MasterLink;
import io.kvtier.store.protocol.WorkKind;
import io.kvtier.transport.ThreadEnds;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * Waits at the master for work, and hands it on.
 *
 * <p><b>Threading:</b> one platform thread of its own; the receiver must not block. <b>Lifetime:</b> until closed.
 */
public final class WorkLoop implements AutoCloseable {
    private static final System.Logger LOG = System.getLogger(WorkLoop.class.getName());
    private static final long WAIT_MS = 20_000;
    private static final long PAUSE_MS = 500;
    private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(PAUSE_MS);

    private final MasterLink master;
    private final UUID clientId;
    private final Consumer<WorkKind> receiver;
    private final CountDownLatch stop = new CountDownLatch(1);
    private final Thread thread = Thread.ofPlatform().daemon().name("kvtier-work").unstarted(this::run);

    /** Not started yet. */
    public WorkLoop(final MasterLink master, final UUID clientId, final Consumer<WorkKind> receiver) {
        this.master = master;
        this.clientId = clientId;
        this.receiver = receiver;
    }

    /** Begins to wait for work. */
    public void start() {
        thread.start();
    }

    /** All there may be: announcements may have been lost. */
    public void lookForAll() {
        for (final WorkKind kind : WorkKind.values()) {
            receiver.accept(kind);
        }
    }

    private void run() {
        while (stop.getCount() > 0) {
            try {
                final long askedNanos = System.nanoTime();
                final int work = master.awaitWork(clientId, WAIT_MS);
                if (work == 0 && System.nanoTime() - askedNanos < PAUSE_NANOS) {
                    // As many as may wait there already: asked again at once it would say so again.
                    pause();
                }
                for (final WorkKind kind : WorkKind.values()) {
                    if ((work & kind.bit()) != 0) {
                        receiver.accept(kind);
                    }
                }
            } catch (final StoreException e) {
                // The pings say that the master does not answer.
                lookForAllLater();
            } catch (final RuntimeException | Error e) {
                // A fault of the store. The thread lives on: without it nothing is offloaded or removed any more.
                LOG.log(System.Logger.Level.ERROR, "a wait for work ended in an unforeseen way", e);
                lookForAllLater();
            }
        }
    }

    private void lookForAllLater() {
        if (pause()) {
            lookForAll();
        }
    }

    /** False when it is time to end. */
    private boolean pause() {
        try {
            return !stop.await(PAUSE_MS, TimeUnit.MILLISECONDS);
        } catch (final InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    @Override
    public void close() {
        stop.countDown();
        master.endWaits();
        ThreadEnds.await(thread);
    }
}
