package io.kvtier.store;

/** What became of a put. */
public enum PutOutcome {
    /** The value is stored and readable. */
    STORED,
    /** The key has a value already; it was left as it is. Objects are immutable: remove the key first to replace it. */
    ALREADY_EXISTS,
    /** Another put of the key is under way; its value will become readable, or the key becomes free again. */
    BEING_WRITTEN,
    /** There is no room, and none could be made in time: everything is leased or in use. Try later, or store less. */
    NO_SPACE
}
