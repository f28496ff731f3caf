package io.kvtier.store.client.transfer;

import java.util.OptionalLong;

/**
 * Bytes on their way between a caller's memory and replicas.
 *
 * <p><b>Threading:</b> for the thread that started it, since the caller's memory may be that thread's alone.
 * <b>Lifetime:</b> finished exactly once, whatever happens: until then replicas and memory of the caller are in use.
 */
public interface Move {
    /** Nothing is left to wait for. */
    Move DONE = () -> null;

    /**
     * Waits until nothing uses the memory any more.
     *
     * @return null when all bytes are where they should be, else why not, in words.
     */
    String finish();

    /**
     * Whether nothing changes the bytes of what was written, or read into, any more, once it is finished: false when
     * the owner of a segment did not say how it ended, and may still write what it was sent, and when a read is lost.
     */
    default boolean isSettled() {
        return true;
    }

    /**
     * XXH64 of the whole value, where more of it was read than is wanted; to be asked once it is finished.
     *
     * @return empty where no more was read.
     */
    default OptionalLong checksumOfAll() {
        return OptionalLong.empty();
    }

    /**
     * Whether the place that was read is another one by now, although it has the same name: a file that was replaced
     * while it was open. To be asked once it is finished, of bytes that were wrong.
     *
     * @return true when reading again reads other bytes.
     */
    default boolean isElsewhereNow() {
        return false;
    }

    /** One that came to nothing. */
    static Move failed(final String why) {
        return () -> why;
    }
}
