package io.kvtier.store.master;

import java.util.UUID;

/** A client that waits for work. */
abstract class AwaitEntry implements Entry {
    private final UUID clientId;
    private final long timeoutMs;
    private long untilMs;
    private int kinds;

    AwaitEntry(final UUID clientId, final long timeoutMs) {
        this.clientId = clientId;
        this.timeoutMs = timeoutMs;
    }

    /** The connection with which it ends; 0 for none. */
    abstract long connection();

    @Override
    public final boolean apply(final Running running, final Parked parked) {
        kinds = parked.takeWork(clientId);
        if (kinds != 0 || timeoutMs == 0) {
            return true;
        }
        untilMs = running.nowMs() + timeoutMs;
        return !parked.await(this);
    }

    final UUID clientId() {
        return clientId;
    }

    final long untilMs() {
        return untilMs;
    }

    final void kinds(final int bits) {
        kinds = bits;
    }

    /** What there is to do; 0 when nothing came in time. */
    final int kinds() {
        return kinds;
    }
}
