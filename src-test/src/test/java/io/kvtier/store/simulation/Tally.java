package io.kvtier.store.simulation;

import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;

/** How often each thing happened, over all runs: a simulation that exercises nothing must not pass. */
final class Tally {
    /** Less than once in a hundred seeds; what they take is in the hands of chance. */
    private static final Set<Kind> RARE =
        Set.of(Kind.LENDINGS_MISSED, Kind.OFFLOADS_VOID, Kind.OLDER_VALUE_THAT_WAS_AWAY);

    private final Map<Kind, Long> counts = new EnumMap<>(Kind.class);

    /** What is counted. Each must happen over the seeds of the test, but the rarest. */
    enum Kind {
        EVENTS, COMMANDS,
        PUTS_STORED, PUTS_REPLACED, PUTS_TAKEN, PUTS_WITHOUT_ROOM, PUTS_REVOKED, PUTS_STALE, PUTS_UNCERTAIN,
        PUTS_OVER_TIME, PUTS_REFUSED, WRITES_UNCERTAIN, WRITES_REFUSED, REVOKED_AND_MAY_ARRIVE,
        READS_OF_OWN_MEMORY, READS_OF_OTHERS_MEMORY, READS_OF_OWN_DISK, READS_OF_OTHERS_DISK, READS_MISSED,
        MAPPED_ACCESSES, READS_OUT_OF_LEASE, READS_TORN_AND_VOID, READS_FAILED_OVER,
        REMOVED, REMOVED_BY_FORCE, REMOVALS_LEASED, REMOVALS_NOT_FOUND, REMOVALS_BEING_WRITTEN, REMOVALS_UNCERTAIN,
        OFFLOADS_STORED, OFFLOADS_STALE, OFFLOADS_FAILED, OFFLOADS_VOID, DROPS, DISK_EVICTIONS, ADOPTED,
        ADOPTIONS_REFUSED, DROPS_NAMED_AGAIN,
        PROMOTIONS, PROMOTIONS_DECLINED, DISK_PROMOTIONS,
        FOLDER_WRITES, FOLDER_WRITES_STALE, FOLDER_WRITES_FAILED, FOLDER_WRITES_SWEPT, FOLDER_DROPS, FOLDER_SWEEPS,
        FOLDER_SWEEPS_CUT, FOLDER_FILES_UNKNOWN, READS_OF_FOLDER, FOLDER_READS_FOUND_WRONG,
        PAGES_STORED, PAGES_STALE, PAGES_UNKNOWN, PAGES_NOT_NEEDED, PAGES_WITHOUT_ROOM, PAGES_FAILED, PAGES_REAPED,
        PAGE_EVICTIONS, READS_OF_SHARED_FILES, SHARED_READS_FOUND_WRONG, READS_BY_MAPPING, READS_BY_OLD_MAPPING,
        OLD_MAPPINGS_FOUND_OUT, PROMOTIONS_OF_PAGES, PROMOTIONS_FOUND_WRONG, WRITES_LATE, WRITES_OF_ZOMBIES,
        SYNCS_FAILED, SNAPSHOTS, SNAPSHOTS_CUT, SNAPSHOTS_DAMAGED, RESTORED, RESTORED_IN_DOUBT, MASTERS_ENDED,
        RETURNED, RETURNS_REFUSED, RETURNS_FOUND_WRONG,
        PUTS_TO_MEMORY_AND_FILE, PUTS_TO_FILE_ALONE, ROOMS_DECLINED, ROOMS_IN_DOUBT, ROOMS_SETTLED_GONE,
        ROOMS_SETTLED_COMPLETE, READS_OF_OWN_FILE, READS_OF_OTHERS_FILE, FILE_READS_STALE, FILE_OFFERS_ADOPTED,
        FILE_OFFERS_REFUSED, FILE_DROPS, FILE_DROPS_KEPT, FILE_DROPS_OF_OTHERS, FILE_EVICTIONS, FILES_ANEW,
        FILES_TAKEN_OVER, FILES_LEFT,
        REQUESTS_LOST, REPLIES_LOST, REQUESTS_DUPLICATED, REQUESTS_DELAYED, REPLIES_TOO_LATE, TIMED_OUT_AND_APPLIED,
        KILLS, KILLS_WHILE_WRITING, PAUSES, PAUSES_BEYOND_TTL, PAUSES_BEYOND_RELEASE, MASTER_RESTARTS, REMOUNTS,
        LENDINGS_MISSED, CAME_BACK_WITH_A_NEW_MASTER, OLDER_VALUE_THAT_WAS_AWAY,
        WRITES_DISCARDED, WRITES_RELEASED, EVICTIONS, EVICTIONS_WITHOUT_COPY
    }

    /** What never happened, though it is not rare. */
    List<Kind> missing() {
        return Arrays.stream(Kind.values()).filter(kind -> of(kind) == 0 && !RARE.contains(kind)).toList();
    }

    void count(final Kind kind) {
        add(kind, 1);
    }

    void add(final Kind kind, final long n) {
        counts.merge(kind, n, Long::sum);
    }

    void add(final Tally other) {
        other.counts.forEach(this::add);
    }

    long of(final Kind kind) {
        return counts.getOrDefault(kind, 0L);
    }

    @Override
    public String toString() {
        final StringBuilder text = new StringBuilder();
        for (final Kind kind : Kind.values()) {
            text.append(String.format("%-30s %,14d%n", kind.name().toLowerCase(Locale.ROOT)
                .replace('_', ' '), of(kind)));
        }
        return text.toString();
    }
}
