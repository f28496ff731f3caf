package io.kvtier.bindings.cufile;

import io.kvtier.bindings.NativeResources;
import io.kvtier.bindings.NativeTag;
import io.kvtier.bindings.RefCount;
import io.kvtier.bindings.cuda.CudaStream;
import io.kvtier.bindings.cufile.gen.CuFileTypes;

/**
 * Owner of a CUDA stream's registration with cuFile, which sets up once what every transfer in the stream would set up
 * for itself. Transfers work without it.
 *
 * <p>cuFile is told that sizes and offsets are known when a transfer is given to the stream, as they are with
 * {@link CuFileStreamTransfer}, and, if the caller wants it so, that all of them are multiples of 4 KiB.
 *
 * <p><b>Threading:</b> thread-safe; the calling thread must have the stream's CUDA context current. <b>Lifetime:</b>
 * holds the stream and a share of the driver; the registration ends when {@link #close()} was called and the last
 * transfer in it has been closed, and so always before the stream is destroyed. <b>Blocking:</b> on the library.
 */
public final class CuFileStream implements AutoCloseable {
    private static final int FIXED = CuFileTypes.CU_FILE_STREAM_FIXED_BUF_OFFSET()
        | CuFileTypes.CU_FILE_STREAM_FIXED_FILE_OFFSET() | CuFileTypes.CU_FILE_STREAM_FIXED_FILE_SIZE();
    private static final long PAGE_BYTES = 4096;

    private final CuFileDriver driver;
    private final HeldStream stream;
    private final boolean aligned;
    private final RefCount references;

    private CuFileStream(final CuFileDriver driver, final HeldStream stream, final boolean aligned) {
        this.driver = driver;
        this.stream = stream;
        this.aligned = aligned;
        NativeResources.created(NativeTag.CUFILE_HANDLE, 0);
        this.references = new RefCount(() -> {
            NativeResources.released(NativeTag.CUFILE_HANDLE, 0);
            try {
                CuFile.check("cuFileStreamDeregister", driver.api().streamDeregister(stream.handle()), "");
            } finally {
                stream.release();
                driver.giveBack();
            }
        });
    }

    /**
     * Registers a stream.
     *
     * @param driver  an open driver.
     * @param stream  the stream.
     * @param aligned whether all sizes and offsets in it will be multiples of 4 KiB; others are then refused.
     * @return the owner of the registration.
     * @throws CuFileException when it is refused.
     */
    public static CuFileStream register(final CuFileDriver driver, final CudaStream stream, final boolean aligned) {
        return register(driver, HeldStream.of(stream), aligned);
    }

    /** Takes the held stream over, also when this fails. */
    static CuFileStream register(final CuFileDriver driver, final HeldStream stream, final boolean aligned) {
        try {
            driver.share();
            try {
                CuFile.check("cuFileStreamRegister", driver.api().streamRegister(stream.handle(), aligned
                    ? FIXED | CuFileTypes.CU_FILE_STREAM_PAGE_ALIGNED_INPUTS() : FIXED), "aligned: " + aligned);
                return new CuFileStream(driver, stream, aligned);
            } catch (final RuntimeException | Error e) {
                driver.giveBack();
                throw e;
            }
        } catch (final RuntimeException | Error e) {
            stream.release();
            throw e;
        }
    }

    /**
     * Gives the stream a transfer.
     *
     * @param write        false to read from the file.
     * @param file         the file, of the same driver.
     * @param fileOffset   where in it, in bytes.
     * @param buffer       registered memory.
     * @param bufferOffset where in it, in bytes.
     * @param length       bytes.
     * @return the owner of the transfer.
     * @throws IllegalArgumentException when the stream was registered for aligned transfers and this one is not.
     * @throws IllegalStateException    when closed.
     * @throws CuFileException          when cuFile refused it.
     */
    public CuFileStreamTransfer submit(final boolean write, final CuFileHandle file, final long fileOffset,
        final CuFileBuffer buffer, final long bufferOffset, final long length) {
        if (aligned && ((fileOffset | bufferOffset | length) & PAGE_BYTES - 1) != 0) {
            throw new IllegalArgumentException("file offset " + fileOffset + ", buffer offset " + bufferOffset
                + ", length " + length + ": the stream was registered for multiples of " + PAGE_BYTES
                + " bytes; register it without, or align the transfer");
        }
        if (!references.tryAcquire()) {
            throw new IllegalStateException("the stream is no longer registered with cuFile");
        }
        return CuFileStreamTransfer.submit(write, file, fileOffset, buffer, bufferOffset, length, new HeldStream() {
            @Override
            public long handle() {
                return stream.handle();
            }

            @Override
            public void await() {
                stream.await();
            }

            @Override
            public void release() {
                references.release();
            }
        });
    }

    @Override
    public void close() {
        references.close();
    }
}
