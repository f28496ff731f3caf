package io.kvtier.store.client.call;

import io.kvtier.store.BatchResult;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreException;
import io.kvtier.store.protocol.Batch;
import io.kvtier.store.protocol.Command;
import io.kvtier.store.protocol.Master;
import java.util.ArrayList;
import java.util.List;

/** Commands for many keys in as few calls as may be. */
public final class BatchCalls {
    private BatchCalls() {
    }

    /** Applies commands in batches; when a whole batch fails, each of its items has failed. */
    public static <R> List<BatchResult<R>> apply(final Master master, final List<? extends Command<R>> commands) {
        final List<BatchResult<R>> results = new ArrayList<>(commands.size());
        for (int from = 0; from < commands.size(); from += Batch.MAX_ITEMS) {
            final int to = Math.min(commands.size(), from + Batch.MAX_ITEMS);
            try {
                results.addAll(master.apply(new Batch<R>(commands.subList(from, to))));
            } catch (final RuntimeException e) {
                for (int i = from; i < to; i++) {
                    results.add(failed(e));
                }
            }
        }
        return results;
    }

    /** The answers to questions, as many as were asked. */
    public static <T> List<T> each(final List<T> answers, final int asked) {
        if (answers.size() != asked) {
            throw new StoreException(ErrorCode.DESERIALIZE_FAIL, "the master gave " + answers.size() + " answers to "
                + asked + " questions; is it another version?");
        }
        return answers;
    }

    /** An item that came to nothing; what is no failure of the store is an internal error of it. */
    public static <T> BatchResult<T> failed(final Throwable e) {
        return new BatchResult<>(null, e instanceof StoreException known ? known
            : new StoreException(ErrorCode.INTERNAL_ERROR, String.valueOf(e.getMessage()), e));
    }
}
