package io.kvtier.store.master.state;

import io.kvtier.store.StoreException;
import io.kvtier.store.protocol.SegmentCommand.Medium;

/** Room in tenants' quotas for new memory replicas; a tenant that has none left loses its own oldest values. */
final class Admission {
    private final Tenants tenants;
    private final Segments segments;
    private final SpaceTier memory;

    /** Whether something may be placed. */
    enum Verdict {
        /** It may. */
        ADMITTED,
        /** It may when what is on its way to disks has arrived there. */
        LATER,
        /** It may not; {@link Admission#refusal} says why. */
        REFUSED
    }

    Admission(final Tenants tenants, final Segments segments, final SpaceTier memory) {
        this.tenants = tenants;
        this.segments = segments;
        this.memory = memory;
    }

    /** Refuses a tenant that has no quota where one is needed. */
    void checkRegistered(final String tenant) {
        tenants.checkRegistered(tenant);
    }

    /** Bytes that copies of a value are charged as; the largest number there is when they are more. */
    static long bytes(final long size, final int copies) {
        return copies > 0 && size > Long.MAX_VALUE / copies ? Long.MAX_VALUE : size * copies;
    }

    /**
     * Makes room in a tenant's quota, if that can be done at all; otherwise nothing is evicted in vain.
     *
     * @param bytes  as {@link #bytes} says.
     * @param credit bytes of what is given up as soon as the rest is admitted.
     */
    Verdict admit(final String tenant, final long bytes, final long credit, final long nowMs) {
        final long capacity = segments.capacity(Medium.MEMORY);
        if (!tenants.isStrict() || capacity == 0 && tenants.isRegistered(tenant)) {
            // Without any memory nothing is placed, and that is what its caller shall hear.
            return Verdict.ADMITTED;
        }
        if (!tenants.isRegistered(tenant)) {
            return Verdict.REFUSED;
        }
        final long deficit = tenants.deficit(tenant, bytes, credit, capacity);
        final long leaving = tenants.leaving(tenant);
        if (deficit > leaving + memory.evictable(tenant, deficit - leaving, nowMs)) {
            return Verdict.REFUSED;
        }
        memory.evictOf(tenant, deficit - leaving, nowMs);
        final long left = tenants.deficit(tenant, bytes, credit, capacity);
        if (left == 0) {
            return Verdict.ADMITTED;
        }
        return left <= tenants.leaving(tenant) ? Verdict.LATER : Verdict.REFUSED;
    }

    /** Why a tenant was refused; counts it. */
    StoreException refusal(final String tenant, final long bytes) {
        return tenants.isRegistered(tenant) ? tenants.exceeded(tenant, bytes) : Tenants.unregistered(tenant);
    }
}
