package io.kvtier.transport;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;

/**
 * What is open in an engine, by name. A name that is open is shared and counted; a file that was replaced by another
 * under the same name is opened anew, and the old one stays open for those who have it. A failed opening is forgotten.
 *
 * <p><b>Threading:</b> thread-safe. The lock is never held while something is opened or closed: a name being opened is
 * marked, and who wants the same name waits for the mark to go.
 */
final class SegmentRegistry {
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private final Map<String, OpenSegment> current = new HashMap<>();
    private final Set<OpenSegment> open = Collections.newSetFromMap(new IdentityHashMap<>());
    private final Set<String> opening = new HashSet<>();
    private boolean closed;

    /**
     * Shares what is open, or opens it.
     *
     * @param wanted name, region and identity of what is wanted; its handles are not looked at.
     * @param opener opens it.
     */
    OpenSegment share(final OpenSegment wanted, final Supplier<OpenSegment> opener) {
        final String name = wanted.address().name();
        final OpenSegment known = knownOrMarked(name, wanted);
        if (known != null) {
            return known;
        }
        OpenSegment fresh = null;
        try {
            fresh = opener.get();
        } finally {
            publish(name, fresh);
        }
        return fresh;
    }

    /**
     * Opens what is shared with nobody and found by nobody, whatever is open under its name.
     *
     * @param opener opens it.
     */
    OpenSegment own(final Supplier<OpenSegment> opener) {
        lock.lock();
        try {
            checkOpen();
        } finally {
            lock.unlock();
        }
        final OpenSegment fresh = opener.get();
        publish(null, fresh);
        return fresh;
    }

    /** Gives one owner's share back; the last one closes. */
    void giveBack(final OpenSegment segment) {
        lock.lock();
        try {
            segment.addOwners(-1);
            if (segment.owners() > 0 || !open.remove(segment)) {
                return;
            }
            current.remove(segment.address().name(), segment);
        } finally {
            lock.unlock();
        }
        closeHandles(segment.handles().values());
    }

    /** Takes everything out; what is opened from now on is refused. */
    List<OpenSegment> close() {
        lock.lock();
        try {
            closed = true;
            final List<OpenSegment> all = new ArrayList<>(open);
            open.clear();
            current.clear();
            changed.signalAll();
            return all;
        } finally {
            lock.unlock();
        }
    }

    static void closeHandles(final Collection<TransportSegment> handles) {
        try (Closings closings = new Closings()) {
            handles.forEach(handle -> closings.keep(handle, TransportSegment::close));
        }
    }

    private OpenSegment knownOrMarked(final String name, final OpenSegment wanted) {
        lock.lock();
        try {
            while (opening.contains(name)) {
                changed.awaitUninterruptibly();
            }
            checkOpen();
            final OpenSegment known = current.get(name);
            if (known != null && known.region() != wanted.region()) {
                throw new IllegalStateException("segment " + name
                    + " is registered with another region; use another name, or close that one first");
            }
            if (known != null && Objects.equals(known.identity(), wanted.identity())) {
                known.addOwners(1);
                return known;
            }
            opening.add(name);
            return null;
        } finally {
            lock.unlock();
        }
    }

    private void publish(final String name, final OpenSegment fresh) {
        boolean late = false;
        lock.lock();
        try {
            opening.remove(name);
            changed.signalAll();
            late = closed;
            if (fresh != null && !late) {
                fresh.addOwners(1);
                open.add(fresh);
                if (name != null) {
                    current.put(name, fresh);
                }
            }
        } finally {
            lock.unlock();
        }
        if (fresh != null && late) {
            closeHandles(fresh.handles().values());
            checkOpen();
        }
    }

    private void checkOpen() {
        if (closed) {
            throw new IllegalStateException("the transfer engine is closed");
        }
    }

    /** What tells a file from the one that had its name before, and who shows another token; null for neither. */
    static Object identity(final SegmentAddress address, final AccessToken token) {
        if (address.kind() == Segment.Kind.REMOTE) {
            return token;
        }
        try {
            final Object file = Files.readAttributes(Path.of(address.path()), BasicFileAttributes.class).fileKey();
            return address.kind() == Segment.Kind.SHARED && file != null ? List.of(file, token) : file;
        } catch (final IOException e) {
            // Opening it will say what is wrong with it.
            return null;
        }
    }
}
