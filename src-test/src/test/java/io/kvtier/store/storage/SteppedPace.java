package io.kvtier.store.storage;

/** Time that goes on when somebody waits for it only; what happens meanwhile is done then. */
final class SteppedPace implements FolderOwner.Pace {
    private long nanos;
    private long pauses;
    private long actAt = -1;
    private Runnable meanwhile = () -> { };

    @Override
    public synchronized long nanoTime() {
        return nanos;
    }

    @Override
    public void pause(final long wait) {
        final boolean acts;
        synchronized (this) {
            nanos += wait;
            acts = actAt < 0 || pauses == actAt;
            pauses++;
        }
        if (acts) {
            meanwhile.run();
        }
    }

    /** In each pause. */
    SteppedPace meanwhile(final Runnable action) {
        meanwhile = action;
        return this;
    }

    /** In the n-th pause from now, from 0, alone. */
    SteppedPace meanwhile(final long nth, final Runnable action) {
        actAt = pauses + nth;
        return meanwhile(action);
    }

    long pauses() {
        return pauses;
    }

    void advance(final long by) {
        nanos += by;
    }
}
