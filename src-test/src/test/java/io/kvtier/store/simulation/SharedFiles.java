package io.kvtier.store.simulation;

import io.kvtier.store.protocol.PageCommand.PageAllocation;
import io.kvtier.store.protocol.PageCommand.PageRequest;
import io.kvtier.store.replica.PageLayout;
import io.kvtier.store.replica.ReplicaDescriptor.DistributedDisk;
import io.kvtier.store.simulation.Tally.Kind;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.function.Consumer;

/**
 * The files that all clients mount: what a reader finds there, and what has been written and is still on its way.
 *
 * <p>Each unit of a write arrives by itself, mostly soon, sometimes as late as {@link Times#KERNEL}, and then whether
 * the process that wrote it lives, is stopped or has died. In a run with write caches a write has ended long before,
 * and is seen when its client syncs the file, or by itself later. A few writes are stuck for longer than anybody may
 * be at a page, as that of a process that was stopped within the system call: such a zombie writes over whatever is
 * there by then, and so do, when a master has started empty, writers whom the master before has sent. Where they were
 * is known here: any other unit that is not what it should be is somebody's fault.
 */
final class SharedFiles {
    /** Units of a page, so that the last one of a value may be half empty. */
    static final int PAGE_UNITS = 2;
    static final int BUCKETS = 2;
    static final int PAGES = 8;
    /** What all clients find there. */
    static final UUID VOLUME = new UUID(7, 7);
    static final PageLayout LAYOUT = new PageLayout("/mnt/shared", BUCKETS, (long) PAGE_UNITS * SimulatedClient.UNIT,
        (long) PAGES * PAGE_UNITS * SimulatedClient.UNIT);
    private static final int ZOMBIE_ONE_IN = 250;
    private static final int LATE_ONE_IN = 20;
    private static final int FAIL_ONE_IN = 120;
    private static final int SYNC_FAIL_ONE_IN = 60;
    private static final long LONGEST_STUCK_MS = 9000;

    private final World world;
    private final boolean cached;
    private final Map<String, File> files = new HashMap<>();
    /** Pages that somebody was given, or might learn that he was given; the latest last. */
    private final List<Grant> grants = new ArrayList<>();
    /** Replicas of a restored snapshot whose pages may be another's. */
    private final Set<Doubt> doubts = new HashSet<>();
    private long lineage;

    /** A file; of each unit whether what is in it came when and whence nobody can be blamed for. */
    private static final class File {
        private final long[] units = new long[PAGES * PAGE_UNITS];
        private final boolean[] spoiled = new boolean[PAGES * PAGE_UNITS];
        private final List<Write> pending = new ArrayList<>();
    }

    private record Doubt(long version, DistributedDisk place) {
    }

    /** Pages that the master of a term gave to a client, which writes there until it closes this. */
    static final class Grant {
        private final long term;
        private final SimulatedClient client;
        private final long life;
        private final PageRequest request;
        private final PageAllocation pages;
        private final long untilUs;
        private boolean adopted;
        private boolean closed;
        private int pending;

        private Grant(final long term, final SimulatedClient client, final PageRequest request,
            final PageAllocation pages, final long untilUs) {
            this.term = term;
            this.client = client;
            this.life = client.life();
            this.request = request;
            this.pages = pages;
            this.untilUs = untilUs;
        }

        DistributedDisk place() {
            return pages.place();
        }

        /** Nothing is written to these pages any more but what is on its way. */
        void close() {
            closed = true;
        }

        boolean isClosed() {
            return closed;
        }

        private boolean mayBegin(final long nowUs) {
            return !closed && nowUs < untilUs && client.life() == life;
        }

        @Override
        public String toString() {
            return client.name() + "'s write of version " + request.version() + " to " + pages + ", term " + term;
        }
    }

    /** A unit on its way. */
    private final class Write {
        private final Grant grant;
        private final int at;
        private final long unit;
        private final boolean zombie;
        /** It has ended for the client and is not seen by others yet. */
        private boolean cachedOnly;
        private boolean over;

        Write(final Grant grant, final int at, final long unit, final boolean zombie) {
            this.grant = grant;
            this.at = at;
            this.unit = unit;
            this.zombie = zombie;
            if (!zombie) {
                grant.pending++;
            }
        }

        private void arrive(final File file) {
            if (over) {
                return;
            }
            lose(file);
            file.units[at] = unit;
            file.spoiled[at] = zombie || grant.term < lineage;
            if (zombie) {
                world.tally().count(Kind.WRITES_OF_ZOMBIES);
                world.trace(() -> "a zombie has written " + at + ": " + grant);
            }
        }

        private void lose(final File file) {
            over = true;
            file.pending.remove(this);
            if (!zombie) {
                grant.pending--;
            }
        }
    }

    SharedFiles(final World world, final boolean cached) {
        this.world = world;
        this.cached = cached;
        for (int i = 0; i < BUCKETS; i++) {
            files.put(LAYOUT.path(i), new File());
        }
    }

    private static int first(final DistributedDisk place) {
        return (int) (place.offset() / SimulatedClient.UNIT);
    }

    private static int count(final DistributedDisk place) {
        return (int) (place.objectSize() / SimulatedClient.UNIT);
    }

    /** Pages that a value takes. */
    static int pages(final DistributedDisk place) {
        return Math.ceilDiv(count(place), PAGE_UNITS);
    }

    static int firstPage(final DistributedDisk place) {
        return first(place) / PAGE_UNITS;
    }

    /** Whether two values have a page in common. */
    static boolean overlap(final DistributedDisk one, final DistributedDisk other) {
        return one.filePath().equals(other.filePath()) && firstPage(one) < firstPage(other) + pages(other)
            && firstPage(other) < firstPage(one) + pages(one);
    }

    // ---- what the master does

    /** A master has started that knows nothing: what others before it allowed is not its fault. */
    void startedEmpty(final long term) {
        lineage = term;
    }

    /** A master gives pages away, whether that is heard or not. */
    void given(final long term, final SimulatedClient client, final PageRequest request, final PageAllocation pages) {
        final long nowUs = world.timeline().nowUs();
        final long longestUs = Times.RELEASE * Timeline.MS;
        grants.removeIf(grant -> grant.pending == 0 && (grant.closed || nowUs > grant.untilUs + longestUs));
        for (final Grant grant : grants) {
            if (grant.request.version() != request.version() && grant.term >= lineage
                && overlap(grant.place(), pages.place())
                && (grant.pending > 0 || grant.adopted && grant.mayBegin(nowUs))) {
                throw new Violation("version " + request.version() + " was given " + pages + ", where this may still "
                    + "be under way: " + grant);
            }
        }
        if (client != null) {
            grants.add(new Grant(term, client, request, pages, nowUs + longestUs));
        }
    }

    /** A restored master says that a value is there; is it, and does it stay? */
    void restored(final long version, final DistributedDisk place) {
        final long nowUs = world.timeline().nowUs();
        final boolean contested = grants.stream().anyMatch(grant -> grant.request.version() != version
            && overlap(grant.place(), place) && (grant.pending > 0 || grant.mayBegin(nowUs)));
        if (contested || wrong(version, place) >= 0) {
            world.tally().count(Kind.RESTORED_IN_DOUBT);
            doubts.add(new Doubt(version, place));
        }
    }

    // ---- what is there

    long unit(final DistributedDisk place, final int at) {
        return files.get(place.filePath()).units[first(place) + at];
    }

    /** The first unit that is not that version's; -1 when all are, or nobody knows which they should be. */
    private int wrong(final long version, final DistributedDisk place) {
        final History.Put put = world.history().of(version);
        for (int i = 0; put != null && i < count(place); i++) {
            if (unit(place, i) != put.unit(i)) {
                return i;
            }
        }
        return -1;
    }

    /** Whether a value's bytes may be wrong though everybody keeps to the rules. */
    boolean isInDoubt(final long version, final DistributedDisk place) {
        final File file = files.get(place.filePath());
        for (int i = 0; i < count(place); i++) {
            if (file.spoiled[first(place) + i]) {
                return true;
            }
        }
        return doubts.contains(new Doubt(version, place));
    }

    /** A value that can be read is there, all of it. */
    void check(final long version, final DistributedDisk place, final String what) {
        final int at = wrong(version, place);
        if (at >= 0 && !isInDoubt(version, place)) {
            throw new Violation("unit " + at + " of version " + version + " at " + place + " is " + unit(place, at)
                + ", and not " + world.history().of(version).unit(at) + " of " + world.history().of(version) + "; "
                + what);
        }
    }

    // ---- writers

    /** A client has heard that it was given pages, by the master of that term. */
    Grant adopt(final long term, final SimulatedClient client, final PageAllocation pages) {
        for (int i = grants.size() - 1; i >= 0; i--) {
            final Grant grant = grants.get(i);
            if (grant.term == term && grant.client == client && grant.pages.replicaId() == pages.replicaId()) {
                grant.adopted = true;
                return grant;
            }
        }
        throw new IllegalStateException("nobody gave " + pages + " to " + client.name());
    }

    /**
     * Writes a unit; from here on the process has nothing to do with it.
     *
     * @param then told when it has ended, and whether well: some of it may be there all the same when not.
     */
    void write(final Grant grant, final int place, final long unit, final Consumer<Boolean> then) {
        final boolean zombie = !world.isCalm() && world.timeline().oneIn(ZOMBIE_ONE_IN);
        final boolean late = !world.isCalm() && world.timeline().oneIn(LATE_ONE_IN);
        final boolean fails = !world.isCalm() && world.timeline().oneIn(FAIL_ONE_IN);
        final File file = files.get(grant.place().filePath());
        final Write write = new Write(grant, first(grant.place()) + place, unit, zombie);
        file.pending.add(write);
        final long delayUs = zombie ? world.timeline().between(Times.RELEASE + Times.LEASE + Times.KERNEL,
            LONGEST_STUCK_MS) * Timeline.MS
            : late ? world.timeline().between(1, Times.KERNEL - 1) * Timeline.MS
            : world.timeline().between(10, 2 * Timeline.MS);
        if (late) {
            world.tally().count(Kind.WRITES_LATE);
        }
        if (fails) {
            grant.client.later(world.timeline().between(10, Timeline.MS), () -> then.accept(false));
        }
        final long life = grant.client.life();
        world.timeline().in(delayUs, () -> {
            if (!cached || zombie) {
                write.arrive(file);
            } else {
                write.cachedOnly = true;
                world.timeline().in(world.timeline().between(1, Times.KERNEL * Timeline.MS - delayUs),
                    () -> write.arrive(file));
            }
            if (!fails) {
                grant.client.later(life, 0, () -> then.accept(true));
            }
        });
    }

    /** Makes all that a client has written to a file seen by others; false when some of it may be lost. */
    void sync(final SimulatedClient client, final String path, final Consumer<Boolean> then) {
        final boolean fails = !world.isCalm() && world.timeline().oneIn(SYNC_FAIL_ONE_IN);
        final File file = files.get(path);
        final List<Write> covered = file.pending.stream()
            .filter(write -> write.cachedOnly && write.grant.client == client).toList();
        final long life = client.life();
        world.timeline().in(world.timeline().between(100, 4 * Timeline.MS), () -> {
            if (fails) {
                world.tally().count(Kind.SYNCS_FAILED);
                covered.stream().filter(write -> !write.over && world.timeline().oneIn(2))
                    .forEach(write -> write.lose(file));
            } else {
                covered.forEach(write -> write.arrive(file));
            }
            client.later(life, 0, () -> then.accept(!fails));
        });
    }
}
