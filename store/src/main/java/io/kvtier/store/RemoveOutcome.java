package io.kvtier.store;

/** What became of a remove. */
public enum RemoveOutcome {
    /** The object is gone from every tier and does not come back. */
    REMOVED,
    /** There was no such object. */
    NOT_FOUND,
    /** The object was read within the lease time and stays; try later, or force it. */
    LEASED,
    /** The object is being written and stays. */
    BEING_WRITTEN
}
