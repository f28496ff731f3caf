package io.kvtier.store.protocol;

/** What may wait at the master for a client to fetch it. */
public enum WorkKind {
    /** Values to be copied to its disk, or to the shared files; see {@link DiskCommand.FetchOffloads}. */
    OFFLOADS(1),
    /** Values that were removed and still lie on its disk; see {@link DiskCommand.FetchDrops}. */
    DROPS(2),
    /** Copies and moves to be carried out; see {@link TaskCommand.FetchTasks}. */
    TASKS(4),
    /** Extents of its file that are to be freed; see {@link GdsCommand.FetchGdsDrops}. */
    GDS_DROPS(8),
    /** Values to be copied from the shared files to memory, by any client; see {@link PageCommand.FetchPromotions}. */
    PROMOTIONS(16),
    /** Files of single values to be written or deleted; see {@link DiskCommand.FetchKeyFiles}. */
    KEY_FILES(32),
    /** Values to be copied from its own disk to memory; see {@link DiskCommand.FetchDiskPromotions}. */
    DISK_PROMOTIONS(64);

    private final int bit;

    WorkKind(final int bit) {
        this.bit = bit;
    }

    /**
     * Its place in a set of kinds, as the wire has it.
     *
     * @return a power of two.
     */
    public int bit() {
        return bit;
    }
}
