package io.kvtier.bindings.cufile;

/**
 * One class of the host buffers through which cuFile's compatibility mode copies. Every entry of a batch holds one from
 * submission to completion.
 *
 * <p><b>Threading:</b> immutable.
 *
 * @param slabKb KiB of one buffer; more than 0.
 * @param count  how many there are; more than 0.
 */
public record PoolSlabs(long slabKb, long count) {
    /** Refuses what is not positive. */
    public PoolSlabs {
        if (slabKb <= 0 || count <= 0) {
            throw new IllegalArgumentException("posix pool slabs of " + slabKb + " KiB, " + count + " of them");
        }
    }

    /**
     * The size of one buffer.
     *
     * @return bytes.
     */
    public long slabBytes() {
        return slabKb << 10;
    }
}
