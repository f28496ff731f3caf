package io.kvtier.store.master;

import io.kvtier.store.StoreException;
import io.kvtier.store.config.MasterSettings;
import io.kvtier.store.snapshot.Snapshot;
import io.kvtier.store.snapshot.files.SnapshotArchive;
import io.kvtier.store.snapshot.files.SnapshotId;
import java.io.IOException;
import java.lang.System.Logger;
import java.util.List;
import java.util.function.LongSupplier;

/**
 * How a master begins, and whether it takes snapshots.
 *
 * <p><b>Threading:</b> immutable. <b>Lifetime:</b> it has the whole snapshot that is restored; to be let go afterwards.
 */
public final class SnapshotPlan {
    private static final Logger LOG = System.getLogger(SnapshotPlan.class.getName());
    private static final int BITS_WITHIN_TERM = 20;
    private static final long MINUTE_MS = 60_000;
    private static final long HOUR_MS = 3_600_000;

    private final SnapshotArchive archive;
    private final Terms terms;
    private final long term;
    private final Snapshot restored;

    private SnapshotPlan(final SnapshotArchive archive, final Terms terms, final long term, final Snapshot restored) {
        this.archive = archive;
        this.terms = terms;
        this.term = term;
        this.restored = restored;
    }

    /**
     * What is wanted.
     *
     * @param takes      whether it takes some.
     * @param restores   whether it begins with one.
     * @param intervalMs milliseconds from the end of one to the beginning of the next.
     * @param waitMs     milliseconds that what is in a restored one may take to come back.
     */
    public record Terms(boolean takes, boolean restores, long intervalMs, long waitMs) {
    }

    /**
     * A master begins empty, and takes no snapshots.
     *
     * @param nowMs a wall clock.
     * @return the plan.
     */
    public static SnapshotPlan none(final long nowMs) {
        return new SnapshotPlan(null, new Terms(false, false, 1, 0), nowMs, null);
    }

    /**
     * Looks what there is to begin with, reads it, and writes the term there: nobody else gets that any more.
     *
     * @param archive where snapshots are.
     * @param terms   what is wanted.
     * @param nowMs   a wall clock.
     * @return the plan.
     * @throws IOException when the archive cannot be read or written, or has only snapshots that a later version wrote.
     */
    public static SnapshotPlan of(final SnapshotArchive archive, final Terms terms, final long nowMs)
        throws IOException {
        final List<SnapshotId> ids = archive.list();
        final long lastTerm = Math.max(archive.claimedTerm(), ids.isEmpty() ? 0 : ids.getFirst().term());
        final SnapshotArchive.Restorable best = terms.restores() ? best(archive, nowMs) : null;
        final long lastVersion = best == null ? 0 : best.manifest().lastVersion();
        final long term = term(nowMs, lastTerm, lastVersion);
        // A master that dies before its first snapshot has given out versions too.
        archive.claimTerm(term);
        return new SnapshotPlan(archive, terms, term, best == null ? null : best.snapshot());
    }

    private static SnapshotArchive.Restorable best(final SnapshotArchive archive, final long nowMs)
        throws IOException {
        final SnapshotArchive.Found found = archive.find();
        found.refused().forEach(why -> LOG.log(Logger.Level.WARNING, "a snapshot is passed over: {0}", why));
        if (found.best() == null && found.later()) {
            throw new IOException("no snapshot in " + archive + " can be restored by this version: "
                + String.join("; ", found.refused()));
        }
        if (found.best() == null) {
            LOG.log(found.refused().isEmpty() ? Logger.Level.INFO : Logger.Level.WARNING,
                "there is no whole snapshot in {0}; the master begins empty", archive);
            return null;
        }
        LOG.log(Logger.Level.INFO, "restoring snapshot {0} of {1}, taken {2} s ago: {3} objects, which can be read "
            + "when their owners have brought them back", found.best().manifest().id(), archive,
            String.valueOf((nowMs - found.best().manifest().takenAtMs()) / 1000),
            String.valueOf(found.best().snapshot().objects().size()));
        return found.best();
    }

    /**
     * A term whose versions are above all that masters before gave out, also after their last snapshot: these began at
     * 2^20 for each millisecond of a term, and none gives out a million in a millisecond, so that a clock that is a
     * minute beyond what is known of them is beyond them all. One that is not was put back, or the last master has
     * only just begun; an hour's worth of numbers is more than anybody gives out in a day.
     */
    static long term(final long nowMs, final long lastTerm, final long lastVersion) {
        final long known = Math.max(lastTerm, lastVersion >> BITS_WITHIN_TERM);
        return nowMs > known + MINUTE_MS ? nowMs : known + HOUR_MS;
    }

    long term() {
        return term;
    }

    /**
     * The state that a master begins with.
     *
     * @throws StoreException when the snapshot is not one of these settings.
     */
    Running begin(final MasterSettings settings, final LongSupplier clockMs) {
        if (restored == null) {
            return Running.empty(settings, term, clockMs);
        }
        try {
            return Running.restored(settings, term, restored, terms.waitMs(), clockMs);
        } catch (final StoreException e) {
            throw new StoreException(e.code(), "the snapshot in " + archive + " cannot be restored with these "
                + "settings; give those of the master that took it, or begin without enable_snapshot_restore: "
                + e.getMessage(), e);
        }
    }

    /** What takes snapshots of a master, not started; null when none are taken. */
    Snapshots snapshots(final Conductor conductor) {
        return terms.takes() ? new Snapshots(conductor, archive, term, terms.intervalMs()) : null;
    }
}
