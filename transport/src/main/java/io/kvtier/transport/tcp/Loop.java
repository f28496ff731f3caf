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
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;

/**
 * A selector and who takes turns at it: whoever leads the loop alone reads, writes and closes its connections and
 * changes their state. Others put what they want into its inbox; an item is a task to run or something for the loop's
 * owner.
 *
 * <p>The loop's own thread leads, until a caller would rather do itself what it waits for ({@link #lead}): that spares
 * waking the thread for the request and the caller for the answer, longer than moving 64 KiB takes. When nothing is
 * under way the thread then makes room, and rests. A caller leads while the loop has nothing but its own item; as soon
 * as anything else comes, the thread takes over.
 *
 * <p>Deadlines are coarse: members say when they want to be looked at, and all of them are when the first of these
 * times has come.
 *
 * <p><b>Threading:</b> {@link #put}, {@link #flush}, {@link #execute}, {@link #lead} and {@link #stop} from any thread,
 * the rest for the leader; the leader's writes are seen by the next one, since the change of the leader is a volatile
 * write. A waker cannot be missed: a leader says that it goes to sleep, and says that it leads no longer, before it
 * looks into the inbox for the last time, and who puts something there looks afterwards whether the leader sleeps or
 * there is none.
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
    /** How long the thread rests before it looks whether callers still lead; connections are not watched meanwhile. */
    private static final long REST_NANOS = TimeUnit.SECONDS.toNanos(1);
    /** Items for which the thread goes on leading after a caller was disturbed: several callers share this loop. */
    private static final int CROWDED = 64;

    private static final Logger LOG = System.getLogger(Loop.class.getName());

    private final Selector selector;
    private final Consumer<Object> items;
    private final Runnable drained;
    private final BooleanSupplier idle;
    private final Thread thread;
    /** Null while nobody leads: then nothing is under way, or the thread was woken to lead. */
    private final AtomicReference<Thread> leader = new AtomicReference<>();
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
    /** Whether a caller would have led. */
    private volatile boolean wanted;
    /** Times that a caller has led, and the thread's last look at them. */
    private long led;
    private long ledBefore;
    private int crowded;

    /**
     * A loop that runs.
     *
     * @param name    of its thread.
     * @param items   takes what was put into the inbox and is no task.
     * @param drained runs after the inbox was emptied.
     * @param idle    whether nothing is under way that anybody waits for.
     */
    Loop(final String name, final Consumer<Object> items, final Runnable drained, final BooleanSupplier idle) {
        this.items = items;
        this.drained = drained;
        this.idle = idle;
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
        return Thread.currentThread() == leader.get();
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
        } else if (leader.get() == null) {
            LockSupport.unpark(thread);
        }
    }

    /**
     * Takes an item at once and turns until nothing is under way; or leaves what remains to the loop's thread, as soon
     * as there is anything else to do or the calling thread is interrupted. Not from inside.
     *
     * @param item for the loop's owner, as by {@link #put}.
     * @return false when it was not taken, as the loop is being led.
     */
    boolean lead(final Object item) {
        final Thread caller = Thread.currentThread();
        if (caller.isInterrupted()) {
            return false;
        }
        if (!leader.compareAndSet(null, caller)) {
            if (!wanted) {
                wanted = true;
            }
            return false;
        }
        final boolean taken = idle.getAsBoolean() && !hasItems();
        if (taken) {
            led++;
            leadWith(item);
        }
        handOver(caller);
        return taken;
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
        while (true) {
            if (!leader.compareAndSet(null, thread)) {
                // A caller leads, and wakes this thread when there is more to do than its own.
                LockSupport.parkNanos(this, REST_NANOS);
                continue;
            }
            // What came while nobody led is looked at without waiting: the thread may rest on.
            boolean waits = false;
            do {
                turn(waits);
                waits = true;
            } while (!stopping && !mayRest());
            if (stopping) {
                break;
            }
            leader.set(null);
            if (!hasItems()) {
                LockSupport.parkNanos(this, REST_NANOS);
            }
        }
        // Leads for ever: nobody else can.
        end();
    }

    /** Whether callers lead or would, and there is nothing else to do. */
    private boolean isFree() {
        return (wanted || led != ledBefore) && idle.getAsBoolean() && !hasItems();
    }

    private boolean mayRest() {
        if (!isFree()) {
            // Nobody has led for a while: the thread watches.
            ledBefore = led;
            return false;
        }
        wanted = false;
        ledBefore = led;
        if (crowded > 0) {
            crowded--;
            return false;
        }
        return true;
    }

    /** A caller's turns. */
    private void leadWith(final Object item) {
        try {
            take(item);
            drained.run();
            while (mayLead()) {
                tickIfDue();
                // A deadline may have ended what this caller waits for: nobody else would wake it.
                select(mayLead());
            }
        } catch (final IOException | RuntimeException | Error e) {
            // The thread goes on with what is under way, and meets it again if it lasts.
            unforeseen(e);
        }
    }

    private boolean mayLead() {
        return !idle.getAsBoolean() && !hasItems() && !Thread.currentThread().isInterrupted();
    }

    /** A caller leads no longer. */
    private void handOver(final Thread caller) {
        final boolean done = idle.getAsBoolean();
        if (!done) {
            crowded = CROWDED;
        }
        if (!leader.compareAndSet(caller, null)) {
            throw new IllegalStateException("the loop is led by " + leader.get());
        }
        if (!done || hasItems()) {
            LockSupport.unpark(thread);
        }
    }

    private void turn(final boolean waits) {
        try {
            drain();
            tickIfDue();
            select(waits && !isFree());
        } catch (final IOException e) {
            LOG.log(Logger.Level.ERROR, "a selector failed; its connections are ended", e);
            stopping = true;
        } catch (final RuntimeException | Error e) {
            unforeseen(e);
        }
    }

    private void tickIfDue() {
        final long now = System.nanoTime() - born;
        if (now >= due) {
            tick(now);
        }
    }

    /** Looks at channels, and waits for these and for the next deadline if it may and there is nothing else to do. */
    private void select(final boolean waits) throws IOException {
        sleeping = true;
        try {
            if (!waits || stopping || hasItems()) {
                selector.selectNow(dispatch);
            } else {
                selector.select(dispatch, waitMs());
            }
        } finally {
            sleeping = false;
        }
    }

    /** Milliseconds until the next deadline, as {@link Selector#select(Consumer, long)} takes them: 0 is for ever. */
    private long waitMs() {
        final long left = due - (System.nanoTime() - born);
        return due == NEVER ? 0 : Math.max(1, TimeUnit.NANOSECONDS.toMillis(left) + 1);
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
