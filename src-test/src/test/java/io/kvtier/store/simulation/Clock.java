package io.kvtier.store.simulation;

/** A clock that is not right: it has started anywhere and runs a little too fast or too slow, but never back. */
final class Clock {
    private static final long PER_MILLE = 1000;
    private static final long FARTHEST_MS = 1_000_000;

    private final Timeline timeline;
    private final long offsetUs;
    private final int drift;

    Clock(final Timeline timeline) {
        this.timeline = timeline;
        offsetUs = timeline.between(0, FARTHEST_MS * Timeline.MS);
        drift = (int) timeline.between(-Times.DRIFT, Times.DRIFT);
    }

    long us() {
        return offsetUs + timeline.nowUs() + timeline.nowUs() * drift / PER_MILLE;
    }

    long ms() {
        return us() / Timeline.MS;
    }
}
