package io.kvtier.store.cli.bench;

import io.kvtier.store.BatchResult;
import io.kvtier.store.GetOutcome;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.PutOutcome;
import java.io.IOException;
import java.util.List;

/**
 * Memory for a batch of values of one size, one behind the other, and a spare place, and who keeps the values. From
 * place {@code i} only values are put whose number divided by the size of a batch leaves {@code i}, so that memory that
 * is slow to change need not be changed for each.
 *
 * <p>What is done for each value is measured with it; the rest is done between measurements.
 *
 * <p><b>Threading:</b> one thread at a time.
 */
interface BatchBuffers {
    /** Makes a place hold a value, before it is put. */
    void write(int place, long number);

    /** Makes a place hold no value, before one is fetched into it. */
    void spoil(int place);

    /** Looks at what was fetched, as far as that costs little. */
    void check(int place, long number) throws IOException;

    /** Makes a place hold no value, whatever it costs. */
    void clear(int place);

    /** Looks at what was fetched, whatever it costs. */
    void verify(int place, long number) throws IOException;

    /** Puts a batch from the first places. */
    List<BatchResult<PutOutcome>> put(List<ObjectKey> keys) throws IOException;

    /** Fetches a batch into places from a first one on. */
    List<BatchResult<GetOutcome>> get(List<ObjectKey> keys, int first) throws IOException;
}
