package io.kvtier.store.admin;

import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreException;
import io.kvtier.store.snapshot.SnapshotCounts;
import io.kvtier.store.snapshot.SnapshotService;
import java.io.IOException;

/** Snapshots of the master: what has become of them, and one more. */
final class SnapshotPages {
    static final String PATH = "/api/v1/snapshots";

    private final SnapshotService snapshots;

    /** Null where none are taken. */
    SnapshotPages(final SnapshotService snapshots) {
        this.snapshots = snapshots;
    }

    void show(final AdminRequest request, final AdminReply reply) throws IOException {
        request.knows();
        answer(service().counts(), reply);
    }

    void take(final AdminRequest request, final AdminReply reply) throws IOException {
        request.knows();
        final SnapshotCounts counts;
        try {
            counts = service().take();
        } catch (final IOException e) {
            throw new StoreException(ErrorCode.FILE_WRITE_FAIL, "no snapshot was taken: " + e.getMessage(), e);
        }
        answer(counts, reply);
    }

    private SnapshotService service() {
        if (snapshots == null) {
            throw new StoreException(ErrorCode.UNAVAILABLE_IN_CURRENT_MODE,
                "this master takes no snapshots; start it with enable_snapshot and snapshot_backup_dir");
        }
        return snapshots;
    }

    private void answer(final SnapshotCounts counts, final AdminReply reply) throws IOException {
        reply.json(json -> {
            json.writeStringField("place", snapshots.place());
            json.writeNumberField("taken", counts.taken());
            json.writeNumberField("failed", counts.failed());
            json.writeStringField("last_id", counts.lastId());
            json.writeNumberField("last_at_ms", counts.lastAtMs());
            json.writeNumberField("last_duration_ms", counts.lastMs());
            json.writeNumberField("last_bytes", counts.lastBytes());
            json.writeNumberField("last_objects", counts.lastObjects());
            json.writeNumberField("longest_slice_us", counts.longestNanos() / 1000);
        });
    }
}
