package io.kvtier.transport;

import java.util.Arrays;
import java.util.List;

/**
 * Waits for threads that were told to end, for those whose memory, files or state are freed behind them.
 *
 * <p><b>Threading:</b> stateless; not to be called by one of the threads.
 */
public final class ThreadEnds {
    private ThreadEnds() {
    }

    /**
     * Blocks until all have ended. An interrupt does not cut that short, since what they use would be freed under
     * them; it is kept for the caller.
     *
     * @param threads threads that end soon by themselves, or were never started.
     */
    public static void await(final Thread... threads) {
        await(Arrays.asList(threads));
    }

    /**
     * The same for a list.
     *
     * @param threads threads that end soon by themselves, or were never started.
     */
    public static void await(final List<Thread> threads) {
        threads.forEach(thread -> Uninterrupted.await(thread::join));
    }
}
