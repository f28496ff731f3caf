package io.kvtier.store.snapshot.files;

import java.io.Closeable;
import java.io.IOException;
import java.io.InputStream;
import java.util.List;

/**
 * Where snapshots are kept: blobs by name, each of which is there whole or not at all. A store of another host throws
 * {@link StoreUnavailableException} while it is not reached or refuses.
 *
 * <p><b>Threading:</b> any thread; one name is written by one thread at a time. <b>Blocking:</b> on the store.
 */
public interface SnapshotStore {
    /**
     * What there is.
     *
     * @return names, in no order; those that are no snapshot's, too.
     * @throws IOException when that cannot be found out.
     */
    List<String> names() throws IOException;

    /**
     * Begins a blob, which takes the place of another one of its name when it is committed.
     *
     * @param name what it is called.
     * @return takes its bytes.
     * @throws IOException when it cannot be begun.
     */
    Writing create(String name) throws IOException;

    /**
     * Reads a blob.
     *
     * @param name which.
     * @return its bytes, to be closed; an end before the end when it was cut meanwhile.
     * @throws java.nio.file.NoSuchFileException when there is none.
     * @throws IOException                       when it cannot be read.
     */
    InputStream read(String name) throws IOException;

    /**
     * Deletes a blob; nothing happens when there is none.
     *
     * @param name which.
     * @throws IOException when it is still there.
     */
    void delete(String name) throws IOException;

    /** A blob that is being written. <b>Threading:</b> one thread. */
    interface Writing extends Closeable {
        /**
         * Appends.
         *
         * @param bytes  has them.
         * @param length how many, from the first on.
         * @throws IOException when they could not be written; the blob is lost then.
         */
        void write(byte[] bytes, int length) throws IOException;

        /**
         * Makes the blob durable, and its name lead to it, in this order.
         *
         * @throws IOException when it is not known to be durable.
         */
        void commit() throws IOException;

        /** Forgets what was not committed. */
        @Override
        void close() throws IOException;
    }
}
