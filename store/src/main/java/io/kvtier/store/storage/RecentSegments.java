package io.kvtier.store.storage;

import io.kvtier.transport.Segment;
import io.kvtier.transport.TransferEngine;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.ReentrantLock;
import org.agrona.CloseHelper;

/**
 * Opens value files for reading, and keeps the last ones open: opening one costs more than reading a small value.
 *
 * <p><b>Threading:</b> thread-safe; nothing is opened or closed under the lock. <b>Lifetime:</b> the segments that it
 * gives out are their takers' to close; the engine has one set of descriptors a file, however often it is open.
 */
final class RecentSegments implements AutoCloseable {
    private static final int MOST = 64;

    private final TransferEngine engine;
    private final ReentrantLock lock = new ReentrantLock();
    private final Map<Path, Segment> open = new LinkedHashMap<>(16, 0.75f, true);

    RecentSegments(final TransferEngine engine) {
        this.engine = engine;
    }

    /**
     * Opens a file.
     *
     * @return the caller's, to be closed.
     * @throws io.kvtier.bindings.NativeException when that fails.
     */
    Segment open(final Path path) {
        final String name = path.toUri().toString();
        final Segment mine = engine.openSegment(name);
        if (!has(path)) {
            CloseHelper.quietClose(keep(path, engine.openSegment(name)));
        }
        return mine;
    }

    /** Keeps a file no longer that will be deleted. */
    void drop(final Path path) {
        final Segment gone;
        lock.lock();
        try {
            gone = open.remove(path);
        } finally {
            lock.unlock();
        }
        CloseHelper.quietClose(gone);
    }

    private boolean has(final Path path) {
        lock.lock();
        try {
            return open.get(path) != null;
        } finally {
            lock.unlock();
        }
    }

    /** What is kept no longer for that: another one of the same file, or the one that was read longest ago. */
    private Segment keep(final Path path, final Segment segment) {
        lock.lock();
        try {
            final Segment before = open.put(path, segment);
            return before != null || open.size() <= MOST ? before : open.remove(open.keySet().iterator().next());
        } finally {
            lock.unlock();
        }
    }

    @Override
    public void close() {
        final List<Segment> all;
        lock.lock();
        try {
            all = new ArrayList<>(open.values());
            open.clear();
        } finally {
            lock.unlock();
        }
        all.forEach(CloseHelper::quietClose);
    }
}
