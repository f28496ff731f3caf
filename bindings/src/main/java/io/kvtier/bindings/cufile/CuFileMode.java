package io.kvtier.bindings.cufile;

/** The way that data takes between a file and GPU memory. A successful transfer does not tell: cuFile falls back. */
public enum CuFileMode {
    /** The disk writes into GPU memory, through the nvidia-fs module. */
    NVIDIA_FS,
    /** The disk writes into GPU memory, through the kernel's own PCI peer-to-peer DMA. */
    PCI_P2PDMA,
    /** Through host memory, with ordinary file I/O and copies. */
    COMPATIBILITY,
    /** There is no cuFile here. */
    ABSENT,
    /** Neither statistics nor properties told. */
    UNKNOWN;

    /**
     * Whether data goes past host memory.
     *
     * @return true for the two direct ways.
     */
    public boolean direct() {
        return this == NVIDIA_FS || this == PCI_P2PDMA;
    }

    /**
     * What the counts say of the transfers between two readings; the slowest way counts when several were used. Where
     * nothing direct is there at all, no count is needed.
     */
    static CuFileMode between(final CuFileStatistics before, final CuFileStatistics after,
        final CuFileProperties properties) {
        if (after.posix() > before.posix() || after.batchPosix() > before.batchPosix()) {
            return COMPATIBILITY;
        }
        if (after.nvidiaFs() > before.nvidiaFs()) {
            return NVIDIA_FS;
        }
        if (after.pciP2p() > before.pciP2p()) {
            return PCI_P2PDMA;
        }
        return properties.directPossible() ? UNKNOWN : COMPATIBILITY;
    }
}
