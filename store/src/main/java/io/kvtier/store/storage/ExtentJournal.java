package io.kvtier.store.storage;

/** Is told by an {@link ExtentMap} what has to be written down. Called under its lock, and must not call back. */
interface ExtentJournal {
    /** Of a map that does not survive: nothing is written down. */
    ExtentJournal NONE = new ExtentJournal() {
        @Override
        public void stored(final ExtentEntry entry) {
            // A restart finds nothing.
        }

        @Override
        public void removed(final ExtentEntry entry) {
            // It was never written down.
        }
    };

    /** A value is committed, or has another replica. */
    void stored(ExtentEntry entry);

    /** A value that may be in the index is not there any more. */
    void removed(ExtentEntry entry);
}
