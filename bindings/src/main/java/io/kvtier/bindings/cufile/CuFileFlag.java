package io.kvtier.bindings.cufile;

import io.kvtier.bindings.cufile.gen.CuFileTypes;

/** Switches of the driver that can be asked for. */
public enum CuFileFlag {
    /** Transfers may go through host memory. */
    ALLOW_COMPATIBILITY(CuFileTypes.CUFILE_PARAM_PROPERTIES_ALLOW_COMPAT_MODE()),
    /** All transfers go through host memory. */
    FORCE_COMPATIBILITY(CuFileTypes.CUFILE_PARAM_FORCE_COMPAT_MODE()),
    /** Large requests are split among threads. */
    PARALLEL_IO(CuFileTypes.CUFILE_PARAM_EXECUTION_PARALLEL_IO()),
    /** Host memory may be passed as a buffer. */
    SYSTEM_MEMORY(CuFileTypes.CUFILE_PARAM_PROPERTIES_ALLOW_SYSTEM_MEMORY()),
    /** The kernel's PCI peer-to-peer DMA is used instead of nvidia-fs. */
    PCI_P2PDMA(CuFileTypes.CUFILE_PARAM_USE_PCIP2PDMA()),
    /** Ordinary file I/O goes through io_uring. */
    PREFER_IO_URING(CuFileTypes.CUFILE_PARAM_PREFER_IO_URING()),
    /** Files are used past the page cache however they were opened. */
    FORCE_O_DIRECT(CuFileTypes.CUFILE_PARAM_FORCE_ODIRECT_MODE());

    private final int number;

    CuFileFlag(final int number) {
        this.number = number;
    }

    int number() {
        return number;
    }
}
