package io.kvtier.store.master;

import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreException;
import io.kvtier.store.protocol.AdminCommand;
import io.kvtier.store.protocol.Command;
import io.kvtier.store.protocol.Master;
import io.kvtier.transport.ThreadEnds;
import java.lang.System.Logger;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import org.agrona.concurrent.ManyToOneConcurrentArrayQueue;

/**
 * Runs the state of a master that many connections use: one command at a time, each exactly once.
 *
 * <p>Commands are put into a queue, and whoever then gets the lock applies what is in the queue, its own and others'.
 * On a machine with few processors this costs no thread switch, which takes longer than dozens of commands; on one with
 * many it keeps the state in the cache of the one who is at it. Answers are given after the lock has been left.
 *
 * <p>A thread that finds the queue empty and the lock free applies its command without the queue.
 *
 * <p><b>No command is lost.</b> Any other thread puts its entry into the queue first and tries the lock afterwards.
 * When the lock is free, it drains the queue. When it is not, its holder has not yet unlocked; the holder looks at the
 * queue after unlocking, and finds the entry, or finds that somebody else has taken it. The holder stops after a few
 * rounds, since it has answers of its own to send, and then wakes the clock's thread, which goes on until the queue is
 * empty. That thread looks at the queue with every tick too. <b>Each is applied once</b>: only the holder of the lock
 * takes from the queue. <b>Order</b>: the queue is first in, first out, only an empty one is passed by, and the
 * commands of one connection come from one thread at a time, so they are applied in their order; answers may overtake
 * each other.
 *
 * <p>The queue is bounded, in entries and in commands (a batch is many): when it is full {@link #submit} refuses.
 *
 * <p><b>Time</b> passes with the commands. One thread ticks, so that it passes too when there are none, goes on with
 * what takes long, and ends the waits whose time is over.
 *
 * <p><b>Threading:</b> thread-safe; one daemon thread {@code kvtier-master-clock}. <b>Blocking:</b> {@link #submit}
 * does not block, but may apply others' commands for some milliseconds; {@link #apply} waits. <b>Lifetime:</b>
 * {@link #close()} applies what is in the queue and answers everything.
 */
public final class Conductor implements Master, AutoCloseable {
    private static final Logger LOG = System.getLogger(Conductor.class.getName());
    private static final long TICK_NANOS = TimeUnit.MILLISECONDS.toNanos(10);
    /** Commands applied before the lock is left to tell those that are answered. */
    private static final int TURN_COMMANDS = 256;
    private static final int ROUNDS = 2;

    private final ReentrantLock lock = new ReentrantLock();
    private final ManyToOneConcurrentArrayQueue<Entry> queue;
    private final AtomicInteger queuedCommands = new AtomicInteger();
    private final int maxCommands;
    private final Running running;
    private final Parked parked;
    private final Thread clock;
    private volatile boolean closed;

    /**
     * Limits of what waits.
     *
     * @param entries  in the queue; a power of two is used up.
     * @param commands in the queue, those of batches counted one by one.
     * @param parked   puts that wait for room, and clients that wait for work.
     */
    record Limits(int entries, int commands, int parked) {
        static final Limits DEFAULT = new Limits(4096, 1 << 18, 4096);
    }

    Conductor(final Running running, final Limits limits) {
        this.queue = new ManyToOneConcurrentArrayQueue<>(limits.entries());
        this.maxCommands = limits.commands();
        this.running = running;
        this.parked = new Parked(limits.parked());
        this.clock = Thread.ofPlatform().daemon().name("kvtier-master-clock").unstarted(this::runClock);
    }

    void start() {
        clock.start();
    }

    /**
     * Puts something into the queue, and applies what is in it when nobody else does.
     *
     * @param entry is told when it is over, perhaps before this returns; after the end it is refused and told so.
     * @return false when the queue is full; nothing was done.
     */
    boolean submit(final Entry entry) {
        if (queue.isEmpty() && applyAtOnce(entry)) {
            return true;
        }
        if (queuedCommands.get() >= maxCommands) {
            return false;
        }
        queuedCommands.addAndGet(entry.weight());
        if (!queue.offer(entry)) {
            queuedCommands.addAndGet(-entry.weight());
            return false;
        }
        drive();
        return true;
    }

    /** Without the queue, when there is nobody in it and nobody at the state. */
    private boolean applyAtOnce(final Entry entry) {
        if (!lock.tryLock()) {
            return false;
        }
        final List<Entry> over;
        try {
            if (!queue.isEmpty()) {
                return false;
            }
            running.readClock();
            enter(entry);
            over = parked.takeOver();
        } finally {
            lock.unlock();
        }
        deliver(over);
        if (!queue.isEmpty()) {
            drive();
        }
        return true;
    }

    /** Ends what a connection waits for, once its commands that are still in the queue have been applied. */
    void disconnected(final long connection) {
        final Entry end = new Entry() {
            @Override
            public boolean apply(final Running at, final Parked waiting) {
                waiting.disconnected(connection);
                return false;
            }

            @Override
            public void deliver() {
                // Nobody waits for this.
            }
        };
        while (!submit(end)) {
            LockSupport.unpark(clock);
            Thread.yield();
        }
    }

    @Override
    public <R> R apply(final Command<R> command) {
        final Waiter<R> waiter = new Waiter<>(command);
        if (!submit(waiter)) {
            throw new StoreException(ErrorCode.UNAVAILABLE_IN_CURRENT_STATUS,
                "the master has too many commands waiting; try again later");
        }
        return waiter.await();
    }

    /** Answers all that wait for room or for work; from now on nobody waits, but commands are applied. */
    void endWaits() {
        lock.lock();
        final List<Entry> over;
        try {
            parked.endAll();
            over = parked.takeOver();
        } finally {
            lock.unlock();
        }
        deliver(over);
    }

    /**
     * Ends the clock's thread, applies what is in the queue, answers everything, frees the state. A second call does
     * nothing.
     */
    @Override
    public void close() {
        closed = true;
        LockSupport.unpark(clock);
        ThreadEnds.await(clock);
        endWaits();
        boolean rest = true;
        while (rest) {
            final List<Entry> over;
            lock.lock();
            try {
                takeTurn();
                over = parked.takeOver();
                rest = !queue.isEmpty();
                if (!rest) {
                    // Who comes later finds the state closed, and is told so.
                    running.close();
                }
            } finally {
                lock.unlock();
            }
            deliver(over);
        }
        // Who came during that last turn found the lock taken, and nobody else is left to look at the queue.
        drive();
    }

    private void drive() {
        // After the end there is no clock's thread to leave the rest to.
        for (int round = 0; round < ROUNDS || closed; round++) {
            if (!lock.tryLock()) {
                return;
            }
            final List<Entry> over;
            try {
                takeTurn();
                over = parked.takeOver();
            } finally {
                lock.unlock();
            }
            deliver(over);
            if (queue.isEmpty()) {
                return;
            }
        }
        LockSupport.unpark(clock);
    }

    private void takeTurn() {
        running.readClock();
        int commands = 0;
        while (commands < TURN_COMMANDS) {
            final Entry entry = queue.poll();
            if (entry == null) {
                break;
            }
            commands += entry.weight();
            enter(entry);
        }
        queuedCommands.addAndGet(-commands);
    }

    /** Lets an entry happen, and then whatever it brought about for those who wait. */
    private void enter(final Entry entry) {
        if (entry.apply(running, parked)) {
            parked.over(entry);
        }
        settle();
    }

    private void settle() {
        running.takeWork().forEach(parked::announce);
        if (running.takeSpaceFreed()) {
            parked.roomFreed(running);
        }
    }

    /** One that cannot be told costs neither the others their answers nor the thread that tells them its life. */
    private static void deliver(final List<Entry> over) {
        for (int i = 0; i < over.size(); i++) {
            try {
                over.get(i).deliver();
            } catch (final RuntimeException | Error e) {
                LOG.log(Logger.Level.ERROR, "an answer could not be given; its caller waits for nothing", e);
            }
        }
    }

    private void runClock() {
        long nextTick = System.nanoTime();
        while (!closed) {
            boolean more = false;
            if (System.nanoTime() - nextTick >= 0) {
                more = tick();
                nextTick = System.nanoTime() + TICK_NANOS;
            }
            while (!queue.isEmpty() && lock.tryLock()) {
                turn();
            }
            if (more) {
                nextTick = System.nanoTime();
            } else {
                LockSupport.parkNanos(this, nextTick - System.nanoTime());
            }
        }
    }

    private boolean tick() {
        boolean busy = false;
        lock.lock();
        try {
            running.readClock();
            busy = running.apply(new AdminCommand.Tick()).busy();
            settle();
            parked.expire(running.nowMs());
        } catch (final RuntimeException | Error e) {
            LOG.log(Logger.Level.ERROR, "the state machine failed on a tick", e);
        } finally {
            turn();
        }
        return busy;
    }

    /** A turn by who has the lock, which is left. */
    private void turn() {
        final List<Entry> over;
        try {
            takeTurn();
            over = parked.takeOver();
        } finally {
            lock.unlock();
        }
        deliver(over);
    }

    /** A thread of this process that waits for its answer. */
    private static final class Waiter<R> extends CommandEntry<R> {
        private final Thread thread = Thread.currentThread();
        private volatile boolean over;

        Waiter(final Command<R> command) {
            super(command, 0);
        }

        @Override
        boolean isLate() {
            return false;
        }

        @Override
        long connection() {
            return 0;
        }

        @Override
        public void deliver() {
            over = true;
            if (thread != Thread.currentThread()) {
                LockSupport.unpark(thread);
            }
        }

        R await() {
            boolean interrupted = false;
            while (!over) {
                LockSupport.park(this);
                interrupted |= Thread.interrupted();
            }
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
            if (refusal() != null) {
                throw refusal();
            }
            return reply();
        }
    }
}
