package io.kvtier.bindings.cufile;

import io.kvtier.bindings.NativeResources;
import io.kvtier.bindings.NativeTag;
import io.kvtier.bindings.RefCount;
import io.kvtier.bindings.cuda.DeviceMemory;
import io.kvtier.bindings.cuda.DevicePointer;
import java.lang.foreign.MemorySegment;
import java.util.Objects;

/**
 * Owner of a registration of memory with cuFile, of a device, which it pins for direct transfers, or of the host.
 * Register whole allocations, once, and address inside them by offset: cuFile finds a registration only by its base.
 *
 * <p><b>Threading:</b> thread-safe; the calling thread must have the memory's CUDA context current. <b>Lifetime:</b>
 * holds the memory, if its owner is known, and a share of the driver; the registration ends when {@link #close()} was
 * called and the last transfer and batch entry that use it have ended. <b>Blocking:</b> registering pins page by page.
 */
public final class CuFileBuffer implements AutoCloseable {
    private final CuFileDriver driver;
    private final long address;
    private final long byteSize;
    /** Whether the memory is held; else somebody else may free it, and every use asks first. */
    private final boolean owned;
    private final RefCount references;

    /** Over memory that is registered; {@code release} lets it go, and is null when nobody holds it. */
    private CuFileBuffer(final CuFileDriver driver, final long address, final long byteSize, final Runnable release) {
        this.driver = driver;
        this.address = address;
        this.byteSize = byteSize;
        this.owned = release != null;
        NativeResources.created(NativeTag.CUFILE_BUFFER, byteSize);
        this.references = new RefCount(() -> {
            NativeResources.released(NativeTag.CUFILE_BUFFER, byteSize);
            final long status = driver.api().bufferDeregister(address);
            // Freeing memory that is still registered can lock up the driver: then it is rather kept for ever.
            CuFile.check("cuFileBufDeregister", status, text(address, byteSize));
            try {
                if (release != null) {
                    release.run();
                }
            } finally {
                driver.giveBack();
            }
        });
    }

    /**
     * Registers an allocation and keeps it from being freed.
     *
     * @param driver an open driver.
     * @param memory the allocation.
     * @return the owner of the registration.
     * @throws CuFileException when it cannot be pinned, or is registered already.
     */
    public static CuFileBuffer register(final CuFileDriver driver, final DeviceMemory memory) {
        memory.retain();
        try {
            return register(driver, memory.pointer().address(), memory.pointer().byteSize(), memory::release);
        } catch (final RuntimeException | Error e) {
            memory.release();
            throw e;
        }
    }

    /**
     * Registers memory of somebody else, who must not free it before this is closed and no transfer uses it.
     *
     * @param driver an open driver.
     * @param range  device memory within one allocation.
     * @return the owner of the registration.
     * @throws IllegalArgumentException when it is no live device memory.
     * @throws CuFileException          when it cannot be pinned, or its base is registered already.
     */
    public static CuFileBuffer register(final CuFileDriver driver, final DevicePointer range) {
        driver.requireMemory(range.address(), range.byteSize());
        return register(driver, range.address(), range.byteSize(), null);
    }

    /**
     * Registers host memory. Nobody is asked about it: an entry of a batch whose address CUDA does not know can end the
     * process, so the caller has pinned it with CUDA, and keeps it so until it is let go.
     *
     * @param driver  an open driver.
     * @param pinned  native memory that CUDA allocated or that was registered with it, all of it.
     * @param release lets the memory go; runs once cuFile no longer knows it, and never when it was not registered.
     * @return the owner of the registration.
     * @throws CuFileException when cuFile does not take it.
     */
    public static CuFileBuffer register(final CuFileDriver driver, final MemorySegment pinned,
        final Runnable release) {
        if (!pinned.isNative()) {
            throw new IllegalArgumentException("only native memory can be registered, not " + pinned);
        }
        return register(driver, pinned.address(), pinned.byteSize(), Objects.requireNonNull(release, "release"));
    }

    private static CuFileBuffer register(final CuFileDriver driver, final long address, final long byteSize,
        final Runnable release) {
        driver.share();
        try {
            CuFile.check("cuFileBufRegister", driver.api().bufferRegister(address, byteSize, 0),
                text(address, byteSize));
            return new CuFileBuffer(driver, address, byteSize, release);
        } catch (final RuntimeException | Error e) {
            driver.giveBack();
            throw e;
        }
    }

    /**
     * Where what is registered begins.
     *
     * @return an address of a device or of the host; they do not overlap.
     */
    public long address() {
        return address;
    }

    /**
     * How much is registered.
     *
     * @return bytes.
     */
    public long byteSize() {
        return byteSize;
    }

    @Override
    public String toString() {
        return text(address, byteSize);
    }

    private static String text(final long address, final long byteSize) {
        return "0x" + Long.toHexString(address) + "+" + byteSize;
    }

    @Override
    public void close() {
        references.close();
    }

    long base() {
        return address;
    }

    /** Refuses a part that reaches outside, and one of memory that its owner has freed meanwhile. */
    void check(final long offset, final long length) {
        Objects.checkFromIndexSize(offset, length, byteSize);
        if (!owned) {
            driver.requireMemory(address + offset, length);
        }
    }

    void retain() {
        if (!references.tryAcquire()) {
            throw new IllegalStateException(this + " is no longer registered with cuFile");
        }
    }

    void release() {
        references.release();
    }
}
