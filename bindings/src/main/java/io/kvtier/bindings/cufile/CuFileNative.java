package io.kvtier.bindings.cufile;

import io.kvtier.bindings.cufile.gen.CUfileError;
import io.kvtier.bindings.cufile.gen.CuFileFunctions;
import java.lang.foreign.AddressLayout;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SegmentAllocator;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.VarHandle;

/**
 * The library itself. Made only after {@link CuFile#availability()} has said that it is there: the generated class does
 * not load otherwise.
 *
 * <p>{@code CUfileError_t} is returned by value. It is received as the struct it is, in memory that belongs to the
 * calling thread and is read before the thread's next call, so that no call allocates and no assumption about
 * registers is made.
 */
@SuppressWarnings("restricted")
final class CuFileNative implements CuFileApi {
    private static final ThreadLocal<SegmentAllocator> RESULT = ThreadLocal.withInitial(
        () -> SegmentAllocator.prefixAllocator(Arena.ofAuto().allocate(CUfileError.layout())));
    private static final StructLayout STATE = Linker.Option.captureStateLayout();
    private static final VarHandle STATE_ERRNO = STATE.varHandle(MemoryLayout.PathElement.groupElement("errno"));
    private static final ThreadLocal<MemorySegment> CAPTURE =
        ThreadLocal.withInitial(() -> Arena.ofAuto().allocate(STATE));

    // Generated calls never capture errno, and these two report by it. Addresses are passed as numbers, which C takes
    // alike: made segments first, they left 120 bytes on the heap a call.
    private static final MethodHandle READ =
        withErrno(CuFileFunctions.cuFileRead$address(), CuFileFunctions.cuFileRead$descriptor());
    private static final MethodHandle WRITE =
        withErrno(CuFileFunctions.cuFileWrite$address(), CuFileFunctions.cuFileWrite$descriptor());

    private final boolean closeHasVersion2;

    CuFileNative(final boolean closeHasVersion2) {
        this.closeHasVersion2 = closeHasVersion2;
    }

    @Override
    public long version(final MemorySegment version) {
        return status(CuFileFunctions.cuFileGetVersion(RESULT.get(), version));
    }

    @Override
    public long driverOpen() {
        return status(CuFileFunctions.cuFileDriverOpen(RESULT.get()));
    }

    @Override
    public long driverClose() {
        return status(closeHasVersion2 ? CuFileFunctions.cuFileDriverClose_v2(RESULT.get())
            : CuFileFunctions.cuFileDriverClose(RESULT.get()));
    }

    @Override
    public long useCount() {
        return CuFileFunctions.cuFileUseCount();
    }

    @Override
    public long properties(final MemorySegment properties) {
        return status(CuFileFunctions.cuFileDriverGetProperties(RESULT.get(), properties));
    }

    @Override
    public long handleRegister(final MemorySegment handle, final MemorySegment description) {
        return status(CuFileFunctions.cuFileHandleRegister(RESULT.get(), handle, description));
    }

    @Override
    public void handleDeregister(final long handle) {
        CuFileFunctions.cuFileHandleDeregister(pointer(handle));
    }

    @Override
    public long bufferRegister(final long base, final long length, final int flags) {
        return status(CuFileFunctions.cuFileBufRegister(RESULT.get(), pointer(base), length, flags));
    }

    @Override
    public long bufferDeregister(final long base) {
        return status(CuFileFunctions.cuFileBufDeregister(RESULT.get(), pointer(base)));
    }

    @Override
    public long read(final long handle, final long base, final long size, final long fileOffset,
        final long bufferOffset) {
        try {
            return (long) READ.invokeExact(CAPTURE.get(), handle, base, size, fileOffset, bufferOffset);
        } catch (final Throwable e) {
            throw new AssertionError("a downcall with numbers only threw", e);
        }
    }

    @Override
    public long write(final long handle, final long base, final long size, final long fileOffset,
        final long bufferOffset) {
        try {
            return (long) WRITE.invokeExact(CAPTURE.get(), handle, base, size, fileOffset, bufferOffset);
        } catch (final Throwable e) {
            throw new AssertionError("a downcall with numbers only threw", e);
        }
    }

    @Override
    public int lastErrno() {
        return (int) STATE_ERRNO.get(CAPTURE.get(), 0L);
    }

    @Override
    public long batchSetUp(final MemorySegment batch, final int entries) {
        return status(CuFileFunctions.cuFileBatchIOSetUp(RESULT.get(), batch, entries));
    }

    @Override
    public long batchSubmit(final long batch, final int count, final MemorySegment parameters, final int flags) {
        return status(CuFileFunctions.cuFileBatchIOSubmit(RESULT.get(), pointer(batch), count, parameters, flags));
    }

    @Override
    public long batchStatus(final long batch, final int minimum, final MemorySegment count,
        final MemorySegment events, final MemorySegment timeout) {
        return status(CuFileFunctions.cuFileBatchIOGetStatus(RESULT.get(), pointer(batch), minimum, count, events,
            timeout));
    }

    @Override
    public long batchCancel(final long batch) {
        return status(CuFileFunctions.cuFileBatchIOCancel(RESULT.get(), pointer(batch)));
    }

    @Override
    public void batchDestroy(final long batch) {
        CuFileFunctions.cuFileBatchIODestroy(pointer(batch));
    }

    @Override
    public long streamTransfer(final boolean write, final long handle, final long base, final MemorySegment arguments,
        final long stream) {
        final MemorySegment size = arguments.asSlice(0, Long.BYTES);
        final MemorySegment fileOffset = arguments.asSlice(Long.BYTES, Long.BYTES);
        final MemorySegment bufferOffset = arguments.asSlice(2 * Long.BYTES, Long.BYTES);
        final MemorySegment result = arguments.asSlice(3 * Long.BYTES, Long.BYTES);
        return status(write
            ? CuFileFunctions.cuFileWriteAsync(RESULT.get(), pointer(handle), pointer(base), size, fileOffset,
                bufferOffset, result, pointer(stream))
            : CuFileFunctions.cuFileReadAsync(RESULT.get(), pointer(handle), pointer(base), size, fileOffset,
                bufferOffset, result, pointer(stream)));
    }

    @Override
    public long streamRegister(final long stream, final int flags) {
        return status(CuFileFunctions.cuFileStreamRegister(RESULT.get(), pointer(stream), flags));
    }

    @Override
    public long streamDeregister(final long stream) {
        return status(CuFileFunctions.cuFileStreamDeregister(RESULT.get(), pointer(stream)));
    }

    @Override
    public long textParameter(final int parameter, final MemorySegment text, final int length) {
        return status(CuFileFunctions.cuFileGetParameterString(RESULT.get(), parameter, text, length));
    }

    @Override
    public long setTextParameter(final int parameter, final MemorySegment text) {
        return status(CuFileFunctions.cuFileSetParameterString(RESULT.get(), parameter, text));
    }

    @Override
    public long sizeParameter(final int parameter, final MemorySegment value) {
        return status(CuFileFunctions.cuFileGetParameterSizeT(RESULT.get(), parameter, value));
    }

    @Override
    public long setSizeParameter(final int parameter, final long value) {
        return status(CuFileFunctions.cuFileSetParameterSizeT(RESULT.get(), parameter, value));
    }

    @Override
    public long flagParameter(final int parameter, final MemorySegment value) {
        return status(CuFileFunctions.cuFileGetParameterBool(RESULT.get(), parameter, value));
    }

    @Override
    public long setFlagParameter(final int parameter, final boolean value) {
        return status(CuFileFunctions.cuFileSetParameterBool(RESULT.get(), parameter, value));
    }

    @Override
    public long posixPool(final MemorySegment sizesKb, final MemorySegment counts, final int length) {
        return status(CuFileFunctions.cuFileGetParameterPosixPoolSlabArray(RESULT.get(), sizesKb, counts, length));
    }

    @Override
    public long setPosixPool(final MemorySegment sizesKb, final MemorySegment counts, final int length) {
        return status(CuFileFunctions.cuFileSetParameterPosixPoolSlabArray(RESULT.get(), sizesKb, counts, length));
    }

    @Override
    public long setStatisticsLevel(final int level) {
        return status(CuFileFunctions.cuFileSetStatsLevel(RESULT.get(), level));
    }

    @Override
    public long statisticsStart() {
        return status(CuFileFunctions.cuFileStatsStart(RESULT.get()));
    }

    @Override
    public long statistics(final MemorySegment statistics) {
        return status(CuFileFunctions.cuFileGetStatsL3(RESULT.get(), statistics));
    }

    private static long status(final MemorySegment error) {
        return CuFileStatus.pack(CUfileError.err(error), CUfileError.cu_err(error));
    }

    private static MemorySegment pointer(final long address) {
        return MemorySegment.ofAddress(address);
    }

    private static MethodHandle withErrno(final MemorySegment address, final FunctionDescriptor type) {
        final MemoryLayout[] numbers = type.argumentLayouts().stream()
            .map(one -> one instanceof AddressLayout ? ValueLayout.JAVA_LONG : one).toArray(MemoryLayout[]::new);
        return Linker.nativeLinker().downcallHandle(address,
            FunctionDescriptor.of(type.returnLayout().orElseThrow(), numbers),
            Linker.Option.captureCallState("errno"));
    }
}
