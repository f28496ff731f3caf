package io.kvtier.bindings.cufile;

import io.kvtier.bindings.NativeResources;
import io.kvtier.bindings.NativeTag;
import io.kvtier.bindings.RefCount;
import io.kvtier.bindings.cuda.DeviceMemory;
import io.kvtier.bindings.cuda.DevicePointer;
import java.util.Objects;

/**
 * Owner of a registration of device memory with cuFile, which pins it for direct transfers. Register whole allocations,
 * once, and address inside them by offset: cuFile finds a registration only by its base.
 *
 * <p><b>Threading:</b> thread-safe; the calling thread must have the memory's CUDA context current. <b>Lifetime:</b>
 * holds the memory, if its owner is known, and a share of the driver; the registration ends when {@link #close()} was
 * called and the last transfer and batch entry that use it have ended. <b>Blocking:</b> registering pins page by page.
 */
public final class CuFileBuffer implements AutoCloseable {
    private final CuFileDriver driver;
    private final DevicePointer range;
    /** Whether the memory is held; else somebody else may free it, and every use asks first. */
    private final boolean owned;
    private final RefCount references;

    private CuFileBuffer(final CuFileDriver driver, final DevicePointer range, final DeviceMemory memory) {
        this.driver = driver;
        this.range = range;
        this.owned = memory != null;
        NativeResources.created(NativeTag.CUFILE_BUFFER, range.byteSize());
        this.references = new RefCount(() -> {
            NativeResources.released(NativeTag.CUFILE_BUFFER, range.byteSize());
            final long status = driver.api().bufferDeregister(range.address());
            // Freeing memory that is still registered can lock up the driver: then it is rather kept for ever.
            CuFile.check("cuFileBufDeregister", status, range.toString());
            if (memory != null) {
                memory.release();
            }
            driver.giveBack();
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
            return register(driver, memory.pointer(), memory);
        } catch (final RuntimeException e) {
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
        return register(driver, range, null);
    }

    private static CuFileBuffer register(final CuFileDriver driver, final DevicePointer range,
        final DeviceMemory memory) {
        driver.share();
        try {
            CuFile.check("cuFileBufRegister", driver.api().bufferRegister(range.address(), range.byteSize(), 0),
                range.toString());
            return new CuFileBuffer(driver, range, memory);
        } catch (final RuntimeException e) {
            driver.giveBack();
            throw e;
        }
    }

    /**
     * What is registered.
     *
     * @return the range.
     */
    public DevicePointer range() {
        return range;
    }

    @Override
    public void close() {
        references.close();
    }

    long base() {
        return range.address();
    }

    /** Refuses a part that reaches outside, and one of memory that its owner has freed meanwhile. */
    void check(final long offset, final long length) {
        Objects.checkFromIndexSize(offset, length, range.byteSize());
        if (!owned) {
            driver.requireMemory(range.address() + offset, length);
        }
    }

    void retain() {
        if (!references.tryAcquire()) {
            throw new IllegalStateException(range + " is no longer registered with cuFile");
        }
    }

    void release() {
        references.release();
    }
}
