package io.kvtier.store.storage.shared;

/** Bytes on their way between memory and a {@link SharedFile}. <b>Threading:</b> awaited by one thread, once. */
@FunctionalInterface
public interface RangeTransfer {
    /** Nothing was to be moved. */
    RangeTransfer NOTHING = () -> { };

    /**
     * Waits until nothing uses the memory or changes the file any more. An interrupt does not end the wait.
     *
     * @throws io.kvtier.store.StoreException FILE_READ_FAIL or FILE_WRITE_FAIL, when not all bytes were moved.
     */
    void await();
}
