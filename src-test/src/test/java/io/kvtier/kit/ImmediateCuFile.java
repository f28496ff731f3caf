package io.kvtier.kit;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.kvtier.bindings.cufile.CuFile;
import io.kvtier.bindings.cufile.CuFileApi;
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
public final class ImmediateCuFile implements CuFileApi {
    private static final int MOST_BATCHES = 16;
    private static final long ENTRY = CUfileIOParams.layout().byteSize();
    private static final long COOKIE = CUfileIOParams.cookie$offset();
    private static final long SIZE = CUfileIOParams.u$offset() + CUfileIOParams.u.batch$offset()
        + CUfileIOParams.u.batch.size$offset();
    private static final long EVENT = CUfileIOEvents.layout().byteSize();

    private final SimulatedCuFile real;
    private final long[] batches = new long[MOST_BATCHES];
    private final int[] counts = new int[MOST_BATCHES];
    private final long[][] sizes = new long[MOST_BATCHES][256];
    private final long[][] cookies = new long[MOST_BATCHES][256];

    public ImmediateCuFile(final SimulatedCuFile real) {
        this.real = real;
    }

    /** The owners over this; any address is memory of the device, since asking would make objects. */
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
    public long version(final MemorySegment version) {
        return real.version(version);
    }

    @Override
    public long driverOpen() {
        return real.driverOpen();
    }

    @Override
    public long driverClose() {
        return real.driverClose();
    }

    @Override
    public long useCount() {
        return real.useCount();
    }

    @Override
    public long properties(final MemorySegment properties) {
        return real.properties(properties);
    }

    @Override
    public long handleRegister(final MemorySegment handle, final MemorySegment description) {
        return real.handleRegister(handle, description);
    }

    @Override
    public void handleDeregister(final long handle) {
        real.handleDeregister(handle);
    }

    @Override
    public long bufferRegister(final long base, final long length, final int flags) {
        return real.bufferRegister(base, length, flags);
    }

    @Override
    public long bufferDeregister(final long base) {
        return real.bufferDeregister(base);
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

    @Override
    public int lastErrno() {
        return real.lastErrno();
    }

    @Override
    public long batchSetUp(final MemorySegment batch, final int entries) {
        return real.batchSetUp(batch, entries);
    }

    @Override
    public long batchCancel(final long batch) {
        return real.batchCancel(batch);
    }

    @Override
    public void batchDestroy(final long batch) {
        real.batchDestroy(batch);
    }

    @Override
    public long streamTransfer(final boolean write, final long handle, final long base, final MemorySegment arguments,
        final long stream) {
        return real.streamTransfer(write, handle, base, arguments, stream);
    }

    @Override
    public long streamRegister(final long stream, final int flags) {
        return real.streamRegister(stream, flags);
    }

    @Override
    public long streamDeregister(final long stream) {
        return real.streamDeregister(stream);
    }

    @Override
    public long textParameter(final int parameter, final MemorySegment text, final int length) {
        return real.textParameter(parameter, text, length);
    }

    @Override
    public long setTextParameter(final int parameter, final MemorySegment text) {
        return real.setTextParameter(parameter, text);
    }

    @Override
    public long sizeParameter(final int parameter, final MemorySegment value) {
        return real.sizeParameter(parameter, value);
    }

    @Override
    public long setSizeParameter(final int parameter, final long value) {
        return real.setSizeParameter(parameter, value);
    }

    @Override
    public long flagParameter(final int parameter, final MemorySegment value) {
        return real.flagParameter(parameter, value);
    }

    @Override
    public long setFlagParameter(final int parameter, final boolean value) {
        return real.setFlagParameter(parameter, value);
    }

    @Override
    public long posixPool(final MemorySegment sizesKb, final MemorySegment counts, final int length) {
        return real.posixPool(sizesKb, counts, length);
    }

    @Override
    public long setPosixPool(final MemorySegment sizesKb, final MemorySegment counts, final int length) {
        return real.setPosixPool(sizesKb, counts, length);
    }

    @Override
    public long setStatisticsLevel(final int level) {
        return real.setStatisticsLevel(level);
    }

    @Override
    public long statisticsStart() {
        return real.statisticsStart();
    }

    @Override
    public long statistics(final MemorySegment statistics) {
        return real.statistics(statistics);
    }
}
