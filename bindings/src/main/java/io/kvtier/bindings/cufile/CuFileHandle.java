package io.kvtier.bindings.cufile;

import io.kvtier.bindings.NativeResources;
import io.kvtier.bindings.NativeTag;
import io.kvtier.bindings.RefCount;
import io.kvtier.bindings.cuda.DeviceMemory;
import io.kvtier.bindings.cuda.DevicePointer;
import io.kvtier.bindings.cufile.gen.CUfileDescr_t;
import io.kvtier.bindings.cufile.gen.CuFileTypes;
import io.kvtier.bindings.posix.PosixFile;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * Owner of a file's registration with cuFile.
 *
 * <p><b>Threading:</b> thread-safe; the calling thread must have a CUDA context current. <b>Lifetime:</b> holds the
 * file's descriptor open and a share of the driver; {@link #close()} returns at once, and the registration ends when
 * the last transfer and the last batch entry that use it have ended. <b>Blocking:</b> on the disk and the device.
 */
public final class CuFileHandle implements AutoCloseable {
    private final CuFileDriver driver;
    private final CuFileApi api;
    private final String path;
    private final long handle;
    private final RefCount references;

    private CuFileHandle(final CuFileDriver driver, final PosixFile file, final long handle) {
        this.driver = driver;
        this.api = driver.api();
        this.path = file.path();
        this.handle = handle;
        NativeResources.created(NativeTag.CUFILE_HANDLE, 0);
        this.references = new RefCount(() -> {
            NativeResources.released(NativeTag.CUFILE_HANDLE, 0);
            api.handleDeregister(handle);
            try {
                file.releaseDescriptor();
            } finally {
                driver.giveBack();
            }
        });
    }

    /**
     * Registers an open file. Direct transfers want it opened in a direct mode; in compatibility mode a buffered file
     * is taken too, and cached.
     *
     * @param driver an open driver.
     * @param file   an open file, registered once at a time.
     * @return the owner of the registration.
     * @throws CuFileException with code 5027 where cuFile cannot find out what file system it is on.
     */
    public static CuFileHandle register(final CuFileDriver driver, final PosixFile file) {
        driver.share();
        try {
            final int descriptor = file.acquireDescriptor();
            try (Arena arena = Arena.ofConfined()) {
                final MemorySegment description = arena.allocate(CUfileDescr_t.layout());
                CUfileDescr_t.type(description, CuFileTypes.CU_FILE_HANDLE_TYPE_OPAQUE_FD());
                CUfileDescr_t.handle.fd(CUfileDescr_t.handle(description), descriptor);
                final MemorySegment out = arena.allocate(ValueLayout.JAVA_LONG);
                CuFile.check("cuFileHandleRegister", driver.api().handleRegister(out, description), file.path());
                return new CuFileHandle(driver, file, out.get(ValueLayout.JAVA_LONG, 0));
            } catch (final RuntimeException | Error e) {
                file.releaseDescriptor();
                throw e;
            }
        } catch (final RuntimeException | Error e) {
            driver.giveBack();
            throw e;
        }
    }

    /**
     * Reads into registered memory and waits.
     *
     * @param buffer       the memory.
     * @param bufferOffset where in it, in bytes.
     * @param length       bytes.
     * @param fileOffset   where in the file, in bytes.
     * @return bytes read; fewer than asked only at the end of the file.
     * @throws CuFileException when the transfer failed.
     */
    public long read(final CuFileBuffer buffer, final long bufferOffset, final long length, final long fileOffset) {
        buffer.check(bufferOffset, length);
        buffer.retain();
        try {
            return transfer(false, buffer.base(), bufferOffset, length, fileOffset);
        } finally {
            buffer.release();
        }
    }

    /**
     * Writes from registered memory and waits.
     *
     * @param buffer       the memory.
     * @param bufferOffset where in it, in bytes.
     * @param length       bytes.
     * @param fileOffset   where in the file, in bytes.
     * @return bytes written.
     * @throws CuFileException when the transfer failed.
     */
    public long write(final CuFileBuffer buffer, final long bufferOffset, final long length, final long fileOffset) {
        buffer.check(bufferOffset, length);
        buffer.retain();
        try {
            return transfer(true, buffer.base(), bufferOffset, length, fileOffset);
        } finally {
            buffer.release();
        }
    }

    /**
     * Reads into device memory that is not registered, through buffers of the library, and waits.
     *
     * @param memory       the memory; held until the transfer has ended.
     * @param memoryOffset where in it, in bytes.
     * @param length       bytes.
     * @param fileOffset   where in the file, in bytes.
     * @return bytes read; fewer only at the end of the file.
     * @throws CuFileException when the transfer failed.
     */
    public long read(final DeviceMemory memory, final long memoryOffset, final long length, final long fileOffset) {
        return transfer(false, memory, memoryOffset, length, fileOffset);
    }

    /**
     * Writes from device memory that is not registered, through buffers of the library, and waits.
     *
     * @param memory       the memory; held until the transfer has ended.
     * @param memoryOffset where in it, in bytes.
     * @param length       bytes.
     * @param fileOffset   where in the file, in bytes.
     * @return bytes written.
     * @throws CuFileException when the transfer failed.
     */
    public long write(final DeviceMemory memory, final long memoryOffset, final long length, final long fileOffset) {
        return transfer(true, memory, memoryOffset, length, fileOffset);
    }

    /**
     * Reads into device memory of somebody else, through buffers of the library, and waits.
     *
     * @param target     all of it is filled; its owner keeps it until the transfer has ended.
     * @param fileOffset where in the file, in bytes.
     * @return bytes read; fewer only at the end of the file.
     * @throws IllegalArgumentException when it is no live device memory.
     * @throws CuFileException          when the transfer failed.
     */
    public long read(final DevicePointer target, final long fileOffset) {
        driver.requireMemory(target.address(), target.byteSize());
        return transfer(false, target.address(), 0, target.byteSize(), fileOffset);
    }

    /**
     * Writes from device memory of somebody else, through buffers of the library, and waits.
     *
     * @param source     all of it is written; its owner keeps it until the transfer has ended.
     * @param fileOffset where in the file, in bytes.
     * @return bytes written.
     * @throws IllegalArgumentException when it is no live device memory.
     * @throws CuFileException          when the transfer failed.
     */
    public long write(final DevicePointer source, final long fileOffset) {
        driver.requireMemory(source.address(), source.byteSize());
        return transfer(true, source.address(), 0, source.byteSize(), fileOffset);
    }

    /**
     * The file.
     *
     * @return the path it was opened with.
     */
    public String path() {
        return path;
    }

    @Override
    public void close() {
        references.close();
    }

    CuFileDriver driver() {
        return driver;
    }

    long handle() {
        return handle;
    }

    void retain() {
        if (!references.tryAcquire()) {
            throw new IllegalStateException(path + " is no longer registered with cuFile");
        }
    }

    void release() {
        references.release();
    }

    private long transfer(final boolean write, final DeviceMemory memory, final long memoryOffset, final long length,
        final long fileOffset) {
        memory.retain();
        try {
            return transfer(write, memory.pointer().slice(memoryOffset, length).address(), 0, length, fileOffset);
        } finally {
            memory.release();
        }
    }

    private long transfer(final boolean write, final long base, final long bufferOffset, final long length,
        final long fileOffset) {
        if (fileOffset < 0) {
            throw new IllegalArgumentException("file offset " + fileOffset + " of " + path);
        }
        retain();
        try {
            final long count = write ? api.write(handle, base, length, fileOffset, bufferOffset)
                : api.read(handle, base, length, fileOffset, bufferOffset);
            // One refusal was seen to come back as the positive code: more bytes than were asked for are none.
            if (count < 0 || count > length) {
                throw CuFileException.ofResult(write ? "cuFileWrite" : "cuFileRead", count,
                    count == -1 ? api.lastErrno() : 0, path + ", offset " + fileOffset + ", length " + length);
            }
            return count;
        } finally {
            references.release();
        }
    }
}
