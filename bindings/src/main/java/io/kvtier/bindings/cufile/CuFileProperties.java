package io.kvtier.bindings.cufile;

import io.kvtier.bindings.cufile.gen.CUfileDrvProps;
import io.kvtier.bindings.cufile.gen.CuFileTypes;
import java.lang.foreign.MemorySegment;

/**
 * What the opened driver says of itself. Values out of range that were set before are replaced by it silently; this is
 * what holds.
 *
 * <p><b>Threading:</b> immutable.
 *
 * @param nvidiaFsMajor     major version of nvidia-fs; 0 when that module is not loaded.
 * @param nvidiaFsMinor     its minor version.
 * @param maxDirectIoKb     KiB that one request moves at most before it is split.
 * @param deviceStatusFlags which file systems and transports can be used directly, by bit.
 * @param controlFlags      poll mode and whether compatibility mode is allowed, by bit.
 * @param maxDeviceCacheKb  KiB of GPU memory for bounce buffers.
 * @param maxPinnedKb       KiB of GPU memory that may be registered.
 * @param maxBatchEntries   entries of one batch.
 * @param batchTimeoutMs    time limit of a batch in milliseconds.
 */
public record CuFileProperties(int nvidiaFsMajor, int nvidiaFsMinor, long maxDirectIoKb, int deviceStatusFlags,
                               int controlFlags, long maxDeviceCacheKb, long maxPinnedKb, int maxBatchEntries,
                               int batchTimeoutMs) {
    static CuFileProperties of(final MemorySegment properties) {
        final MemorySegment nvfs = CUfileDrvProps.nvfs(properties);
        return new CuFileProperties(CUfileDrvProps.nvfs.major_version(nvfs), CUfileDrvProps.nvfs.minor_version(nvfs),
            CUfileDrvProps.nvfs.max_direct_io_size(nvfs), CUfileDrvProps.nvfs.dstatusflags(nvfs),
            CUfileDrvProps.nvfs.dcontrolflags(nvfs),
            Integer.toUnsignedLong(CUfileDrvProps.max_device_cache_size(properties)),
            Integer.toUnsignedLong(CUfileDrvProps.max_device_pinned_mem_size(properties)),
            CUfileDrvProps.max_batch_io_size(properties), CUfileDrvProps.max_batch_io_timeout_msecs(properties));
    }

    /**
     * Whether transfers may go through host memory.
     *
     * @return the driver's word.
     */
    public boolean compatibilityAllowed() {
        return (controlFlags & 1 << CuFileTypes.CU_FILE_ALLOW_COMPAT_MODE()) != 0;
    }

    /**
     * Whether there is anything a direct transfer could go through.
     *
     * @return false when neither nvidia-fs nor PCI P2PDMA is there: everything then runs in compatibility mode.
     */
    public boolean directPossible() {
        return nvidiaFsMajor != 0 || (deviceStatusFlags & 1 << CuFileTypes.CU_FILE_NVME_P2P_SUPPORTED()) != 0;
    }
}
