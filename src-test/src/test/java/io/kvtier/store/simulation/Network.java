package io.kvtier.store.simulation;

import io.kvtier.store.protocol.Command;
import io.kvtier.store.simulation.SimulatedMaster.Answer;
import io.kvtier.store.simulation.Tally.Kind;
import java.util.function.Consumer;
import java.util.function.Function;

/**
 * Carries calls. Each message may be lost, late or, as a retry on another connection does, come twice; so a call that
 * has timed out for its caller may be applied long after.
 */
final class Network {
    private static final int LOSE_ONE_IN = 40;
    private static final int DOUBLE_ONE_IN = 40;
    private static final int LATE_ONE_IN = 40;
    private static final long LATEST_MS = 1500;
    private static final long LATEST_ACCESS_MS = 250;
    /** A write that was begun in time arrives before its room is given to others, also where its owner is silent. */
    private static final long LATEST_WRITE_MS = Times.RELEASE - Times.WRITE_LIMIT - Times.TTL - 200;
    private static final int LONG_AFTER_ONE_IN = 4;

    private final World world;

    Network(final World world) {
        this.world = world;
    }

    /**
     * Calls the master, and again when no answer comes.
     *
     * @param tries how often at most.
     * @param then  gets the answer; null when none came.
     */
    <R> void call(final SimulatedClient caller, final Command<R> command, final int tries,
        final Consumer<Answer<R>> then) {
        new MasterCall<>(caller, command, then).send(tries);
    }

    private final class MasterCall<R> {
        private final SimulatedClient caller;
        private final Command<R> command;
        private final Consumer<Answer<R>> then;
        private final long life;
        private boolean over;
        private boolean timedOut;

        MasterCall(final SimulatedClient caller, final Command<R> command, final Consumer<Answer<R>> then) {
            this.caller = caller;
            this.command = command;
            this.then = then;
            life = caller.life();
        }

        void send(final int triesLeft) {
            request();
            if (!world.isCalm() && world.timeline().oneIn(DOUBLE_ONE_IN)) {
                world.tally().count(Kind.REQUESTS_DUPLICATED);
                request();
            }
            caller.later(life, Times.CALL_TIMEOUT * Timeline.MS, () -> timeout(triesLeft));
        }

        private void timeout(final int triesLeft) {
            if (over) {
                return;
            }
            timedOut = true;
            if (triesLeft > 1) {
                send(triesLeft - 1);
            } else {
                over = true;
                world.trace(() -> caller.name() + ": no answer to " + command);
                then.accept(null);
            }
        }

        private void request() {
            if (isLost()) {
                world.tally().count(Kind.REQUESTS_LOST);
                return;
            }
            world.timeline().in(delay(LATEST_MS), this::arrive);
        }

        private void arrive() {
            if (!world.master().isUp()) {
                return;
            }
            if (over) {
                world.tally().count(Kind.TIMED_OUT_AND_APPLIED);
            }
            final Answer<R> answer = world.master().apply(command);
            if (isLost()) {
                world.tally().count(Kind.REPLIES_LOST);
                return;
            }
            caller.later(life, delay(LATEST_MS), () -> answered(answer));
        }

        private void answered(final Answer<R> answer) {
            if (over) {
                world.tally().count(timedOut ? Kind.REPLIES_TOO_LATE : Kind.REQUESTS_DUPLICATED);
                return;
            }
            over = true;
            then.accept(answer);
        }
    }

    /**
     * Has another process do something, once or not at all.
     *
     * @param then gets what it answered; null when nothing came, and it may yet be done.
     */
    <R> void ask(final SimulatedClient asking, final SimulatedClient asked, final Function<SimulatedClient, R> what,
        final Consumer<R> then) {
        ask(asking, asked, LATEST_ACCESS_MS, what, then);
    }

    /** The same of a write, which may arrive long after nobody waits for it any more. */
    <R> void askToWrite(final SimulatedClient asking, final SimulatedClient asked,
        final Function<SimulatedClient, R> what, final Consumer<R> then) {
        ask(asking, asked, world.timeline().oneIn(LONG_AFTER_ONE_IN) ? LATEST_WRITE_MS : LATEST_ACCESS_MS, what, then);
    }

    private <R> void ask(final SimulatedClient asking, final SimulatedClient asked, final long latestMs,
        final Function<SimulatedClient, R> what, final Consumer<R> then) {
        final boolean[] over = new boolean[1];
        final long life = asking.life();
        asking.later(life, Times.ACCESS_TIMEOUT * Timeline.MS, () -> {
            if (!over[0]) {
                over[0] = true;
                then.accept(null);
            }
        });
        if (isLost()) {
            return;
        }
        asked.later(delay(latestMs), () -> {
            final R answer = what.apply(asked);
            if (!isLost()) {
                asking.later(life, delay(LATEST_ACCESS_MS), () -> {
                    if (!over[0]) {
                        over[0] = true;
                        then.accept(answer);
                    }
                });
            }
        });
    }

    private boolean isLost() {
        return !world.isCalm() && world.timeline().oneIn(LOSE_ONE_IN);
    }

    private long delay(final long latestMs) {
        if (!world.isCalm() && world.timeline().oneIn(LATE_ONE_IN)) {
            world.tally().count(Kind.REQUESTS_DELAYED);
            return world.timeline().between(Times.CALL_TIMEOUT * Timeline.MS / 2, latestMs * Timeline.MS);
        }
        return world.timeline().between(50, 3 * Timeline.MS);
    }
}
