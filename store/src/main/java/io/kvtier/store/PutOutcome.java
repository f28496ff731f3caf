package io.kvtier.store;

/** What became of a put. None but {@link #STORED} has changed anything. */
public enum PutOutcome {
    /** The value is stored and readable. */
    STORED,
    /** The key has a value already; it was left as it is. {@link Store#upsert} replaces it. */
    ALREADY_EXISTS,
    /**
     * Another put of the key is under way; its value will become readable, or the key becomes free again: with a master
     * at the latest after {@code put_start_discard_timeout_sec}, should its writer have died.
     */
    BEING_WRITTEN,
    /**
     * There is no room, and none could be made in time: everything is leased or in use, or nobody lends any memory. Try
     * later, or store less. A put does not wait for leases to end, only for what is on its way out or not yet settled.
     */
    NO_SPACE
}
