package io.kvtier.bindings.cufile;

import io.kvtier.bindings.cufile.gen.CuFileTypes;

/** Numeric parameters of the driver that can be asked for. */
public enum CuFileSize {
    /** How much is counted, 0 to 3. */
    STATISTICS_LEVEL(CuFileTypes.CUFILE_PARAM_PROFILE_STATS()),
    /** Threads that the library starts for each GPU. */
    IO_THREADS(CuFileTypes.CUFILE_PARAM_EXECUTION_MAX_IO_THREADS()),
    /** Requests that wait for those threads. */
    IO_QUEUE_DEPTH(CuFileTypes.CUFILE_PARAM_EXECUTION_MAX_IO_QUEUE_DEPTH()),
    /** Pieces into which one large request is split. */
    REQUEST_PARALLELISM(CuFileTypes.CUFILE_PARAM_EXECUTION_MAX_REQUEST_PARALLELISM()),
    /** KiB that one request to the disk moves at most. */
    MAX_DIRECT_IO_KB(CuFileTypes.CUFILE_PARAM_PROPERTIES_MAX_DIRECT_IO_SIZE_KB()),
    /** KiB of GPU memory for bounce buffers. */
    DEVICE_CACHE_KB(CuFileTypes.CUFILE_PARAM_PROPERTIES_MAX_DEVICE_CACHE_SIZE_KB()),
    /** KiB of GPU memory that may be registered. */
    PINNED_KB(CuFileTypes.CUFILE_PARAM_PROPERTIES_MAX_DEVICE_PINNED_MEM_SIZE_KB()),
    /** Entries of one batch. */
    BATCH_ENTRIES(CuFileTypes.CUFILE_PARAM_PROPERTIES_IO_BATCHSIZE()),
    /** Time limit of a batch in milliseconds. */
    BATCH_TIMEOUT_MS(CuFileTypes.CUFILE_PARAM_PROPERTIES_BATCH_IO_TIMEOUT_MS());

    private final int number;

    CuFileSize(final int number) {
        this.number = number;
    }

    int number() {
        return number;
    }
}
