package io.kvtier.store.master.state;

import io.kvtier.store.protocol.GdsCommand.GdsState;
import io.kvtier.store.protocol.GdsCommand.GdsWork;

/**
 * What the owner of a file for GDS replicas has told of it since it was registered. No count ever falls, whatever is
 * told: reports may come twice, late or not at all.
 */
final class GdsAccount {
    private long run;
    /** Of runs before that one. */
    private GdsWork before = GdsWork.NONE;
    private GdsWork told = GdsWork.NONE;
    private GdsState state = GdsState.UNKNOWN;

    /** Takes note of a report; false of one of a run that is over. */
    boolean report(final long ofRun, final GdsWork work, final GdsState now) {
        if (ofRun < run) {
            return false;
        }
        if (ofRun > run) {
            before = before.plus(told);
            told = GdsWork.NONE;
            run = ofRun;
        }
        told = told.latest(work);
        state = now;
        return true;
    }

    /** In all runs. */
    GdsWork work() {
        return before.plus(told);
    }

    GdsState state() {
        return state;
    }
}
