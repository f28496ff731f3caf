package io.kvtier.store.simulation;

import io.kvtier.store.ObjectKey;
import io.kvtier.store.protocol.DiskCommand;
import io.kvtier.store.protocol.PromotionReply;
import io.kvtier.store.simulation.SimulatedMaster.Answer;
import io.kvtier.store.simulation.Tally.Kind;

/** A value that was read from the client's disk is copied up into memory. */
final class PromotionFlow {
    private final SimulatedClient client;
    private final World world;
    private final ObjectKey key;
    private final long version;
    private final long[] units;
    private final long startUs;
    private PromotionReply given;

    PromotionFlow(final SimulatedClient client, final ObjectKey key, final long version, final long[] units) {
        this.client = client;
        this.world = client.world();
        this.key = key;
        this.version = version;
        this.units = units;
        startUs = client.clock().us();
    }

    void start() {
        world.network().call(client, new DiskCommand.PromotionStart(client.id(), key, version), 1, this::started);
    }

    private void started(final Answer<PromotionReply> answer) {
        if (answer == null || answer.refusal() != null || !answer.reply().accepted()) {
            world.tally().count(Kind.PROMOTIONS_DECLINED);
            return;
        }
        given = answer.reply();
        write(0);
    }

    private void write(final int place) {
        if (world.keeps(Rule.LIMIT_WRITES) && client.clock().us() - startUs > Times.WRITE_LIMIT * Timeline.MS) {
            end(false);
        } else if (place == units.length) {
            end(true);
        } else {
            client.write(given.memory(), place, units[place], written -> {
                if (written == null) {
                    // It may yet be written: the range stays ours until the master gives the promotion up.
                    world.tally().count(Kind.WRITES_UNCERTAIN);
                } else if (written) {
                    client.later(client.thinkUs() / 4, () -> write(place + 1));
                } else {
                    end(false);
                }
            });
        }
    }

    private void end(final boolean success) {
        world.network().call(client, new DiskCommand.PromotionEnd(client.id(), key, given.replicaId(), success), 4,
            answer -> {
                if (success && answer != null) {
                    world.tally().count(Kind.PROMOTIONS);
                }
            });
    }
}
