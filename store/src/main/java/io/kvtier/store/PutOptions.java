package io.kvtier.store;

import java.util.List;

/**
 * How a value is stored. Immutable; {@link #DEFAULT} with changes.
 *
 * @param replicas          copies in memory, 0 to {@link #MAX_REPLICAS}, each on a segment of its own; where there are
 *                          fewer segments with room, fewer copies are made.
 * @param nofReplicas       copies on block devices, 0 to {@link #MAX_REPLICAS}. Where one copy in memory and one on a
 *                          device is asked for, either is enough, when there is no room for the other or it cannot be
 *                          written; of any other mixture all copies are written, or none. A checksum is then always
 *                          taken.
 * @param preferredSegments names of segments that are tried first, in order.
 * @param sameHost          whether segments on the writer's host are tried before others, and then, unless the master
 *                          ranks segments by the room in them, those on the host whose name comes next.
 * @param softPin           what becomes of the soft pin.
 * @param hardPin           whether the value is never evicted; it stays until it is removed.
 * @param dataType          what the value is.
 * @param group             keys of one group are kept and evicted together; empty for none.
 * @param checksum          whether the writer takes an XXH64 of the value, which readers then verify.
 */
public record PutOptions(int replicas, int nofReplicas, List<String> preferredSegments, boolean sameHost,
                         SoftPin softPin, boolean hardPin, DataType dataType, String group, boolean checksum) {
    /** Most copies on one kind of medium. */
    public static final int MAX_REPLICAS = 64;
    /** Most preferred segments. */
    public static final int MAX_PREFERRED = 64;
    /** Longest name of a group or segment, in characters. */
    public static final int MAX_NAME = 1024;
    /** One copy in memory, anywhere. */
    public static final PutOptions DEFAULT =
        new PutOptions(1, 0, List.of(), false, SoftPin.PRESERVE, false, DataType.UNKNOWN, "", false);

    /**
     * Validates.
     *
     * @throws StoreException INVALID_PARAMS, naming what is wrong.
     */
    public PutOptions {
        count("replicas", replicas);
        count("nofReplicas", nofReplicas);
        if (replicas + nofReplicas == 0) {
            throw invalid("replicas and nofReplicas are both 0; a value needs at least one copy");
        }
        if (preferredSegments.size() > MAX_PREFERRED) {
            throw invalid("preferredSegments has " + preferredSegments.size() + " names; at most " + MAX_PREFERRED
                + " are allowed");
        }
        preferredSegments = List.copyOf(preferredSegments);
        preferredSegments.forEach(name -> name("preferredSegments", name));
        name("group", group);
    }

    /**
     * With another number of copies in memory.
     *
     * @param copies 0 to {@link #MAX_REPLICAS}.
     * @return changed options.
     */
    public PutOptions withReplicas(final int copies) {
        return new PutOptions(copies, nofReplicas, preferredSegments, sameHost, softPin, hardPin, dataType, group,
            checksum);
    }

    /**
     * With another number of copies on block devices.
     *
     * @param copies 0 to {@link #MAX_REPLICAS}.
     * @return changed options.
     */
    public PutOptions withNofReplicas(final int copies) {
        return new PutOptions(replicas, copies, preferredSegments, sameHost, softPin, hardPin, dataType, group,
            checksum);
    }

    /**
     * With segments that are tried first.
     *
     * @param names of segments, in order.
     * @return changed options.
     */
    public PutOptions withPreferredSegments(final String... names) {
        return new PutOptions(replicas, nofReplicas, List.of(names), sameHost, softPin, hardPin, dataType, group,
            checksum);
    }

    /**
     * With segments on the writer's host tried first, or not.
     *
     * @param prefer whether they are.
     * @return changed options.
     */
    public PutOptions withSameHost(final boolean prefer) {
        return new PutOptions(replicas, nofReplicas, preferredSegments, prefer, softPin, hardPin, dataType, group,
            checksum);
    }

    /**
     * With a soft pin.
     *
     * @param pin what becomes of it.
     * @return changed options.
     */
    public PutOptions withSoftPin(final SoftPin pin) {
        return new PutOptions(replicas, nofReplicas, preferredSegments, sameHost, pin, hardPin, dataType, group,
            checksum);
    }

    /**
     * With or without a hard pin.
     *
     * @param pinned whether the value is never evicted.
     * @return changed options.
     */
    public PutOptions withHardPin(final boolean pinned) {
        return new PutOptions(replicas, nofReplicas, preferredSegments, sameHost, softPin, pinned, dataType, group,
            checksum);
    }

    /**
     * With another type.
     *
     * @param type what the value is.
     * @return changed options.
     */
    public PutOptions withDataType(final DataType type) {
        return new PutOptions(replicas, nofReplicas, preferredSegments, sameHost, softPin, hardPin, type, group,
            checksum);
    }

    /**
     * With another group.
     *
     * @param name its name; empty for none.
     * @return changed options.
     */
    public PutOptions withGroup(final String name) {
        return new PutOptions(replicas, nofReplicas, preferredSegments, sameHost, softPin, hardPin, dataType, name,
            checksum);
    }

    /**
     * With or without a checksum.
     *
     * @param taken whether the writer takes one.
     * @return changed options.
     */
    public PutOptions withChecksum(final boolean taken) {
        return new PutOptions(replicas, nofReplicas, preferredSegments, sameHost, softPin, hardPin, dataType, group,
            taken);
    }

    private static void count(final String what, final int value) {
        if (value < 0 || value > MAX_REPLICAS) {
            throw invalid(what + " is " + value + "; allowed is 0 to " + MAX_REPLICAS);
        }
    }

    private static void name(final String what, final String value) {
        if (value.length() > MAX_NAME) {
            throw invalid(what + " has a name of " + value.length() + " characters; at most " + MAX_NAME
                + " are allowed");
        }
    }

    private static StoreException invalid(final String message) {
        return new StoreException(ErrorCode.INVALID_PARAMS, "put option " + message);
    }
}
