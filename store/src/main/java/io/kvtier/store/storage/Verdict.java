package io.kvtier.store.storage;

/**
 * What the master says of an {@link UnsettledExtent}.
 *
 * <p><b>Threading:</b> immutable.
 *
 * @param kind      what becomes of it.
 * @param replicaId what the master calls the replica; 0 unless complete.
 * @param version   of the value; 0 unless complete.
 */
public record Verdict(Kind kind, long replicaId, long version) {
    /** The master does not have it. */
    public static final Verdict GONE = new Verdict(Kind.GONE, 0, 0);
    /** The master has it, and it is not complete yet: ask again. */
    public static final Verdict WAIT = new Verdict(Kind.WAIT, 0, 0);

    /** What becomes of an extent. */
    public enum Kind {
        /** It is freed. */
        GONE,
        /** It can be read. */
        COMPLETE,
        /** It stays as it is. */
        WAIT
    }

    /**
     * The master has the replica, and counts it as whole.
     *
     * @param replicaId what the master calls it.
     * @param version   of the value.
     * @return the verdict.
     */
    public static Verdict complete(final long replicaId, final long version) {
        return new Verdict(Kind.COMPLETE, replicaId, version);
    }
}
