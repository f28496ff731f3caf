package io.kvtier.store.simulation;

import io.kvtier.store.ObjectKey;
import io.kvtier.store.RemoveOutcome;
import io.kvtier.store.protocol.AdminCommand;
import io.kvtier.store.protocol.ObjectCommand;
import io.kvtier.store.simulation.Tally.Kind;

/** A thread of a client: one call after the other, of any kind. */
final class Worker {
    private static final int HUNDRED = 100;

    private final SimulatedClient client;
    private final World world;

    Worker(final SimulatedClient client) {
        this.client = client;
        this.world = client.world();
    }

    void next() {
        if (world.isCalm()) {
            return;
        }
        final ObjectKey key = world.anyKey();
        final int what = world.timeline().below(HUNDRED);
        if (what < 36) {
            new PutFlow(client, key, this::again).start();
        } else if (what < 44 && world.hasPages()) {
            client.pages().readByMapping(key, this::again);
        } else if (what < 80) {
            new GetFlow(client, key, this::again).start();
        } else if (what < 92) {
            remove(key);
        } else if (what < 96) {
            world.network().call(client, new ObjectCommand.Exists(key), 2, answer -> again());
        } else {
            world.network().call(client, new AdminCommand.Evict(world.timeline().below(HUNDRED) / 100.0, 0), 1,
                answer -> again());
        }
    }

    private void again() {
        client.later(client.thinkUs(), this::next);
    }

    private void remove(final ObjectKey key) {
        final boolean force = world.timeline().oneIn(2);
        final long beginUs = world.timeline().nowUs();
        // Not repeated: the second one might remove another value than the first.
        world.network().call(client, new ObjectCommand.Remove(key, force), 1, answer -> {
            if (answer == null) {
                world.tally().count(Kind.REMOVALS_UNCERTAIN);
            } else if (answer.reply() != null) {
                final RemoveOutcome outcome = answer.reply().outcome();
                world.tally().count(switch (outcome) {
                    case REMOVED -> force ? Kind.REMOVED_BY_FORCE : Kind.REMOVED;
                    case NOT_FOUND -> Kind.REMOVALS_NOT_FOUND;
                    case LEASED -> Kind.REMOVALS_LEASED;
                    case BEING_WRITTEN -> Kind.REMOVALS_BEING_WRITTEN;
                });
                if (outcome == RemoveOutcome.REMOVED || outcome == RemoveOutcome.NOT_FOUND) {
                    world.history().removed(key, answer.reply().version(), answer.term(), beginUs,
                        world.timeline().nowUs());
                }
            }
            again();
        });
    }
}
