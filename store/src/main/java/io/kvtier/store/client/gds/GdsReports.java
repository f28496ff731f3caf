package io.kvtier.store.client.gds;

import io.kvtier.store.protocol.Command.Ack;
import io.kvtier.store.protocol.GdsCommand;
import io.kvtier.store.protocol.GdsCommand.GdsState;
import io.kvtier.store.protocol.GdsCommand.GdsWork;
import io.kvtier.store.protocol.Master;
import java.util.UUID;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Tells the master what this client has done with its file, again and again, and nothing when nothing has changed.
 *
 * <p>Counts are told from the last thing on that the master is known to have heard of before the file was registered
 * the last time: a master that has forgotten the file keeps what it was told of it among what is past.
 *
 * <p><b>Threading:</b> thread-safe: a report and the beginning of a run wait for each other, so that no report is
 * counted in two runs. <b>Blocking:</b> on the master.
 */
final class GdsReports {
    private final Master master;
    private final UUID clientId;
    private final UUID storageId;
    private final long generation;
    private final ReentrantLock telling = new ReentrantLock();
    private long run;
    /** What was told before the run. */
    private GdsWork base = GdsWork.NONE;
    /** What the master has heard; null before it has heard anything in this run. */
    private GdsCommand.ReportGdsWork heard;
    private GdsWork heardWork = GdsWork.NONE;

    GdsReports(final Master master, final UUID clientId, final UUID storageId, final long generation) {
        this.master = master;
        this.clientId = clientId;
        this.storageId = storageId;
        this.generation = generation;
    }

    /** The file is about to be registered. */
    void begin() {
        telling.lock();
        try {
            run++;
            base = heardWork;
            heard = null;
        } finally {
            telling.unlock();
        }
    }

    /**
     * Tells the master, unless it has heard of that.
     *
     * @param work  all since the file was opened.
     * @param state how the file is.
     * @throws io.kvtier.store.StoreException when the master could not be told.
     */
    void tell(final GdsWork work, final GdsState state) {
        telling.lock();
        try {
            final GdsCommand.ReportGdsWork report = new GdsCommand.ReportGdsWork(clientId, storageId,
                generation, run, work.since(base), state);
            // Before the first run there is nobody who would know the file.
            if (run > 0 && !report.equals(heard) && master.apply(report) == Ack.OK) {
                heard = report;
                heardWork = work;
            }
        } finally {
            telling.unlock();
        }
    }
}
