package io.kvtier.store.simulation;

import io.kvtier.store.snapshot.Snapshot;
import io.kvtier.store.snapshot.SnapshotSource;
import io.kvtier.store.snapshot.files.MemoryStore;
import io.kvtier.store.snapshot.files.SnapshotArchive;
import io.kvtier.store.snapshot.files.SnapshotId;
import io.kvtier.store.simulation.Tally.Kind;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Snapshots of the master: taken a slice at a time while it goes on, written and read by the real archive, in a store
 * that outlives every master. One that is not completed when its master dies is none; a complete one may be damaged, so
 * that the one before counts.
 */
final class SimulatedSnapshots {
    private static final int KEPT = 3;
    /** Buckets of the catalogue and objects together, so that it takes a few slices. */
    private static final int SLICE = 1500;
    private static final int DAMAGE_ONE_IN = 4;

    private final World world;
    private final MemoryStore store = new MemoryStore();
    private final SnapshotArchive archive = new SnapshotArchive(store, "simulated", KEPT);
    /** The moment that each is of. */
    private final Map<SnapshotId, Long> takenUs = new HashMap<>();

    /** What a master goes on from: what the master of a term knew at a moment. */
    record Restorable(Snapshot snapshot, long term, long takenUs) {
    }

    SimulatedSnapshots(final World world) {
        this.world = world;
    }

    /** Has snapshots taken of a master for as long as it lives. */
    void takeOf(final SimulatedMaster master, final SnapshotSource source) {
        next(master, master.term(), source);
    }

    private void next(final SimulatedMaster master, final long term, final SnapshotSource source) {
        world.timeline().in(world.timeline().between(300, 3000) * Timeline.MS, () -> {
            if (master.isUp(term) && !world.isCalm()) {
                new Taking(master, term, source).begin();
            }
        });
    }

    /** The last one of a master that was asked to end. */
    void takeLast(final SimulatedMaster master, final SnapshotSource source) {
        // One that was begun is of an earlier moment.
        source.end();
        final Taking last = new Taking(master, master.term(), source);
        last.beginNow();
        while (!last.slice()) {
            // Nobody gives commands any more.
        }
        last.commit();
    }

    /** What a new master begins with; null when there is nothing. */
    Restorable restorable() {
        try {
            final List<SnapshotId> ids = archive.list();
            if (!ids.isEmpty() && world.timeline().oneIn(DAMAGE_ONE_IN)) {
                final byte[] payload = store.blobs().get(ids.getFirst() + ".payload");
                payload[world.timeline().below(payload.length)] ^= 1;
                world.tally().count(Kind.SNAPSHOTS_DAMAGED);
            }
            final SnapshotArchive.Restorable best = archive.find().best();
            return best == null ? null : new Restorable(best.snapshot(), best.manifest().id().term(),
                takenUs.get(best.manifest().id()));
        } catch (final IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** One that is being taken. */
    private final class Taking {
        private final SimulatedMaster master;
        private final long term;
        private final SnapshotSource source;
        private SnapshotArchive.Writer writer;
        private long atUs;

        Taking(final SimulatedMaster master, final long term, final SnapshotSource source) {
            this.master = master;
            this.term = term;
            this.source = source;
        }

        void begin() {
            beginNow();
            goOn();
        }

        void beginNow() {
            atUs = world.timeline().nowUs();
            try {
                writer = archive.begin(term, atUs / Timeline.MS);
                writer.head(source.begin());
            } catch (final IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        private void goOn() {
            world.timeline().in(world.timeline().between(100, 15 * Timeline.MS), () -> {
                if (!master.isUp(term)) {
                    world.tally().count(Kind.SNAPSHOTS_CUT);
                } else if (slice()) {
                    world.timeline().in(world.timeline().between(100, 60 * Timeline.MS), () -> {
                        if (master.isUp(term)) {
                            commit();
                            next(master, term, source);
                        } else {
                            world.tally().count(Kind.SNAPSHOTS_CUT);
                        }
                    });
                } else {
                    goOn();
                }
            });
        }

        /** True when it was the last one. */
        boolean slice() {
            try {
                final SnapshotSource.Slice slice = source.next(SLICE);
                writer.objects(slice.objects());
                if (slice.last()) {
                    source.end();
                }
                return slice.last();
            } catch (final IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        void commit() {
            try {
                takenUs.put(writer.commit((world.timeline().nowUs() - atUs) / Timeline.MS).id(), atUs);
                world.tally().count(Kind.SNAPSHOTS);
            } catch (final IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }
}
