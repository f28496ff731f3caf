package io.kvtier.transport;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.function.Consumer;

/**
 * Things that are open, closed in the reverse of the order in which they were opened: all of them, whatever one throws.
 *
 * <p>Who opens several things, of which a later one may fail, keeps each of them here as soon as it is there, in a
 * {@code try} with this as its resource, and lets them stay open at its end:
 *
 * <pre>{@code
 * try (Closings opened = new Closings()) {
 *     memory = opened.keep(HostRegion.allocate(tag, bytes), HostRegion::close);
 *     engine = opened.keep(TransferEngine.open(config, transports), TransferEngine::close);
 *     opened.stayOpen();
 * }
 * }</pre>
 *
 * <p>What closing throws after that failure is suppressed by it.
 *
 * <p><b>Threading:</b> one thread at a time. <b>Blocking:</b> as what is closed.
 */
public final class Closings implements AutoCloseable {
    private final Deque<Runnable> steps = new ArrayDeque<>();

    /** Nothing is open. */
    public Closings() {
        // The steps come later.
    }

    /**
     * Keeps something until it is to be closed.
     *
     * @param thing   what was opened.
     * @param closing closes it; not called at once.
     * @param <T>     what it is.
     * @return the thing.
     */
    public <T> T keep(final T thing, final Consumer<? super T> closing) {
        add(() -> closing.accept(thing));
        return thing;
    }

    /**
     * Keeps a step that is to be taken before those that were added earlier.
     *
     * @param step what to do.
     */
    public void add(final Runnable step) {
        steps.push(step);
    }

    /** Everything stays open: it has an owner now, who closes it. */
    public void stayOpen() {
        steps.clear();
    }

    /**
     * Closes everything, last first. A second call closes what was added since. The first exception or error is thrown
     * at the end, and has suppressed the others.
     */
    @Override
    public void close() {
        Throwable first = null;
        while (!steps.isEmpty()) {
            try {
                steps.pop().run();
            } catch (final RuntimeException | Error e) {
                if (first == null) {
                    first = e;
                } else if (first != e) {
                    first.addSuppressed(e);
                }
            }
        }
        if (first instanceof Error error) {
            throw error;
        }
        if (first != null) {
            throw (RuntimeException) first;
        }
    }
}
