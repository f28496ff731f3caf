package io.kvtier.bindings;

import java.lang.foreign.Arena;

/**
 * What owners of shared arenas have in common.
 *
 * <p><b>Threading:</b> stateless.
 */
public final class Arenas {
    private Arenas() {
    }

    /**
     * Closes an arena, once: a second call does nothing, also one at the same time by another thread.
     *
     * @param arena a shared arena.
     * @throws IllegalStateException when a native call is using its memory now; it then stays open, and closing it
     *                               again later works.
     */
    public static void close(final Arena arena) {
        if (!arena.scope().isAlive()) {
            return;
        }
        try {
            arena.close();
        } catch (final IllegalStateException e) {
            // Closed by another thread in between, or in use.
            if (arena.scope().isAlive()) {
                throw e;
            }
        }
    }
}
