package io.kvtier.store.client.gds;

import io.kvtier.store.StoreException;
import io.kvtier.store.client.call.WorkSignal;
import io.kvtier.transport.RareLog;
import io.kvtier.transport.ThreadEnds;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BooleanSupplier;

/**
 * The thread {@code kvtier-gds} of a file for GDS replicas: frees what was dropped, asks what is in doubt, and tells
 * the master what was done. What could not be done is tried again after a pause.
 *
 * <p><b>Threading:</b> thread-safe. <b>Lifetime:</b> started once or never; it ends when it was told to stop and what
 * it is at has ended.
 */
final class GdsUpkeep {
    private static final System.Logger LOG = System.getLogger(GdsUpkeep.class.getName());

    /** For people. */
    private final Path file;
    private final Runnable report;
    private final BooleanSupplier free;
    private final WorkSignal work = new WorkSignal();
    private final AtomicBoolean started = new AtomicBoolean();
    private final Thread thread = Thread.ofPlatform().daemon().name("kvtier-gds").unstarted(this::run);
    private final RareLog notes = new RareLog(LOG);
    private volatile boolean stopping;
    /** Something is to be freed, or asked. */
    private volatile boolean due;
    private volatile boolean reportDue;

    /**
     * Not started yet.
     *
     * @param file   whose upkeep it is.
     * @param report tells the master what was done; throws nothing that can be foreseen.
     * @param free   frees and asks; true when something is left that is to be tried again.
     */
    GdsUpkeep(final Path file, final Runnable report, final BooleanSupplier free) {
        this.file = file;
        this.report = report;
        this.free = free;
    }

    /** Begins; nothing the second time. */
    void start() {
        if (started.compareAndSet(false, true)) {
            thread.start();
        }
    }

    /** There is something to free, or to ask. */
    void wake() {
        due = true;
        work.wake();
    }

    /** It is time to tell. */
    void reportSoon() {
        reportDue = true;
        work.wake();
    }

    private void run() {
        boolean again = false;
        while (!stopping) {
            work.await(again);
            try {
                if (reportDue) {
                    reportDue = false;
                    report.run();
                }
                if (due || again) {
                    due = false;
                    again = free.getAsBoolean();
                }
            } catch (final StoreException e) {
                again = true;
                notes.warn("the master could not be asked what to free in " + file, e::getMessage);
            } catch (final RuntimeException | Error e) {
                // A fault of the store. The thread lives on: without it the file fills up.
                again = true;
                LOG.log(System.Logger.Level.ERROR, "freeing room in " + file + " ended in an unforeseen way", e);
            }
        }
    }

    /** Has the thread end soon. */
    void stop() {
        stopping = true;
        wake();
    }

    /** Waits for the end of the thread; false when it never began. */
    boolean awaitEnd() {
        if (!started.get()) {
            return false;
        }
        ThreadEnds.await(thread);
        return true;
    }

    boolean isRunning() {
        return thread.isAlive();
    }
}
