package io.kvtier.store.storage.shared;

import io.kvtier.bindings.RefCount;
import io.kvtier.store.StoreException;
import io.kvtier.store.storage.SyncGroup;
import io.kvtier.transport.Uninterrupted;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongSupplier;

/**
 * Files of a shared disk that are kept open, so that a read opens none: at most so many, of which the one that was used
 * longest ago goes first. A file is closed when its last user has left, however it came to go.
 *
 * <p>A path may come to lead to another file: a file system is mounted anew, or somebody has put another one there. So
 * now and then the path is looked up, by one of those who use the file, and at once when something failed on it; where
 * it leads elsewhere the file goes, and who comes next opens what is there. What could not be opened is not remembered.
 *
 * <p><b>Threading:</b> thread-safe. Files are opened, looked up and closed outside the lock; who wants a file that
 * another thread is opening waits for that one, and is told the same if it fails. <b>Lifetime:</b> closing lets go of
 * all; what is in use is closed by its last user. <b>Blocking:</b> {@link #enter}, on the file system.
 */
public final class OpenFiles implements AutoCloseable {
    /** Files that are kept open. */
    public static final int MOST = 256;
    /** How long it may take until a file that was replaced is found out by itself. */
    static final long LOOK_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final FileSystemAdapter files;
    private final int most;
    private final LongSupplier nanos;
    /** What is looked at when a file was opened. */
    private final Runnable check;
    private final LongAdder replaced = new LongAdder();
    private final ReentrantLock lock = new ReentrantLock();
    /** In the order of use; guarded by the lock. */
    private final Map<String, FutureTask<Opened>> opened = new LinkedHashMap<>(16, 0.75f, true);
    /** Set under the lock. */
    private volatile boolean closed;

    /** A file in use. */
    static final class Opened {
        private final SharedFile file;
        private final RefCount users;
        private final SyncGroup syncs = new SyncGroup();
        private final AtomicLong lookedNanos;

        private Opened(final SharedFile file, final long now) {
            this.file = file;
            this.users = new RefCount(file::close);
            this.lookedNanos = new AtomicLong(now);
        }

        SharedFile file() {
            return file;
        }

        /** Makes what was written to it durable. */
        SyncGroup syncs() {
            return syncs;
        }

        /** Ends a use that {@link OpenFiles#enter} began. */
        void leave() {
            users.release();
        }
    }

    /**
     * None is open yet.
     *
     * @param files the file system; it stays open.
     */
    public OpenFiles(final FileSystemAdapter files) {
        this(files, () -> { });
    }

    /**
     * None is open yet.
     *
     * @param files the file system; it stays open.
     * @param check looks, whenever a file was opened, whether it is of the file system that is meant; what it throws is
     *              why the file is not opened.
     */
    public OpenFiles(final FileSystemAdapter files, final Runnable check) {
        this(files, check, MOST, System::nanoTime);
    }

    /**
     * None is open yet.
     *
     * @param files the file system.
     * @param check looks at it when a file was opened.
     * @param most  how many are kept.
     * @param nanos a clock that does not go back.
     */
    OpenFiles(final FileSystemAdapter files, final Runnable check, final int most, final LongSupplier nanos) {
        this.files = files;
        this.check = check;
        this.most = most;
        this.nanos = nanos;
    }

    /**
     * Begins to use a file.
     *
     * @param path which.
     * @return the file, to be {@linkplain Opened#leave left}.
     * @throws StoreException FILE_OPEN_FAIL, when it cannot be opened.
     */
    Opened enter(final String path) {
        while (true) {
            final FutureTask<Opened> task = task(path);
            // Its own if it is new; run by nobody else.
            task.run();
            final Opened one = get(path, task);
            if (!one.users.tryAcquire()) {
                // It went meanwhile, and is out of the map or soon will be.
                forget(path, task);
            } else if (closed) {
                // Closed while it was being opened: it was in no map to be closed from.
                one.leave();
                one.users.close();
            } else if (isDue(one) && isReplaced(one)) {
                one.leave();
                replaced.increment();
                drop(path, task, one);
            } else {
                return one;
            }
        }
    }

    private FutureTask<Opened> task(final String path) {
        final List<FutureTask<Opened>> gone = new ArrayList<>(1);
        lock.lock();
        try {
            if (closed) {
                throw new IllegalStateException("the shared disk is closed");
            }
            FutureTask<Opened> task = opened.get(path);
            if (task == null) {
                task = new FutureTask<>(() -> open(path));
                opened.put(path, task);
                takeOldest(gone);
            }
            return task;
        } finally {
            lock.unlock();
            gone.forEach(OpenFiles::close);
        }
    }

    private Opened open(final String path) {
        final SharedFile file = files.open(path);
        boolean right = false;
        try {
            check.run();
            right = true;
            return new Opened(file, nanos.getAsLong());
        } finally {
            if (!right) {
                file.close();
            }
        }
    }

    /** One that is being opened stays: those who wait for it would open it again. */
    private void takeOldest(final List<FutureTask<Opened>> gone) {
        final Iterator<FutureTask<Opened>> oldest = opened.values().iterator();
        int over = opened.size() - most;
        while (over > 0 && oldest.hasNext()) {
            final FutureTask<Opened> one = oldest.next();
            if (one.isDone()) {
                oldest.remove();
                gone.add(one);
                over--;
            }
        }
    }

    private Opened get(final String path, final FutureTask<Opened> task) {
        return Uninterrupted.get(() -> {
            try {
                return task.get();
            } catch (final ExecutionException e) {
                forget(path, task);
                if (e.getCause() instanceof Error error) {
                    throw error;
                }
                throw (RuntimeException) e.getCause();
            }
        });
    }

    private void forget(final String path, final FutureTask<Opened> task) {
        lock.lock();
        try {
            opened.remove(path, task);
        } finally {
            lock.unlock();
        }
    }

    private void drop(final String path, final FutureTask<Opened> task, final Opened one) {
        forget(path, task);
        one.users.close();
    }

    /** True for one caller at a time, and not again for a while. */
    private boolean isDue(final Opened one) {
        final long looked = one.lookedNanos.get();
        final long now = nanos.getAsLong();
        return now - looked >= LOOK_NANOS && one.lookedNanos.compareAndSet(looked, now);
    }

    /**
     * Whether the path of a file leads elsewhere by now, or nowhere. Where the system does not tell, it counts as the
     * same: reading it will show what is wrong.
     */
    boolean isReplaced(final Opened one) {
        try {
            final FileSystemAdapter.Status now = files.status(one.file.path());
            return now == null || !now.identity().equals(one.file.identity());
        } catch (final StoreException e) {
            return false;
        }
    }

    /**
     * Something failed on a file, or its bytes were wrong: whoever comes next opens it anew. The caller leaves it as
     * always.
     *
     * @return whether its path leads to another file by now, or nowhere.
     */
    boolean failed(final Opened one) {
        final String path = one.file.path();
        lock.lock();
        try {
            opened.computeIfPresent(path, (its, task) -> task.isDone() && holds(task, one) ? null : task);
        } finally {
            lock.unlock();
        }
        one.users.close();
        final boolean other = isReplaced(one);
        if (other) {
            replaced.increment();
        }
        return other;
    }

    private static boolean holds(final FutureTask<Opened> task, final Opened one) {
        return task.state() == FutureTask.State.SUCCESS && task.resultNow() == one;
    }

    /**
     * How many are open, or being opened.
     *
     * @return the number, at most {@link #MOST} and those that are being opened.
     */
    public int size() {
        lock.lock();
        try {
            return opened.size();
        } finally {
            lock.unlock();
        }
    }

    /**
     * How often a path was found to lead to another file than the one that was open.
     *
     * @return the number.
     */
    public long replaced() {
        return replaced.sum();
    }

    private static void close(final FutureTask<Opened> task) {
        if (task.state() == FutureTask.State.SUCCESS) {
            task.resultNow().users.close();
        }
    }

    @Override
    public void close() {
        final List<FutureTask<Opened>> all;
        lock.lock();
        try {
            closed = true;
            all = List.copyOf(opened.values());
            opened.clear();
        } finally {
            lock.unlock();
        }
        // One that is being opened now is closed by who opens it.
        all.forEach(OpenFiles::close);
    }
}
