package io.kvtier.store.master.state;

import java.util.LinkedHashSet;
import java.util.Set;

/** Objects of one tenant that are leased and evicted together. */
final class ObjectGroup {
    private final String tenant;
    private final String name;
    private final Set<ObjectEntry> members = new LinkedHashSet<>();
    private long leaseUntilMs;

    ObjectGroup(final String tenant, final String name) {
        this.tenant = tenant;
        this.name = name;
    }

    String tenant() {
        return tenant;
    }

    String name() {
        return name;
    }

    Set<ObjectEntry> members() {
        return members;
    }

    long leaseUntilMs() {
        return leaseUntilMs;
    }

    void lease(final long untilMs) {
        leaseUntilMs = Math.max(leaseUntilMs, untilMs);
    }
}
