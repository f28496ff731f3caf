package io.kvtier.store.storage;

/**
 * A range of whole blocks of an extent space.
 *
 * <p><b>Threading:</b> immutable.
 *
 * @param offset first byte, behind the header of the file; a multiple of 4,096.
 * @param bytes  how many; a multiple of 4,096, at least one.
 */
public record Extent(long offset, long bytes) {
    /**
     * Checks the range.
     *
     * @throws IllegalArgumentException when it does not consist of whole blocks.
     */
    public Extent {
        if (offset < 0 || bytes <= 0 || (offset | bytes) % DataFile.UNIT_BYTES != 0) {
            throw new IllegalArgumentException("an extent of " + bytes + " bytes at offset " + offset
                + "; both must be multiples of " + DataFile.UNIT_BYTES + ", and there must be at least one block");
        }
    }

    /** The extent of a value of a size. */
    static Extent of(final long offset, final long size) {
        return new Extent(offset, DataFile.extentBytes(size));
    }
}
