package io.kvtier.store.simulation;

import io.kvtier.store.ObjectKey;
import io.kvtier.store.protocol.DiskCommand;
import io.kvtier.store.protocol.PromotionReply;
import io.kvtier.store.simulation.SimulatedMaster.Answer;
import io.kvtier.store.simulation.Tally.Kind;
import java.util.function.Consumer;

/** A value that was read from the client's disk, or is to be from the shared files, is copied up into memory. */
final class PromotionFlow {
    private final SimulatedClient client;
    private final World world;
    private final ObjectKey key;
    private final long version;
    private final Consumer<Consumer<long[]>> source;
    private final Runnable then;
    private final long startUs;
    private long[] units;
    private PromotionReply given;

    /**
     * A copy to be made.
     *
     * @param source gives the value when there is memory for it; null when it is not what it should be.
     * @param then   run at the end.
     */
    PromotionFlow(final SimulatedClient client, final ObjectKey key, final long version,
        final Consumer<Consumer<long[]>> source, final Runnable then) {
        this.client = client;
        this.world = client.world();
        this.key = key;
        this.version = version;
        this.source = source;
        this.then = then;
        startUs = client.clock().us();
    }

    void start() {
        world.network().call(client, new DiskCommand.PromotionStart(client.id(), key, version), 1, this::started);
    }

    private void started(final Answer<PromotionReply> answer) {
        if (answer == null || answer.refusal() != null || !answer.reply().accepted()) {
            world.tally().count(Kind.PROMOTIONS_DECLINED);
            then.run();
            return;
        }
        given = answer.reply();
        source.accept(found -> {
            units = found;
            if (found == null) {
                end(false, true);
            } else {
                write(0);
            }
        });
    }

    private void write(final int place) {
        if (world.keeps(Rule.LIMIT_WRITES) && client.clock().us() - startUs > Times.WRITE_LIMIT * Timeline.MS) {
            end(false, true);
        } else if (place == units.length) {
            end(true, true);
        } else {
            client.write(given.memory(), place, units[place], written -> {
                if (written == null) {
                    // It may yet be written: the range stays ours until the master gives the promotion up.
                    world.tally().count(Kind.WRITES_UNCERTAIN);
                    if (world.timeline().oneIn(2)) {
                        end(false, false);
                    } else {
                        then.run();
                    }
                } else if (written) {
                    client.later(client.thinkUs() / 4, () -> write(place + 1));
                } else {
                    end(false, true);
                }
            });
        }
    }

    private void end(final boolean success, final boolean settled) {
        world.network().call(client, new DiskCommand.PromotionEnd(client.id(), key, given.replicaId(), success,
            settled), 4, answer -> {
                if (success && answer != null) {
                    world.tally().count(Kind.PROMOTIONS);
                }
                then.run();
            });
    }
}
