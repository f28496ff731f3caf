package io.kvtier.store.master.state;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kvtier.store.StoreException;
import io.kvtier.store.protocol.Command;
import io.kvtier.store.protocol.WorkKind;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;

/** A state that notes what it is asked, what it answers and what it asks for, so that all of it can be done again. */
final class Journal implements AutoCloseable {
    private final MasterSettings settings;
    private final MasterState state;
    private final List<Applied> applied = new ArrayList<>();
    private final List<String> effects = new ArrayList<>();

    /** A command, its answer or why it was refused, and how many effects there had been after it. */
    private record Applied(Command<?> command, long atMs, Object outcome, int effects) {
    }

    Journal(final MasterSettings settings) {
        this.settings = settings;
        this.state = new MasterState(settings, 1, new Effects() {
            @Override
            public void workQueued(final UUID clientId, final WorkKind kind) {
                effects.add(kind + " for " + clientId);
            }

            @Override
            public void spaceFreed() {
                effects.add("space");
            }
        });
    }

    <R> R apply(final Command<R> command, final long nowMs) {
        Object outcome = null;
        try {
            final R reply = state.apply(command, nowMs);
            outcome = reply;
            return reply;
        } catch (final StoreException e) {
            outcome = e.toString();
            throw e;
        } finally {
            applied.add(new Applied(command, nowMs, outcome, effects.size()));
        }
    }

    /** Another state is asked the same at the same times: it answers the same, and asks for the same. */
    void assertRepeatable() {
        try (Journal again = new Journal(settings)) {
            for (final Applied one : applied) {
                try {
                    again.apply(one.command, one.atMs);
                } catch (final StoreException e) {
                    // Noted, as every outcome.
                }
                assertEquals(one, again.applied.getLast());
            }
            assertEquals(effects, again.effects);
        }
    }

    @Override
    public void close() {
        state.close();
    }
}
