package io.kvtier.store.master;

/**
 * Something in a conductor's queue.
 *
 * <p><b>Threading:</b> {@link #apply} is called inside the state, {@link #deliver} once after that and outside it, with
 * everything that was written before visible.
 */
interface Entry {
    /**
     * Happens.
     *
     * @param running the state.
     * @param parked  those who wait for what others bring about.
     * @return whether it is over; otherwise it was parked there, and is over when it is taken from there.
     */
    boolean apply(Running running, Parked parked);

    /** Tells whoever waits. Does not block and does not throw. */
    void deliver();

    /** How many commands it is worth. */
    default int weight() {
        return 1;
    }
}
