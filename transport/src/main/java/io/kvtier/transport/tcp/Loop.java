package io.kvtier.transport.tcp;

import io.kvtier.transport.IoThreads;
import io.kvtier.transport.ThreadEnds;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.System.Logger;
import java.nio.channels.SelectableChannel;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;

/**
 * A thread with a selector, which owns connections: it alone reads, writes and closes them and changes their state.
 * Others put what they want into its inbox; an item is a task to run or something for the loop's owner.
 *
 * <p>Deadlines are coarse: members say when they want to be looked at, and all of them are when the first of these
 * times has come.
 *
 * <p><b>Threading:</b> {@link #put}, {@link #flush}, {@link #execute} and {@link #stop} from any thread, the rest on
 * the loop. A waker cannot be missed: the loop says that it goes to sleep before it looks into the inbox for the last
 * time, and who puts something there looks afterwards whether the loop sleeps.
 */
final class Loop {
    /** Reacts to a channel that is ready. */
    interface Ready {
        void ready(int operations);
    }

    /** Has deadlines, and must end before the loop does. */
    interface Member {
        /** Looks at its deadlines; answers when to be asked again, of {@link System#nanoTime()}, at the latest. */
        long tick(long nowNanos);

        /** Ends at once: the loop stops. */
        void stop();
    }

    /** A time that does not come. */
    static final long NEVER = Long.MAX_VALUE / 2;

    private static final Logger LOG = System.getLogger(Loop.class.getName());

    private final Selector selector;
    private final Consumer<Object> items;
    private final Runnable drained;
    private final Thread thread;
    private final ReentrantLock lock = new ReentrantLock();
    private ArrayDeque<Object> inbox = new ArrayDeque<>();
    private ArrayDeque<Object> taken = new ArrayDeque<>();
    private final List<Member> members = new ArrayList<>();
    private final Consumer<SelectionKey> dispatch = Loop::dispatch;
    private final long born = System.nanoTime();
    /** Nanoseconds after the loop's birth, so that they can be compared. */
    private long due = NEVER;
    private boolean stopping;
    private boolean ended;
    private volatile boolean sleeping;

    /**
     * A loop that runs.
     *
     * @param name    of its thread.
     * @param items   takes what was put into the inbox and is no task.
     * @param drained runs after the inbox was emptied.
     */
    Loop(final String name, final Consumer<Object> items, final Runnable drained) {
        this.items = items;
        this.drained = drained;
        try {
            selector = Selector.open();
        } catch (final IOException e) {
            throw new UncheckedIOException("cannot open a selector: " + e.getMessage()
                + "; raise the limit of open files (ulimit -n)", e);
        }
        thread = IoThreads.newThread(name, this::run);
        boolean started = false;
        try {
            thread.start();
            started = true;
        } finally {
            if (!started) {
                closeSelector();
            }
        }
    }

    boolean isInside() {
        return Thread.currentThread() == thread;
    }

    /** Leaves something for the loop, which may go on sleeping until {@link #flush()}; false when it has ended. */
    boolean put(final Object item) {
        lock.lock();
        try {
            if (ended) {
                return false;
            }
            inbox.add(item);
            return true;
        } finally {
            lock.unlock();
        }
    }

    /** Wakes the loop if it sleeps. */
    void flush() {
        if (sleeping) {
            sleeping = false;
            selector.wakeup();
        }
    }

    /** Runs a task on the loop soon; false when it has ended. */
    boolean execute(final Runnable task) {
        final boolean accepted = put(task);
        flush();
        return accepted;
    }

    /** Ends members and thread, and waits for the end unless it is called from inside. */
    void stop() {
        execute(() -> stopping = true);
        if (!isInside()) {
            ThreadEnds.await(thread);
        }
    }

    SelectionKey register(final SelectableChannel channel, final int operations, final Ready ready)
        throws IOException {
        return channel.register(selector, operations, ready);
    }

    void add(final Member member) {
        members.add(member);
        dueNow();
    }

    void remove(final Member member) {
        members.remove(member);
    }

    /** Asks for a look at the deadlines at a time, at the latest. */
    void dueAt(final long nanos) {
        due = Math.min(due, nanos - born);
    }

    private void dueNow() {
        due = 0;
    }

    private void run() {
        while (!stopping) {
            try {
                turn();
            } catch (final IOException e) {
                LOG.log(Logger.Level.ERROR, "a selector failed; its connections are ended", e);
                stopping = true;
            } catch (final RuntimeException | Error e) {
                unforeseen(e);
            }
        }
        end();
    }

    private void turn() throws IOException {
        drain();
        final long now = System.nanoTime() - born;
        if (now >= due) {
            tick(now);
        }
        sleeping = true;
        final long wait = due == NEVER ? 0 : Math.max(1, TimeUnit.NANOSECONDS.toMillis(due - now) + 1);
        try {
            if (stopping || hasItems()) {
                selector.selectNow(dispatch);
            } else {
                selector.select(dispatch, wait);
            }
        } finally {
            sleeping = false;
        }
    }

    private void tick(final long now) {
        due = NEVER;
        // By index from behind: a member may remove itself.
        for (int i = members.size() - 1; i >= 0; i--) {
            if (i < members.size()) {
                final long next = members.get(i).tick(now + born);
                due = Math.min(due, next == NEVER ? NEVER : next - born);
            }
        }
    }

    private boolean hasItems() {
        lock.lock();
        try {
            return !inbox.isEmpty();
        } finally {
            lock.unlock();
        }
    }

    private void drain() {
        lock.lock();
        try {
            final ArrayDeque<Object> full = inbox;
            inbox = taken;
            taken = full;
        } finally {
            lock.unlock();
        }
        if (taken.isEmpty()) {
            return;
        }
        try {
            Object item = taken.poll();
            while (item != null) {
                take(item);
                item = taken.poll();
            }
        } finally {
            drained.run();
        }
    }

    // What is behind it was taken as well, and nobody would come back for it.
    private void take(final Object item) {
        try {
            if (item instanceof Runnable task) {
                task.run();
            } else {
                items.accept(item);
            }
        } catch (final RuntimeException | Error e) {
            unforeseen(e);
        }
    }

    // Each handler ends its own connection; what comes here is a fault, and must not end the others.
    private static void unforeseen(final Throwable fault) {
        LOG.log(Logger.Level.ERROR, "a loop met what was not foreseen, and goes on", fault);
    }

    private void end() {
        lock.lock();
        try {
            ended = true;
        } finally {
            lock.unlock();
        }
        // What was put before; nothing can follow.
        guarded(this::drain);
        new ArrayList<>(members).forEach(member -> guarded(member::stop));
        closeSelector();
    }

    private void closeSelector() {
        try {
            // Lets the channels go that were closed.
            selector.selectNow();
            selector.close();
        } catch (final IOException e) {
            LOG.log(Logger.Level.WARNING, "a selector could not be closed", e);
        }
    }

    private static void guarded(final Runnable body) {
        try {
            body.run();
        } catch (final RuntimeException | Error e) {
            unforeseen(e);
        }
    }

    private static void dispatch(final SelectionKey key) {
        if (key.isValid()) {
            ((Ready) key.attachment()).ready(key.readyOps());
        }
    }
}
