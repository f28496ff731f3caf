package io.kvtier.store.client.call;

import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

/**
 * Tells a thread that there is something to do. However often it was told meanwhile, it looks once: what was there
 * before the last call is seen by that look.
 *
 * <p><b>Threading:</b> {@link #wake} for any thread, {@link #await} for the one that works.
 */
public final class WorkSignal {
    /** A pause before something is tried again that could not be done. */
    static final long RETRY_MS = 500;
    private static final System.Logger LOG = System.getLogger(WorkSignal.class.getName());

    private final Semaphore work = new Semaphore(0);

    /** There is something to do. Never blocks. */
    public void wake() {
        work.release();
    }

    /**
     * Waits for work.
     *
     * @param again whether some was left undone: then for no longer than {@link #RETRY_MS}.
     */
    public void await(final boolean again) {
        if (again) {
            try {
                work.tryAcquire(RETRY_MS, TimeUnit.MILLISECONDS);
            } catch (final InterruptedException e) {
                LOG.log(System.Logger.Level.DEBUG, "interrupted; it is tried again at once");
            }
        } else {
            work.acquireUninterruptibly();
        }
        work.drainPermits();
    }
}
