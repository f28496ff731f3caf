package io.kvtier.store.simulation;

import java.util.EnumSet;
import java.util.Set;

/** What clients keep to. Each of it can be broken, to see that the simulation finds out what it is there for. */
enum Rule {
    /** A reader checks after its bytes have arrived that its lease still runs. */
    CHECK_THE_LEASE,
    /** And counts it shorter than it is, since its clock may be slower than the master's. */
    ALLOW_FOR_DRIFT,
    /** A writer stops in time before the master gives its write up. */
    LIMIT_WRITES,
    /** A writer that does not know whether a part was or will be written does not revoke. */
    KEEP_WHAT_IS_UNCERTAIN,
    /** A writer ends a put only when all of it is written. */
    END_WHAT_IS_WRITTEN,
    /** Memory that is lent again is not reached by its old address any more, by the client itself neither. */
    CLOSE_EXPORTS,
    /** Memory that neighbours have mapped is not lent again, but other memory in its place. */
    RENEW_SHARED_MEMORY,
    /** A client says that values are gone from its disk when they are, not when it asks for more. */
    ACKNOWLEDGE_DROPS,
    /** A client asks what has become of room in its file of which it does not know whether the master has it. */
    ASK_WHAT_IS_IN_DOUBT,
    /** What is read from a file is the value that was asked for, before the read and after it. */
    CHECK_THE_EXTENT,
    /** What is read from the shared files has the checksum of the value, however sure its place is. */
    CHECK_THE_SUM,
    /** A reader of the shared files looks at what is there now, not at what it read there before. */
    READ_PAST_CACHES,
    /** What is written to the shared files is synced before anybody is told of it. */
    SYNC_WHAT_IS_WRITTEN,
    /** Who gives pages back says that what was sent there may arrive yet. */
    SAY_WHAT_MAY_ARRIVE,
    /** Of memory that lay there when a snapshot was taken only what has its checksum comes back. */
    COMPARE_WHAT_RETURNS;

    /** All of them kept. */
    static final Set<Rule> ALL = Set.copyOf(EnumSet.allOf(Rule.class));

    /** All kept but one. */
    static Set<Rule> without(final Rule rule) {
        return Set.copyOf(EnumSet.complementOf(EnumSet.of(rule)));
    }
}
