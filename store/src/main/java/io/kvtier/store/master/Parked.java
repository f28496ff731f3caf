package io.kvtier.store.master;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.function.LongPredicate;

/**
 * Those who wait for something that a later command brings: puts for room, clients for work; and those who wait no
 * longer and have not been told so yet.
 *
 * <p>Puts are tried again in the order in which they came, whenever room was freed. After a few that found none the
 * rest is left for the next time: trying all of a long queue for each freed block would be most of what the master
 * does.
 *
 * <p>Work that comes while its client does not wait is remembered, a bit for each kind, so that no announcement falls
 * between two waits. When the announcement itself is lost with its connection, the client, whose wait has failed, looks
 * for all kinds of work by itself.
 *
 * <p><b>Threading:</b> guarded by the conductor.
 */
final class Parked {
    private static final int TRIES_WITHOUT_ROOM = 8;
    /** Clients that work is remembered for; those who never ask must not fill the memory. */
    private static final int MAX_REMEMBERED = 65_536;

    private final int limit;
    private final Deque<CommandEntry<?>> puts = new ArrayDeque<>();
    private final Map<UUID, List<AwaitEntry>> waiting = new HashMap<>();
    private final Map<UUID, Integer> unclaimed = new LinkedHashMap<>();
    private List<Entry> over = new ArrayList<>();
    private int waits;
    private boolean ending;

    /** Holds at most {@code limit} puts, and as many waits for work. */
    Parked(final int limit) {
        this.limit = limit;
    }

    /** False when it is over at once, because there are too many, or the end is near. */
    boolean park(final CommandEntry<?> put) {
        return !ending && puts.size() < limit && puts.add(put);
    }

    boolean await(final AwaitEntry wait) {
        if (ending || waits >= limit) {
            return false;
        }
        waits++;
        return waiting.computeIfAbsent(wait.clientId(), any -> new ArrayList<>(1)).add(wait);
    }

    /** What was announced while nobody waited; from now on it counts as told. */
    int takeWork(final UUID clientId) {
        final Integer kinds = unclaimed.remove(clientId);
        return kinds == null ? 0 : kinds;
    }

    /** All waits of the client hear of it: one of them may be on a connection that is dead without knowing. */
    void announce(final UUID clientId, final int kinds) {
        final List<AwaitEntry> waits = waiting.remove(clientId);
        if (waits == null) {
            unclaimed.merge(clientId, kinds, (a, b) -> a | b);
            if (unclaimed.size() > MAX_REMEMBERED) {
                unclaimed.remove(unclaimed.keySet().iterator().next());
            }
            return;
        }
        this.waits -= waits.size();
        waits.forEach(wait -> wait.kinds(kinds));
        over.addAll(waits);
    }

    /** Tries the first puts again; what that frees in its turn may be no more than what was just taken back. */
    void roomFreed(final Running running) {
        int tries = 0;
        for (final Iterator<CommandEntry<?>> all = puts.iterator(); all.hasNext() && tries < TRIES_WITHOUT_ROOM;) {
            final CommandEntry<?> put = all.next();
            if (put.again(running)) {
                all.remove();
                over.add(put);
            } else {
                tries++;
            }
        }
    }

    /** Ends those whose time is over. */
    void expire(final long nowMs) {
        end(any -> false, nowMs);
    }

    /** Ends those that came on a connection that is gone. */
    void disconnected(final long connection) {
        end(other -> other == connection, Long.MIN_VALUE);
    }

    /** Ends all, and takes none any more. */
    void endAll() {
        ending = true;
        end(any -> true, Long.MIN_VALUE);
    }

    /** One that never waited, or has waited long enough. */
    void over(final Entry entry) {
        over.add(entry);
    }

    /** Those that are over and not told yet; they are the caller's to tell, outside. */
    List<Entry> takeOver() {
        if (over.isEmpty()) {
            return List.of();
        }
        if (over.size() == 1) {
            return List.of(over.removeLast());
        }
        final List<Entry> all = over;
        over = new ArrayList<>();
        return all;
    }

    private void end(final LongPredicate connections, final long nowMs) {
        puts.removeIf(put -> {
            final boolean ends = put.parkedUntilMs() <= nowMs || connections.test(put.connection());
            if (ends) {
                over.add(put);
            }
            return ends;
        });
        final int before = over.size();
        for (final Iterator<List<AwaitEntry>> lists = waiting.values().iterator(); lists.hasNext();) {
            final List<AwaitEntry> list = lists.next();
            list.removeIf(wait -> {
                final boolean ends = wait.untilMs() <= nowMs || connections.test(wait.connection());
                if (ends) {
                    over.add(wait);
                }
                return ends;
            });
            if (list.isEmpty()) {
                lists.remove();
            }
        }
        waits -= over.size() - before;
    }
}
