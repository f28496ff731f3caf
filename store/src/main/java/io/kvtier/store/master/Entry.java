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
     * @param stage the state.
     * @return whether it is over; otherwise it was parked there, and is over when it is taken from there.
     */
    boolean apply(Stage stage);

    /** Tells whoever waits. Does not block and does not throw. */
    void deliver();

    /** How many commands it is worth. */
    default int weight() {
        return 1;
    }
}
