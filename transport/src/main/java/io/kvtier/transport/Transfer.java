package io.kvtier.transport;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;

/**
 * The progress of what one submit asked for. It ends when all its slices have ended, and not before: then, and only
 * then, may its memory be reused or its extents be let go. The first failure decides; slices not yet started are then
 * skipped.
 *
 * <p><b>Threading:</b> thread-safe. The end linearizes at the decrement that takes the number of open slices to zero;
 * everything that the transports wrote happens before {@link #await} returns and before a callback runs.
 * <b>Blocking:</b> only {@link #await}; a virtual thread parks.
 */
public final class Transfer {
    /** Stands for a good end, so that a late cancel or failure finds the outcome decided. */
    private static final TransferFailure NONE =
        new TransferFailure(TransferFailure.Kind.FAILED, "", 0, false, "", 0, 0, "none");

    private final AtomicInteger open;
    private final AtomicLong moved = new AtomicLong();
    private final AtomicReference<TransferFailure> failure = new AtomicReference<>();
    private final CountDownLatch ended = new CountDownLatch(1);
    private final CompletableFuture<Transfer> future = new CompletableFuture<>();
    private final Runnable onEnd;
    private final long bytes;

    // The submitting call holds one open count of its own, so that the transfer cannot end while slices are added.
    Transfer(final long bytes, final Runnable onEnd) {
        this.bytes = bytes;
        this.onEnd = onEnd;
        this.open = new AtomicInteger(1);
    }

    /**
     * How much was asked for.
     *
     * @return bytes over all requests.
     */
    public long bytes() {
        return bytes;
    }

    /**
     * How much has been moved so far; never falls.
     *
     * @return bytes of the slices that have ended well.
     */
    public long movedBytes() {
        return moved.get();
    }

    /**
     * Whether all slices have ended, well or not.
     *
     * @return true once it has ended.
     */
    public boolean isDone() {
        return ended.getCount() == 0;
    }

    /**
     * Why it did not move all its bytes.
     *
     * @return the first failure; null when there was none so far.
     */
    public TransferFailure failure() {
        final TransferFailure first = failure.get();
        return first == NONE ? null : first;
    }

    /** Asks not to start what has not been started. Running slices still end by themselves; wait for them. */
    public void cancel() {
        failure.compareAndSet(null, new TransferFailure(TransferFailure.Kind.CANCELED, "", 0, false, "", 0, bytes,
            "cancelled by the caller"));
    }

    /**
     * Waits for the end. An interrupt does not end the wait, because the memory is still in use; it is kept for the
     * caller.
     *
     * @throws TransferException when not all bytes were moved.
     */
    public void await() {
        boolean interrupted = false;
        while (true) {
            try {
                ended.await();
                break;
            } catch (final InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        if (failure() != null) {
            throw new TransferException(failure());
        }
    }

    /**
     * Waits for the end for some time.
     *
     * @param timeoutMs milliseconds.
     * @return whether it has ended, well or not. When false, its memory is still in use.
     * @throws InterruptedException when the waiting thread was interrupted; the memory is then still in use.
     */
    public boolean await(final long timeoutMs) throws InterruptedException {
        return ended.await(timeoutMs, TimeUnit.MILLISECONDS);
    }

    /**
     * Completes with this transfer at its end, or exceptionally with a {@link TransferException}. Callbacks run on the
     * thread of a transport: they must be short and must not block.
     *
     * @return the future; cancelling it does not cancel the transfer.
     */
    public CompletableFuture<Transfer> future() {
        return future.copy();
    }

    boolean wanted() {
        return failure.get() == null;
    }

    void sliceAdded() {
        open.incrementAndGet();
    }

    void sliceEnded(final long movedBytes, final TransferFailure problem) {
        if (problem == null) {
            moved.addAndGet(movedBytes);
        } else {
            failure.compareAndSet(null, problem);
        }
        if (open.decrementAndGet() == 0) {
            failure.compareAndSet(null, NONE);
            onEnd.run();
            ended.countDown();
            if (failure() == null) {
                future.complete(this);
            } else {
                future.completeExceptionally(new TransferException(failure()));
            }
        }
    }
}
