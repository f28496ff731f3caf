package io.kvtier.store.storage;

import io.kvtier.bindings.NativeException;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreException;
import io.kvtier.transport.RareLog;
import io.kvtier.transport.Uninterrupted;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Makes what an {@link ExtentMap} says survive a restart: writes it to an index, behind those who put and drop.
 *
 * <p>One thread goes through what has changed, pass after pass; a pass takes all that has changed since the one before,
 * so that many changes share its syncs. The order within a pass:
 *
 * <ol>
 * <li>The file of values is made durable. What was committed by then has been written by then.
 * <li>Records are appended, of values that are still committed and of removals, and made durable.
 * <li>Extents whose removal is durable now may be freed.
 * </ol>
 *
 * <p>So a record never names bytes that were not durable before it was written, and an extent is not used again while a
 * record may name it: whatever a crash leaves of the index, it names values whose bytes are theirs. A value is readable
 * before its record is durable; a crash loses it then.
 *
 * <p><b>Failures.</b> A sync of the values that fails loses what it should have covered, see {@link ExtentMap#lost()}.
 * An index that cannot be written is tried again with the next change, whole: until then removed extents rest and new
 * values do not survive.
 *
 * <p><b>Threading:</b> thread-safe. The lock guards the lists and the counts, is taken under the map's and never held
 * across a call. The log belongs to the one thread. <b>Lifetime:</b> {@link #close()} writes the index once more,
 * without anything dead in it; does not own the map. <b>Blocking:</b> {@link #flush()} and {@link #close()}.
 */
final class GdsIndex implements ExtentJournal, AutoCloseable {
    private static final System.Logger LOG = System.getLogger(GdsIndex.class.getName());

    private final RareLog complaints = new RareLog(LOG);
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private final ExtentMap map;
    private final IndexLog<ExtentRecord, StoredExtent> log;
    private final Runnable syncValues;
    private final Thread thread = Thread.ofPlatform().daemon().name("kvtier-gds-index").unstarted(this::run);
    private volatile Runnable doubt = () -> { };
    private List<ExtentEntry> stored = new ArrayList<>();
    private List<ExtentEntry> removed = new ArrayList<>();
    /** Passes: those that somebody wants, have begun, have ended; the last two differ by at most one. */
    private long wanted;
    private long begun;
    private long ended;
    /** Why the last pass could not write the index; null when it did. */
    private Throwable unwritten;
    /** Why values were lost since somebody was last told so; null when none was. */
    private Throwable lost;
    private boolean closing;
    /** The index says all that it will say. */
    private boolean finished;
    /** Why the index could not be written at the end; read after the end of the thread. */
    private Throwable lastProblem;

    /**
     * Over a log that says what the map has recovered.
     *
     * @param map        what is to survive.
     * @param log        the index, which is closed with this.
     * @param syncValues makes the file of values durable.
     */
    GdsIndex(final ExtentMap map, final IndexLog<ExtentRecord, StoredExtent> log, final Runnable syncValues) {
        this.map = map;
        this.log = log;
        this.syncValues = syncValues;
    }

    /** Who is told that the master is to be asked about extents; must not block. */
    void whenInDoubt(final Runnable told) {
        doubt = told;
    }

    /** From now on the map's changes are written down. */
    void start() {
        thread.start();
        map.tell(this);
    }

    @Override
    public void stored(final ExtentEntry entry) {
        lock.lock();
        try {
            stored.add(entry);
            want();
        } finally {
            lock.unlock();
        }
    }

    @Override
    public void removed(final ExtentEntry entry) {
        lock.lock();
        try {
            removed.add(entry);
            want();
        } finally {
            lock.unlock();
        }
    }

    /** Tries again what may have failed: somebody found no room. */
    void hurry() {
        lock.lock();
        try {
            if (!removed.isEmpty()) {
                want();
            }
        } finally {
            lock.unlock();
        }
    }

    /** Waits until what has changed by now is durable; who is told that something was lost is the only one told. */
    void flush() {
        final Throwable why;
        lock.lock();
        try {
            final long pass = want();
            while (ended < pass && !finished) {
                changed.awaitUninterruptibly();
            }
            why = unwritten != null ? unwritten : lost;
            lost = null;
        } finally {
            lock.unlock();
        }
        if (why != null) {
            throw new StoreException(ErrorCode.FILE_WRITE_FAIL, "not all that was committed or dropped was made "
                + "durable: values may have been lost, and a restart may find what was dropped; index " + log.path()
                + " is written again with the next change; look after its disk, which may be full", why);
        }
    }

    @Override
    public void close() {
        lock.lock();
        try {
            closing = true;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
        try {
            Uninterrupted.await(thread::join);
        } finally {
            log.close();
        }
        if (lastProblem != null) {
            throw new StoreException(ErrorCode.FILE_WRITE_FAIL, "index " + log.path() + " could not be written at the "
                + "end, and the next start finds what it said before; look after its disk, which may be full",
                lastProblem);
        }
    }

    /** Wants a pass that begins from now on; returns its number. */
    private long want() {
        wanted = begun + 1;
        changed.signalAll();
        return wanted;
    }

    private void run() {
        while (awaitWanted()) {
            end(guardedPass());
        }
        // What was committed last, and then an index with nothing dead in it, which the next start reads fastest, and
        // which says all that one said that could not be written.
        guardedPass();
        lastProblem = attempt(() -> log.rewrite(map.durable()));
        lock.lock();
        try {
            unwritten = lastProblem;
            finished = true;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    private boolean awaitWanted() {
        lock.lock();
        try {
            while (wanted <= begun && !closing) {
                changed.awaitUninterruptibly();
            }
            if (closing) {
                return false;
            }
            begun++;
            return true;
        } finally {
            lock.unlock();
        }
    }

    private void end(final Throwable why) {
        lock.lock();
        try {
            ended = begun;
            unwritten = why;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** Whatever a pass throws, there is another one: those who wait would wait for ever. */
    private Throwable guardedPass() {
        try {
            return pass();
        } catch (final RuntimeException | Error e) {
            LOG.log(System.Logger.Level.ERROR, "index " + log.path() + " was not written", e);
            return e;
        }
    }

    /** Returns why the index could not be written, null when it could. */
    private Throwable pass() {
        final List<ExtentEntry> storedNow;
        final List<ExtentEntry> removedNow;
        lock.lock();
        try {
            storedNow = stored;
            removedNow = removed;
            stored = new ArrayList<>();
            removed = new ArrayList<>();
        } finally {
            lock.unlock();
        }
        if (storedNow.isEmpty() && removedNow.isEmpty()) {
            return null;
        }
        boolean done = false;
        try {
            if (!storedNow.isEmpty()) {
                makeDurable();
            }
            final List<StoredExtent> values = map.recording(storedNow);
            final Throwable why = attempt(() -> write(values, removedNow));
            if (why == null) {
                map.removed(removedNow);
                done = true;
            } else {
                LOG.log(System.Logger.Level.WARNING, "index " + log.path() + " could not be written; "
                    + removedNow.size() + " removed extents rest, and it is written anew with the next change", why);
            }
            return why;
        } finally {
            // Whatever was thrown: to say the same once more does no harm.
            if (!done) {
                putBack(storedNow, removedNow);
            }
        }
    }

    private void makeDurable() {
        final Throwable why = attempt(syncValues);
        if (why != null) {
            final int count = map.lost();
            LOG.log(System.Logger.Level.ERROR, "values that were just written could not be made durable; " + count
                + " of them are given up, because nobody knows which bytes the disk of " + log.path() + " has", why);
            lock.lock();
            try {
                lost = why;
            } finally {
                lock.unlock();
            }
            doubt.run();
        }
    }

    private void write(final List<StoredExtent> values, final List<ExtentEntry> gone) {
        if ((log.isDamaged() || log.isWorthRewriting()) && rewritten()) {
            return;
        }
        final List<ExtentRecord> records = new ArrayList<>(values.size() + gone.size());
        // What is given up does not change any more.
        gone.forEach(entry -> records.add(ExtentRecord.removed(entry.stored())));
        values.forEach(value -> records.add(ExtentRecord.stored(value)));
        if (!records.isEmpty()) {
            log.append(records);
            log.sync();
        }
    }

    /** Whether the log was; false when it was not and the old one takes more, on a full disk, say. */
    private boolean rewritten() {
        try {
            log.rewrite(map.durable());
            return true;
        } catch (final NativeException | StoreException e) {
            if (log.isDamaged()) {
                throw e;
            }
            complaints.warn("index " + log.path() + " could not be rewritten and grows", e::getMessage);
            return false;
        }
    }

    /** They are in the next pass, before what has come meanwhile. */
    private void putBack(final List<ExtentEntry> storedBefore, final List<ExtentEntry> removedBefore) {
        lock.lock();
        try {
            stored.addAll(0, storedBefore);
            removed.addAll(0, removedBefore);
        } finally {
            lock.unlock();
        }
    }

    private static Throwable attempt(final Runnable step) {
        try {
            step.run();
            return null;
        } catch (final RuntimeException | Error e) {
            // An error too: what is to be written down stays to be.
            return e;
        }
    }
}
