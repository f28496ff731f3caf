package io.kvtier.store.simulation;

import io.kvtier.store.ObjectKey;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * What clients did and saw, and whether it can be so.
 *
 * <p>A value that a reader accepts must be all of the value of one put of that key, and of the version that the master
 * named. Its writer must have sent the end of the put before the read was over. A removal that had answered before the
 * read began must not have been of this version or a later one, and not have begun after this one was stored. A later
 * version must not have been stored before the read began, but for one that replaces nothing: when the older value lay
 * on a disk, or where a restored master waits for what comes back, and that was away while the later one came and was
 * lost, it may come back. The last two hold for what the master knows: one that has started empty learns from disks
 * what it does not know to be removed, and one that was restored knows what another did before its snapshot was taken,
 * and that one likewise.
 *
 * <p>Each unit of a value is a number made of the put and the unit's place.
 */
final class History {
    private static final int PLACES = 8;

    private final List<Put> puts = new ArrayList<>();
    private final Map<ObjectKey, List<Change>> changes = new HashMap<>();
    private final Set<Long> onDisk = new HashSet<>();
    private final Map<Long, Put> byVersion = new HashMap<>();
    private final Map<Long, Origin> origins = new HashMap<>();
    private final Tally tally;

    /** One put, whatever became of it. */
    static final class Put {
        private final long id;
        private final ObjectKey key;
        private final int units;
        private final String writer;
        private long version;
        private long term;
        private long endSentUs = Long.MAX_VALUE;
        private long storedUs = Long.MAX_VALUE;

        Put(final long id, final ObjectKey key, final int units, final String writer) {
            this.id = id;
            this.key = key;
            this.units = units;
            this.writer = writer;
        }

        int units() {
            return units;
        }

        ObjectKey key() {
            return key;
        }

        long version() {
            return version;
        }

        long unit(final int place) {
            return id << PLACES | place;
        }

        long checksum() {
            final long[] all = new long[units];
            for (int i = 0; i < units; i++) {
                all[i] = unit(i);
            }
            return History.checksum(all);
        }

        private void started(final long byVersion, final long inTerm) {
            version = byVersion;
            term = inTerm;
        }

        void endSent(final long nowUs) {
            endSentUs = Math.min(endSentUs, nowUs);
        }

        @Override
        public String toString() {
            return "put " + id + " of " + key + " by " + writer + ", version " + version + " of term " + term + ", "
                + units + " units, end sent at " + (endSentUs == Long.MAX_VALUE ? "no time" : endSentUs + " us");
        }
    }

    /** What a read got. */
    record Read(ObjectKey key, long version, long term, long beginUs, long endUs, long[] units, String how) {
    }

    /** A change that a client was told of; a removal that found nothing has no version. */
    private record Change(boolean removal, boolean insert, long version, long term, long beginUs, long toldUs) {
    }

    /** What a master began with: what the master of a term knew at a moment. */
    private record Origin(long term, long takenUs) {
    }

    History(final Tally tally) {
        this.tally = tally;
    }

    Put put(final ObjectKey key, final int units, final String writer) {
        final Put put = new Put(puts.size() + 1, key, units, writer);
        puts.add(put);
        return put;
    }

    /** The master has begun it. */
    void started(final Put put, final long version, final long term) {
        put.started(version, term);
        byVersion.put(version, put);
    }

    /** The put that a version is of; null when its writer never heard of that. */
    Put of(final long version) {
        return byVersion.get(version);
    }

    /** A put was answered; {@code insert} is of one that is not to replace anything. */
    void stored(final Put put, final boolean insert, final long term, final long nowUs) {
        put.storedUs = nowUs;
        changes.computeIfAbsent(put.key, key -> new ArrayList<>())
            .add(new Change(false, insert, put.version, term, put.endSentUs, nowUs));
    }

    /** A removal was answered: {@code version} is 0 when it found nothing. */
    void removed(final ObjectKey key, final long version, final long term, final long beginUs, final long nowUs) {
        changes.computeIfAbsent(key, any -> new ArrayList<>())
            .add(new Change(true, false, version, term, beginUs, nowUs));
    }

    /** A master has begun with what the master of another term knew at a moment. */
    void restored(final long term, final long fromTerm, final long takenUs) {
        origins.put(term, new Origin(fromTerm, takenUs));
    }

    /** Whether the master of a term knows of a change: it was told of before the snapshots that lead there. */
    private boolean isKnownTo(final long term, final Change change) {
        long at = term;
        long untilUs = Long.MAX_VALUE;
        while (at != change.term()) {
            final Origin origin = origins.get(at);
            if (origin == null) {
                return false;
            }
            at = origin.term();
            untilUs = Math.min(untilUs, origin.takenUs());
        }
        return change.toldUs() <= untilUs;
    }

    /** Stands for XXH64 of a value: all of it, in its order. */
    static long checksum(final long[] units) {
        long sum = units.length;
        for (final long unit : units) {
            sum = (sum ^ unit) * 0x9E3779B97F4A7C15L;
            sum ^= sum >>> 29;
        }
        return sum;
    }

    /** A value has become durable on a disk. */
    void onDisk(final long version) {
        onDisk.add(version);
    }

    /** Whether these are all units of one put; for reads that are void anyhow. */
    static boolean isTorn(final long[] units) {
        for (int i = 0; i < units.length; i++) {
            if (units[i] == 0 || units[i] != (units[0] >>> PLACES << PLACES | i)) {
                return true;
            }
        }
        return false;
    }

    /** Judges a value that a reader has accepted. */
    void accepted(final Read read) {
        final long id = read.units()[0] >>> PLACES;
        if (id <= 0 || id > puts.size()) {
            throw new Violation("a read got what nobody ever wrote: " + describe(read));
        }
        final Put put = puts.get((int) id - 1);
        for (int i = 0; i < read.units().length; i++) {
            if (read.units()[i] != put.unit(i)) {
                throw new Violation("a read got a mix of values: " + describe(read));
            }
        }
        if (!put.key.equals(read.key())) {
            throw new Violation("a read got another key's value: " + describe(read) + " got " + put);
        }
        if (read.units().length != put.units || put.version != read.version()) {
            throw new Violation("a read got another value than it asked for: " + describe(read) + " got " + put);
        }
        if (put.endSentUs > read.endUs()) {
            throw new Violation("a read got a value whose writer was not done: " + describe(read) + " got " + put);
        }
        for (final Change change : changes.getOrDefault(read.key(), List.of())) {
            judge(read, put, change);
        }
    }

    private void judge(final Read read, final Put put, final Change change) {
        if (change.toldUs() >= read.beginUs()) {
            return;
        }
        if (!isKnownTo(read.term(), change)) {
            if (change.removal() && change.version() == put.version) {
                tally.count(Tally.Kind.CAME_BACK_WITH_A_NEW_MASTER);
            }
            return;
        }
        if (change.removal() && (put.version <= change.version() || put.storedUs < change.beginUs())) {
            throw new Violation("a removed value came back: " + describe(read) + " got " + put + "; " + change);
        }
        if (!change.removal() && put.version < change.version()) {
            if (change.insert() && (onDisk.contains(put.version) || put.term < read.term())) {
                tally.count(Tally.Kind.OLDER_VALUE_THAT_WAS_AWAY);
                return;
            }
            throw new Violation("a replaced value came back: " + describe(read) + " got " + put + "; " + change);
        }
    }

    private static String describe(final Read read) {
        final StringBuilder units = new StringBuilder();
        for (final long unit : read.units()) {
            units.append(unit >>> PLACES).append('.').append(unit & (1 << PLACES) - 1).append(' ');
        }
        return "read of " + read.key() + " version " + read.version() + " term " + read.term() + " from "
            + read.beginUs() + " to " + read.endUs() + " us, " + read.how() + ", units " + units;
    }
}
