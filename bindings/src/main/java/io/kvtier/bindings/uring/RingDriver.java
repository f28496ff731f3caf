package io.kvtier.bindings.uring;

import io.kvtier.bindings.posix.Errno;
import io.kvtier.bindings.posix.ErrnoException;
import java.util.concurrent.TimeUnit;

/**
 * What goes on between a ring and the kernel: entries are offered until taken, completions are matched with
 * operations, the waker's read is kept in the kernel, and an instance that fails is drained and replaced.
 *
 * <p>io_uring_enter may take fewer entries than it was offered, and may fail with some taken. What it took is read from
 * the queue's head and not from its result. Progress is followed by offering the rest. Without progress EINTR, EAGAIN,
 * EBUSY and ENOMEM are tried again, 64 times in a row at most. After that, or after any other error, the queue cannot
 * be trusted: entries not taken are withdrawn and end with that error, what was taken is waited for, and the instance
 * is replaced.
 *
 * <p>Invariants, between any two calls:
 * <ul>
 * <li>an open operation is pending in the queue or with the kernel, never both and never neither;</li>
 * <li>{@code cancels} counts the cancel requests, and {@code wakeToken} names the waker's read, that are pending or
 * with the kernel;</li>
 * <li>the completion queue has room for depth operations, a cancel request for each, and the read; so the kernel holds
 * completions back only when it puts work off, or when cancel requests outlive their targets, and drops none.</li>
 * </ul>
 *
 * <p><b>Threading:</b> the owner of the ring. <b>Allocation:</b> none but for a rebuild.
 */
final class RingDriver {
    /** Failed submissions in a row without progress before the instance is replaced. */
    static final int MAX_TRANSIENT_FAILURES = 64;

    private static final long NO_TOKEN = 0;

    private final UringKernel kernel;
    private final UringFeatures features;
    private final UringOptions options;
    private final Operations operations;
    private final ResourceTable table;
    private final Waker waker;

    private KernelRing ring;
    private long wakeToken = NO_TOKEN;
    private boolean woken;
    private int cancels;
    private ErrnoException broken;
    private long rebuilds;
    private long strays;

    RingDriver(final UringKernel kernel, final UringFeatures features, final UringOptions options,
               final Operations operations, final ResourceTable table, final Waker waker) {
        this.kernel = kernel;
        this.features = features;
        this.options = options;
        this.operations = operations;
        this.table = table;
        this.waker = waker;
        ring = newRing();
    }

    /** The submission queue has room for every operation and the waker's read; the kernel gives twice that back. */
    private KernelRing newRing() {
        final KernelRing opened = KernelRing.open(kernel, options.depth() + 1, features.setupFlags());
        try {
            table.handOver(opened);
        } catch (final RuntimeException | Error e) {
            opened.close();
            throw e;
        }
        return opened;
    }

    /** The instance now; a rebuild replaces it. */
    KernelRing ring() {
        return ring;
    }

    boolean isBroken() {
        return broken != null;
    }

    void checkUsable() {
        if (broken != null) {
            throw new IllegalStateException("the ring is broken; close it and open another", broken);
        }
    }

    long rebuilds() {
        return rebuilds;
    }

    long strays() {
        return strays;
    }

    /** Asks for the end of every open operation with that user data, and gives how many there were. */
    int cancel(final long userData) {
        harvest();
        int found = 0;
        int slot = operations.findOpen(0, userData, false);
        while (slot != Operations.NONE) {
            if (ring.room() == 0) {
                // May end operations, this one too.
                run(0, 0);
                checkUsable();
            } else {
                askCancel(slot);
                found++;
                slot++;
            }
            slot = operations.findOpen(slot, userData, false);
        }
        run(0, 0);
        return found;
    }

    private void askCancel(final int slot) {
        cancelToken(operations.token(slot));
        operations.markCancelled(slot);
    }

    private void cancelToken(final long target) {
        ring.entry(UringLayout.OP_ASYNC_CANCEL, 0, -1, operations.ownToken(Operations.KIND_CANCEL));
        ring.transfer(0, target, 0);
        cancels++;
    }

    /** Keeps a read of the waker in the ring; it goes out with whatever is offered next. */
    private void armWaker() {
        if (wakeToken == NO_TOKEN && ring.room() > 0) {
            wakeToken = operations.ownToken(Operations.KIND_WAKE);
            ring.entry(UringLayout.OP_READ, 0, waker.descriptor(), wakeToken);
            ring.transfer(0, Waker.SINK.address(), (int) Waker.SINK.byteSize());
        }
    }

    /**
     * Offers everything pending and waits for {@code min} ends. A wait asks the kernel for one completion at a time,
     * so that the waker's counts, and goes back while there are too few.
     */
    void run(final int min, final long limitNs) {
        final boolean timed = limitNs > 0 && limitNs != Long.MAX_VALUE;
        final long start = timed ? System.nanoTime() : 0;
        long left = limitNs;
        int failures = 0;
        if (min > 0) {
            armWaker();
        }
        collect();
        boolean wait = mustWait(min, left);
        while (wait || ring.pending() > 0) {
            final int offered = ring.pending();
            final int result = ring.enter(wait ? 1 : 0, left);
            collect();
            failures = isProgress(offered, result) ? 0 : failures + 1;
            if (failures > 0 && !isWorthRetrying(result, failures)) {
                rebuild(result < 0 ? -result : Errno.EIO);
                return;
            }
            if (failures > 0) {
                relieve();
            }
            left = timed ? limitNs - (System.nanoTime() - start) : limitNs;
            wait = mustWait(min, left);
        }
        if (min > 0) {
            woken = false;
        }
    }

    private boolean mustWait(final int min, final long left) {
        return operations.ready() < min && !woken && left > 0;
    }

    private boolean isProgress(final int offered, final int result) {
        return offered > 0 ? ring.pending() < offered : isEndOfWait(result);
    }

    private static boolean isWorthRetrying(final int result, final int failures) {
        return failures <= MAX_TRANSIENT_FAILURES && (result >= 0 || isTransient(-result));
    }

    private static boolean isEndOfWait(final int result) {
        return result >= 0 || result == -Errno.EINTR || result == -Errno.ETIME;
    }

    private static boolean isTransient(final int errno) {
        return errno == Errno.EINTR || errno == Errno.EAGAIN || errno == Errno.EBUSY || errno == Errno.ENOMEM
            || errno == Errno.ETIME;
    }

    /** Before another attempt: makes room for completions that the kernel holds back, and lets others run. */
    private void relieve() {
        if (ring.holdsBack()) {
            harvest();
        }
        Thread.yield();
    }

    /**
     * Takes the completions that lie in the queue, and only when that leaves nothing to hand out those that entering
     * the kernel would bring: while there is something to do, the next wait brings them for nothing.
     */
    void look() {
        collect();
        if (operations.ready() == 0) {
            harvest();
        }
    }

    /** Takes every completion that there is, those included that the kernel delivers only when entered. */
    void harvest() {
        collect();
        // Each round empties the queue first, so a kernel that has more puts at least one there.
        while (ring.holdsBack()) {
            ring.deliver();
            if (collect() == 0) {
                return;
            }
        }
    }

    /** Takes the completions that lie in the queue. */
    private int collect() {
        int total = 0;
        int count = ring.available();
        while (count > 0) {
            for (int i = 0; i < count; i++) {
                accept(ring.token(i), ring.result(i));
            }
            ring.consumed(count);
            total += count;
            count = ring.available();
        }
        return total;
    }

    private void accept(final long token, final int result) {
        switch (Operations.kind(token)) {
            case Operations.KIND_WAKE -> acceptWake(token, result);
            case Operations.KIND_CANCEL -> acceptCancel();
            default -> {
                if (!operations.end(token, result)) {
                    strays++;
                }
            }
        }
    }

    /** Whether a cancel request found its target shows in the target's own end. */
    private void acceptCancel() {
        if (cancels > 0) {
            cancels--;
        } else {
            strays++;
        }
    }

    private void acceptWake(final long token, final int result) {
        if (token != wakeToken) {
            strays++;
            return;
        }
        wakeToken = NO_TOKEN;
        if (result > 0) {
            waker.taken();
            woken = true;
        }
    }

    /** Takes back what is pending; operations among it end with an error. */
    void withdraw(final int result) {
        while (ring.pending() > 0) {
            accept(ring.withdraw(), result);
        }
    }

    private void rebuild(final int errno) {
        final ErrnoException cause = new ErrnoException("io_uring_enter", errno, ring.pending() + " entries pending, "
            + operations.open() + " operations open");
        withdraw(-errno);
        if (!drained(false) && !drained(true)) {
            broken = cause;
            throw cause;
        }
        table.takeBack(ring);
        ring.close();
        try {
            ring = newRing();
        } catch (final ErrnoException e) {
            e.addSuppressed(cause);
            broken = e;
            throw e;
        }
        rebuilds++;
    }

    /**
     * Waits for everything that the kernel has taken. However short the time limit, the kernel is entered once, and
     * again as long as each entry brings something.
     *
     * @param cancel whether to ask the kernel to give operations up first; the waker's read always is.
     * @return whether it is all back.
     */
    boolean drained(final boolean cancel) {
        final long start = System.nanoTime();
        final long limitNs = TimeUnit.MILLISECONDS.toNanos(options.drainTimeoutMs());
        long cancelledWake = NO_TOKEN;
        int came = 1;
        while (true) {
            came += collect();
            if (operations.open() + cancels == 0 && wakeToken == NO_TOKEN) {
                return true;
            }
            final long left = limitNs - (System.nanoTime() - start);
            if (left <= 0 && came == 0) {
                return false;
            }
            came = 0;
            if (wakeToken != cancelledWake && wakeToken != NO_TOKEN && ring.room() > 0) {
                cancelledWake = wakeToken;
                cancelToken(wakeToken);
            }
            if (cancel) {
                askCancelAll();
            }
            final int result = ring.enter(1, Math.max(left, 0));
            if (result < 0 && !isTransient(-result)) {
                collect();
                return operations.open() + cancels == 0 && wakeToken == NO_TOKEN;
            }
            if (result < 0) {
                relieve();
            }
        }
    }

    /** Takes what lies in the queue, for a thread that may not enter the kernel with this ring. */
    void collectOnly() {
        collect();
    }

    /** As many as there is room for. */
    private void askCancelAll() {
        int slot = operations.findOpen(0, 0, true);
        while (slot != Operations.NONE && ring.room() > 0) {
            askCancel(slot);
            slot = operations.findOpen(slot + 1, 0, true);
        }
    }
}
