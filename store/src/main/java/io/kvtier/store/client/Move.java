package io.kvtier.store.client;

/**
 * Bytes on their way between a caller's memory and replicas.
 *
 * <p><b>Threading:</b> for the thread that started it, since the caller's memory may be that thread's alone.
 * <b>Lifetime:</b> finished exactly once, whatever happens: until then replicas and memory of the caller are in use.
 */
interface Move {
    /** Nothing is left to wait for. */
    Move DONE = () -> null;

    /**
     * Waits until nothing uses the memory any more.
     *
     * @return null when all bytes are where they should be, else why not, in words.
     */
    String finish();

    /**
     * Whether nothing changes the bytes of what was written any more, once it is finished: false when the owner of a
     * segment did not say how it ended, and may still write what it was sent.
     */
    default boolean isSettled() {
        return true;
    }

    /** One that came to nothing. */
    static Move failed(final String why) {
        return () -> why;
    }
}
