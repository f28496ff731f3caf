package io.kvtier.bindings.cufile;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.kvtier.bindings.NativeResources;
import io.kvtier.bindings.NativeTag;
import io.kvtier.bindings.cuda.CudaStream;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * Owner of one transfer that takes its place in a CUDA stream. The stream reads the arguments and writes the result
 * when it comes to the transfer, so both lie in memory of this owner until it is closed.
 *
 * <p><b>Threading:</b> one thread at a time. <b>Lifetime:</b> holds the file, the memory and the stream, which may be
 * closed meanwhile; {@link #close()} waits for the stream, then lets them and the arguments go. <b>Blocking:</b>
 * {@link #result()} and {@link #close()} wait for the stream.
 */
public final class CuFileStreamTransfer implements AutoCloseable {
    private static final int ARGUMENTS = 4;
    private static final int RESULT = 3;
    /** No transfer gives this: what the result holds until the stream has passed. */
    private static final long UNSET = Long.MIN_VALUE;

    private final CuFileHandle file;
    private final CuFileBuffer buffer;
    private final HeldStream stream;
    private final Arena arena = Arena.ofShared();
    private final MemorySegment arguments = arena.allocate(JAVA_LONG, ARGUMENTS);
    private final String detail;
    private boolean open;

    private CuFileStreamTransfer(final CuFileHandle file, final CuFileBuffer buffer, final HeldStream stream,
        final String detail) {
        this.file = file;
        this.buffer = buffer;
        this.stream = stream;
        this.detail = detail;
    }

    /**
     * Gives a stream a transfer.
     *
     * @param write        false to read from the file.
     * @param file         the file.
     * @param fileOffset   where in it, in bytes.
     * @param buffer       registered memory.
     * @param bufferOffset where in it, in bytes.
     * @param length       bytes.
     * @param stream       the order it takes its place in.
     * @return the owner.
     * @throws CuFileException when cuFile refused it, for example because stream transfers are not supported (5038).
     */
    public static CuFileStreamTransfer submit(final boolean write, final CuFileHandle file, final long fileOffset,
        final CuFileBuffer buffer, final long bufferOffset, final long length, final CudaStream stream) {
        return submit(write, file, fileOffset, buffer, bufferOffset, length, HeldStream.of(stream));
    }

    /** Takes the held stream over, also when this fails. */
    static CuFileStreamTransfer submit(final boolean write, final CuFileHandle file, final long fileOffset,
        final CuFileBuffer buffer, final long bufferOffset, final long length, final HeldStream stream) {
        final CuFileStreamTransfer transfer = new CuFileStreamTransfer(file, buffer, stream, file.path()
            + ", offset " + fileOffset + ", length " + length);
        transfer.arguments.setAtIndex(JAVA_LONG, 0, length);
        transfer.arguments.setAtIndex(JAVA_LONG, 1, fileOffset);
        transfer.arguments.setAtIndex(JAVA_LONG, 2, bufferOffset);
        transfer.arguments.setAtIndex(JAVA_LONG, RESULT, UNSET);
        try {
            buffer.check(bufferOffset, length);
            transfer.start(write);
        } catch (final RuntimeException | LinkageError e) {
            transfer.arena.close();
            stream.release();
            throw e;
        }
        return transfer;
    }

    /**
     * Waits for the stream and gives what the transfer moved.
     *
     * @return bytes.
     * @throws CuFileException when it failed.
     */
    public long result() {
        if (!open) {
            throw new IllegalStateException("the transfer is closed");
        }
        stream.await();
        final long result = arguments.getAtIndex(JAVA_LONG, RESULT);
        if (result < 0) {
            throw CuFileException.ofResult("cuFileReadAsync/WriteAsync", result == UNSET ? -1 : result, 0, detail);
        }
        return result;
    }

    @Override
    public void close() {
        if (!open) {
            return;
        }
        open = false;
        try {
            // Fails when the stream has; then nothing in it runs any more either.
            stream.await();
        } finally {
            NativeResources.released(NativeTag.CUFILE_HANDLE, 0);
            arena.close();
            release();
        }
    }

    private void release() {
        try {
            buffer.release();
        } finally {
            releaseFileAndStream();
        }
    }

    private void releaseFileAndStream() {
        try {
            file.release();
        } finally {
            stream.release();
        }
    }

    private void start(final boolean write) {
        file.retain();
        try {
            buffer.retain();
            try {
                CuFile.check(write ? "cuFileWriteAsync" : "cuFileReadAsync", file.driver().api().streamTransfer(
                    write, file.handle(), buffer.base(), arguments, stream.handle()), detail);
            } catch (final RuntimeException | LinkageError e) {
                buffer.release();
                throw e;
            }
        } catch (final RuntimeException | LinkageError e) {
            file.release();
            throw e;
        }
        open = true;
        NativeResources.created(NativeTag.CUFILE_HANDLE, 0);
    }
}
