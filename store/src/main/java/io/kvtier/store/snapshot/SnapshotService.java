package io.kvtier.store.snapshot;

import java.io.IOException;

/** Takes snapshots of a master, and tells of them. <b>Threading:</b> thread-safe. */
public interface SnapshotService {
    /**
     * Takes a snapshot now, after one that is being taken. Blocks until it is durable.
     *
     * @return counts, of which the last one is this.
     * @throws IOException when it is not known to be durable, or another master has taken over.
     */
    SnapshotCounts take() throws IOException;

    /**
     * What has become of them.
     *
     * @return counts, of one moment.
     */
    SnapshotCounts counts();

    /**
     * Where they are.
     *
     * @return the place, for people.
     */
    String place();
}
