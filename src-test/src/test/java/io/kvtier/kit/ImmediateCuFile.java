package io.kvtier.kit;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.kvtier.bindings.cufile.CuFile;
import io.kvtier.bindings.cufile.CuFileStatus;
import io.kvtier.bindings.cufile.gen.CUfileIOEvents;
import io.kvtier.bindings.cufile.gen.CUfileIOParams;
import io.kvtier.bindings.cufile.gen.CuFileTypes;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;

/**
 * A simulation whose entries are complete as soon as they are submitted, and move nothing: what is left on the heap is
 * the transport's own. Batches are told by their handles, of which there may be few.
 */
public final class ImmediateCuFile extends SimulatedCuFile {
    private static final int MOST_BATCHES = 16;
    private static final long ENTRY = CUfileIOParams.layout().byteSize();
    private static final long COOKIE = CUfileIOParams.cookie$offset();
    private static final long SIZE = CUfileIOParams.u$offset() + CUfileIOParams.u.batch$offset()
        + CUfileIOParams.u.batch.size$offset();
    private static final long EVENT = CUfileIOEvents.layout().byteSize();

    private final long[] batches = new long[MOST_BATCHES];
    private final int[] counts = new int[MOST_BATCHES];
    private final long[][] sizes = new long[MOST_BATCHES][256];
    private final long[][] cookies = new long[MOST_BATCHES][256];

    /** The owners over this; any address is memory of the device, since asking would make objects. */
    @Override
    public CuFile cuFile() {
        return CuFile.over(this, (address, byteSize) -> { });
    }

    private int indexOf(final long batch) {
        for (int i = 0; i < MOST_BATCHES; i++) {
            if (batches[i] == batch || batches[i] == 0) {
                batches[i] = batch;
                return i;
            }
        }
        throw new AssertionError("more than " + MOST_BATCHES + " batches: " + Arrays.toString(batches));
    }

    @Override
    public synchronized long batchSubmit(final long batch, final int count, final MemorySegment parameters,
        final int flags) {
        final int index = indexOf(batch);
        for (int i = 0; i < count; i++) {
            sizes[index][i] = parameters.get(JAVA_LONG, i * ENTRY + SIZE);
            cookies[index][i] = parameters.get(JAVA_LONG, i * ENTRY + COOKIE);
        }
        counts[index] = count;
        return CuFileStatus.SUCCESS;
    }

    @Override
    public synchronized long batchStatus(final long batch, final int minimum, final MemorySegment count,
        final MemorySegment events, final MemorySegment timeout) {
        final int index = indexOf(batch);
        for (int i = 0; i < counts[index]; i++) {
            events.set(JAVA_LONG, i * EVENT + CUfileIOEvents.cookie$offset(), cookies[index][i]);
            events.set(JAVA_INT, i * EVENT + CUfileIOEvents.status$offset(), CuFileTypes.CUFILE_COMPLETE());
            events.set(JAVA_LONG, i * EVENT + CUfileIOEvents.ret$offset(), sizes[index][i]);
        }
        count.set(JAVA_INT, 0, counts[index]);
        counts[index] = 0;
        return CuFileStatus.SUCCESS;
    }

    @Override
    public long read(final long handle, final long base, final long size, final long fileOffset,
        final long bufferOffset) {
        return size;
    }

    @Override
    public long write(final long handle, final long base, final long size, final long fileOffset,
        final long bufferOffset) {
        return size;
    }
}
