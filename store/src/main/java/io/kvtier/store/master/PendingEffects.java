package io.kvtier.store.master;

import io.kvtier.store.master.state.Effects;
import io.kvtier.store.protocol.WorkKind;
import java.util.HashMap;
import java.util.Map;
import java.util.UUID;

/** Effects of commands that were applied and not dealt with yet. <b>Threading:</b> guarded by who runs the state. */
final class PendingEffects implements Effects {
    private final Map<UUID, Integer> work = new HashMap<>();
    private boolean space;

    @Override
    public void offloadsQueued(final UUID clientId) {
        workQueued(clientId, WorkKind.OFFLOADS);
    }

    public void workQueued(final UUID clientId, final WorkKind kind) {
        work.merge(clientId, kind.bit(), (a, b) -> a | b);
    }

    @Override
    public void spaceFreed() {
        space = true;
    }

    /** For whom there is work, by kinds as bits; to be cleared by whoever has dealt with it. */
    Map<UUID, Integer> work() {
        return work;
    }

    /** Whether space was freed since this was asked last. */
    boolean takeSpaceFreed() {
        final boolean freed = space;
        space = false;
        return freed;
    }
}
