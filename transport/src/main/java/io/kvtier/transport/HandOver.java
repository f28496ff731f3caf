package io.kvtier.transport;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Executor;
import java.util.function.Supplier;

/**
 * A call that another thread makes in place of the caller, who waits for its end and is told as if it had made it.
 *
 * <p><b>Threading:</b> stateless. <b>Blocking:</b> as the call; an interrupt does not end the wait and is kept.
 */
public final class HandOver {
    private HandOver() {
    }

    /**
     * Has a call made and waits for it.
     *
     * @param <T>   the result's type.
     * @param other has another thread make it.
     * @param call  what to do.
     * @return its result; its exception or error is the caller's.
     */
    public static <T> T call(final Executor other, final Supplier<T> call) {
        final CompletableFuture<T> result = new CompletableFuture<>();
        other.execute(() -> {
            try {
                result.complete(call.get());
            } catch (final RuntimeException | Error e) {
                result.completeExceptionally(e);
            }
        });
        return join(result);
    }

    /**
     * Waits for what another thread does.
     *
     * @param <T>    the result's type.
     * @param result how it will end.
     * @return the result; the exception or error it ended with is thrown as what it is.
     */
    public static <T> T join(final CompletableFuture<T> result) {
        try {
            return result.join();
        } catch (final CompletionException e) {
            if (e.getCause() instanceof RuntimeException cause) {
                throw cause;
            }
            if (e.getCause() instanceof Error cause) {
                throw cause;
            }
            throw e;
        }
    }
}
