package io.kvtier.bindings.cufile;

import java.lang.foreign.MemorySegment;

/**
 * The C interface of cuFile, one method a function, with arguments and results as C has them. The owners of this
 * package are written against it, so that a simulation can stand in for the library.
 *
 * <p>A {@code CUfileError_t} comes back as one number: the cuFile code in the low half, the CUDA code in the high half,
 * as the struct lies in memory. Handles and device addresses are plain numbers. Segments are native and laid out as in
 * {@code cufile.h}; what an asynchronous call is given must stay until the call has been heard of again.
 *
 * <p><b>Threading:</b> thread-safe, with one thread at a time for each batch. <b>Blocking:</b> every call but the
 * queries may block on the device, and none can be interrupted.
 */
@SuppressWarnings("checkstyle:ParameterNumber") // The functions of the library have that many.
public interface CuFileApi {
    /**
     * {@code cuFileGetVersion}.
     *
     * @param version receives an int.
     * @return the status.
     */
    long version(MemorySegment version);

    /**
     * {@code cuFileDriverOpen}.
     *
     * @return the status.
     */
    long driverOpen();

    /**
     * {@code cuFileDriverClose_v2}, or the plain function where there is no other.
     *
     * @return the status.
     */
    long driverClose();

    /**
     * {@code cuFileUseCount}.
     *
     * @return how often the driver is open in this process.
     */
    long useCount();

    /**
     * {@code cuFileDriverGetProperties}.
     *
     * @param properties receives a CUfileDrvProps_t.
     * @return the status.
     */
    long properties(MemorySegment properties);

    /**
     * {@code cuFileHandleRegister}.
     *
     * @param handle      receives the handle, an address.
     * @param description a CUfileDescr_t.
     * @return the status.
     */
    long handleRegister(MemorySegment handle, MemorySegment description);

    /**
     * {@code cuFileHandleDeregister}.
     *
     * @param handle the handle.
     */
    void handleDeregister(long handle);

    /**
     * {@code cuFileBufRegister}.
     *
     * @param base   where the memory starts.
     * @param length bytes.
     * @param flags  0.
     * @return the status.
     */
    long bufferRegister(long base, long length, int flags);

    /**
     * {@code cuFileBufDeregister}.
     *
     * @param base as registered.
     * @return the status.
     */
    long bufferDeregister(long base);

    /**
     * {@code cuFileRead}.
     *
     * @param handle       the file.
     * @param base         the memory; a registered base, or any address.
     * @param size         bytes.
     * @param fileOffset   where in the file.
     * @param bufferOffset where behind the base.
     * @return bytes; -1 with {@link #lastErrno()}; or a negative cuFile code.
     */
    long read(long handle, long base, long size, long fileOffset, long bufferOffset);

    /**
     * {@code cuFileWrite}.
     *
     * @param handle       the file.
     * @param base         the memory; a registered base, or any address.
     * @param size         bytes.
     * @param fileOffset   where in the file.
     * @param bufferOffset where behind the base.
     * @return as for {@link #read}.
     */
    long write(long handle, long base, long size, long fileOffset, long bufferOffset);

    /**
     * What errno was after the calling thread's last {@link #read} or {@link #write}.
     *
     * @return an error number; some cuFile codes come this way too.
     */
    int lastErrno();

    /**
     * {@code cuFileBatchIOSetUp}.
     *
     * @param batch   receives the handle, an address.
     * @param entries capacity.
     * @return the status.
     */
    long batchSetUp(MemorySegment batch, int entries);

    /**
     * {@code cuFileBatchIOSubmit}.
     *
     * @param batch      the batch.
     * @param count      entries.
     * @param parameters array of CUfileIOParams_t.
     * @param flags      0.
     * @return the status.
     */
    long batchSubmit(long batch, int count, MemorySegment parameters, int flags);

    /**
     * {@code cuFileBatchIOGetStatus}.
     *
     * @param batch   the batch.
     * @param minimum entries to wait for.
     * @param count   an int: room in the events; receives how many were filled.
     * @param events  array of CUfileIOEvents_t.
     * @param timeout a struct timespec.
     * @return the status.
     */
    long batchStatus(long batch, int minimum, MemorySegment count, MemorySegment events, MemorySegment timeout);

    /**
     * {@code cuFileBatchIOCancel}.
     *
     * @param batch the batch.
     * @return the status.
     */
    long batchCancel(long batch);

    /**
     * {@code cuFileBatchIODestroy}.
     *
     * @param batch the batch.
     */
    void batchDestroy(long batch);

    /**
     * {@code cuFileReadAsync} or {@code cuFileWriteAsync}.
     *
     * @param write     which of them.
     * @param handle    the file.
     * @param base      the memory.
     * @param arguments four 64-bit numbers that the stream reads when it comes to the call: size, file offset, buffer
     *                  offset, and room for the result.
     * @param stream    the CUDA stream's handle.
     * @return the status.
     */
    long streamTransfer(boolean write, long handle, long base, MemorySegment arguments, long stream);

    /**
     * {@code cuFileStreamRegister}.
     *
     * @param stream the CUDA stream's handle.
     * @param flags  what is known of the transfers in it.
     * @return the status.
     */
    long streamRegister(long stream, int flags);

    /**
     * {@code cuFileStreamDeregister}.
     *
     * @param stream the CUDA stream's handle.
     * @return the status.
     */
    long streamDeregister(long stream);

    /**
     * {@code cuFileGetParameterString}.
     *
     * @param parameter number of the parameter.
     * @param text      receives characters up to a 0.
     * @param length    room, in bytes.
     * @return the status.
     */
    long textParameter(int parameter, MemorySegment text, int length);

    /**
     * {@code cuFileSetParameterString}; only while the driver is closed.
     *
     * @param parameter number of the parameter.
     * @param text      characters up to a 0.
     * @return the status.
     */
    long setTextParameter(int parameter, MemorySegment text);

    /**
     * {@code cuFileGetParameterSizeT}.
     *
     * @param parameter number of the parameter.
     * @param value     receives a size_t.
     * @return the status.
     */
    long sizeParameter(int parameter, MemorySegment value);

    /**
     * {@code cuFileSetParameterSizeT}; only while the driver is closed.
     *
     * @param parameter number of the parameter.
     * @param value     the value.
     * @return the status.
     */
    long setSizeParameter(int parameter, long value);

    /**
     * {@code cuFileGetParameterBool}.
     *
     * @param parameter number of the parameter.
     * @param value     receives a bool.
     * @return the status.
     */
    long flagParameter(int parameter, MemorySegment value);

    /**
     * {@code cuFileSetParameterBool}; only while the driver is closed.
     *
     * @param parameter number of the parameter.
     * @param value     the value.
     * @return the status.
     */
    long setFlagParameter(int parameter, boolean value);

    /**
     * {@code cuFileGetParameterPosixPoolSlabArray}.
     *
     * @param sizesKb receives size_t values.
     * @param counts  receives size_t values.
     * @param length  of both arrays.
     * @return the status.
     */
    long posixPool(MemorySegment sizesKb, MemorySegment counts, int length);

    /**
     * {@code cuFileSetParameterPosixPoolSlabArray}; only while the driver is closed.
     *
     * @param sizesKb size_t values.
     * @param counts  size_t values.
     * @param length  of both arrays.
     * @return the status.
     */
    long setPosixPool(MemorySegment sizesKb, MemorySegment counts, int length);

    /**
     * {@code cuFileSetStatsLevel}.
     *
     * @param level 0 to 3.
     * @return the status.
     */
    long setStatisticsLevel(int level);

    /**
     * {@code cuFileStatsStart}.
     *
     * @return the status.
     */
    long statisticsStart();

    /**
     * {@code cuFileGetStatsL3}.
     *
     * @param statistics receives a CUfileStatsLevel3_t.
     * @return the status.
     */
    long statistics(MemorySegment statistics);
}
