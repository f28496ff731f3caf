package io.kvtier.store.master;

import io.kvtier.store.master.state.Effects;
import io.kvtier.store.protocol.WorkKind;
import java.util.HashMap;
import java.util.Map;
import java.util.UUID;

/** Effects of commands that were applied and not dealt with yet. <b>Threading:</b> guarded by who runs the state. */
final class PendingEffects implements Effects {
    private Map<UUID, Integer> work = new HashMap<>();
    private boolean space;

    @Override
    public void workQueued(final UUID clientId, final WorkKind kind) {
        work.merge(clientId, kind.bit(), (a, b) -> a | b);
    }

    @Override
    public void spaceFreed() {
        space = true;
    }

    /** For whom work was queued since this was asked last, by kinds as bits. */
    Map<UUID, Integer> takeWork() {
        if (work.isEmpty()) {
            return Map.of();
        }
        final Map<UUID, Integer> taken = work;
        work = new HashMap<>();
        return taken;
    }

    /** Whether space was freed since this was asked last. */
    boolean takeSpaceFreed() {
        final boolean freed = space;
        space = false;
        return freed;
    }
}
