package io.kvtier.kit;

import java.util.EnumMap;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * Numbers all that a part of a program does outside of itself, one step after the other, and lets it die, or one step
 * fail, wherever it is told to.
 *
 * <p>The same run takes the same steps in the same order: there is one thread that works, the one that makes this, and
 * the others take a step only while that one waits or has nothing to do. What comes sooner or later all the same, such
 * as the passes of a thread that takes what there is, has a line of its own, numbered from 1.
 *
 * <p>After its death nothing that it does has any effect: every step fails.
 *
 * <p><b>Threading:</b> thread-safe; one step at a time.
 */
public final class Steps {
    private static final long PAUSE_NANOS = 50_000;

    private final Thread main = Thread.currentThread();
    private final ReentrantLock lock = new ReentrantLock();
    private final BiFunction<Kind, String, String> line;
    private final Plan plan;
    private final Runnable died;
    private final Map<Kind, Long> counts = new EnumMap<>(Kind.class);
    private final Map<String, Long> numbers = new HashMap<>();
    private Kind reached;
    private String where = "";
    private volatile boolean busy;
    private volatile boolean dead;

    /** What is done. */
    public enum Kind {
        /** A call of somebody else. */
        CALL,
        /** A slice is handed to what moves it. */
        SLICE,
        OPEN, READ, WRITE, SYNC, PREALLOCATE
    }

    /** How far the step goes in which it dies, or that fails. */
    public enum How {
        /** Nothing of it is done. */
        BEFORE,
        /** A part, where that can be. */
        TORN,
        /** All of it, but nobody is told so. */
        AFTER
    }

    /**
     * What happens in one step.
     *
     * @param kills  whether it dies there; if not, the step fails and all goes on.
     * @param line   of the step.
     * @param number of the step in its line, from 1; 0 for no step at all.
     * @param how    how far that one goes.
     */
    public record Plan(boolean kills, String line, long number, How how) {
    }

    /**
     * Begins to number.
     *
     * @param plan what happens.
     * @param line by which line a step is numbered, given its kind and the name of its thread.
     * @param died is run at the moment of its death, when nothing else is done.
     */
    public Steps(final Plan plan, final BiFunction<Kind, String, String> line, final Runnable died) {
        this.plan = plan;
        this.line = line;
        this.died = died;
    }

    /**
     * Steps that all go well, and that nobody numbers.
     *
     * @return those.
     */
    public static Steps free() {
        return new Steps(new Plan(false, "", 0, How.BEFORE), (kind, thread) -> "", () -> { });
    }

    /**
     * Takes a step.
     *
     * @param <T>     what it gives.
     * @param kind    what it is.
     * @param what    of what, for people.
     * @param part    does a part of it; null where there is none.
     * @param whole   does it.
     * @param failure what is thrown when it fails, given why.
     * @return what the whole step gave.
     */
    public <T> T take(final Kind kind, final String what, final Runnable part, final Supplier<T> whole,
        final Function<String, RuntimeException> failure) {
        awaitTurn();
        lock.lock();
        try {
            if (dead) {
                throw failure.apply("the client is dead");
            }
            if (!isPlanned(kind)) {
                return whole.get();
            }
            reached = kind;
            where = kind + " of " + what + ", " + plan.how();
            if (plan.how() == How.AFTER) {
                whole.get();
            } else if (plan.how() == How.TORN && part != null) {
                part.run();
            }
            if (plan.kills()) {
                dead = true;
                died.run();
            }
            throw failure.apply("told to fail");
        } finally {
            lock.unlock();
        }
    }

    /** Counts a step. What changes nothing is none to die in. */
    private boolean isPlanned(final Kind kind) {
        counts.merge(kind, 1L, Long::sum);
        final String its = line.apply(kind, Thread.currentThread().getName());
        return !(plan.kills() && kind == Kind.READ) && numbers.merge(its, 1L, Long::sum) == plan.number()
            && its.equals(plan.line());
    }

    private void awaitTurn() {
        if (Thread.currentThread() == main) {
            return;
        }
        while (busy && !dead && isRunning(main.getState())) {
            LockSupport.parkNanos(PAUSE_NANOS);
        }
    }

    private static boolean isRunning(final Thread.State state) {
        return state == Thread.State.RUNNABLE || state == Thread.State.NEW;
    }

    /** Works, on the one thread that does: others have their turn when it waits. */
    public <T> T during(final Supplier<T> work) {
        busy = true;
        try {
            return work.get();
        } finally {
            busy = false;
        }
    }

    public boolean isDead() {
        return dead;
    }

    /** What the planned step is; null while there was none. */
    public Kind reached() {
        lock.lock();
        try {
            return reached;
        } finally {
            lock.unlock();
        }
    }

    /** The planned step, for people; empty while there was none. */
    public String where() {
        lock.lock();
        try {
            return where;
        } finally {
            lock.unlock();
        }
    }

    /** How many steps of a kind there were, whoever took them. */
    public long count(final Kind kind) {
        lock.lock();
        try {
            return counts.getOrDefault(kind, 0L);
        } finally {
            lock.unlock();
        }
    }
}
