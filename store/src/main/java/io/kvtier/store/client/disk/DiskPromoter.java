package io.kvtier.store.client.disk;

import io.kvtier.bindings.NativeException;
import io.kvtier.store.StoreException;
import io.kvtier.store.protocol.DiskCommand.DiskPromotion;
import io.kvtier.store.protocol.DiskCommand.FetchDiskPromotions;
import java.util.List;

/**
 * Copies values that are read often, whoever reads them, from this client's own disk to memory, when the master asks
 * for it. What this client itself reads needs none of that: such a read promotes by itself.
 *
 * <p><b>Threading:</b> {@link #run} by one thread at a time, {@link #stop} by any. <b>Blocking:</b> on the disk, on
 * owners of memory and on the master.
 */
public final class DiskPromoter {
    private static final System.Logger LOG = System.getLogger(DiskPromoter.class.getName());
    private static final int STEP = 32;

    private final DiskTier tier;
    private volatile boolean stopped;

    /** Nothing is copied before {@link #run}. */
    public DiskPromoter(final DiskTier tier) {
        this.tier = tier;
    }

    /** Carries out what waits. */
    public void run() {
        List<DiskPromotion> tasks;
        do {
            tasks = stopped ? List.of() : tier.master().apply(new FetchDiskPromotions(tier.clientId(), STEP));
            tasks.forEach(this::carryOut);
        } while (!tasks.isEmpty());
    }

    /** Ends {@link #run} after the copy that is under way; what was fetched beyond it is named again in time. */
    public void stop() {
        stopped = true;
    }

    private void carryOut(final DiskPromotion task) {
        if (stopped) {
            return;
        }
        String problem;
        try {
            problem = tier.promote(task);
        } catch (final StoreException | NativeException e) {
            problem = e.getMessage();
        }
        if (problem != null) {
            LOG.log(System.Logger.Level.WARNING, "{0} was not copied from disk to memory: {1}", task.key(), problem);
        }
    }
}
