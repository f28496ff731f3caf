package io.kvtier.store.cli;

import io.kvtier.store.StoreConfig;
import java.nio.file.Path;

/**
 * What a replay does.
 *
 * @param trace      the trace.
 * @param limit      requests to replay at most.
 * @param blockBytes bytes of a block.
 * @param settings   the store, without its disk tier.
 * @param diskBytes  capacity of the disk tier; 0 for none.
 * @param dir        the disk tier's directory, which is kept; null for a temporary one.
 */
record ReplayPlan(Path trace, long limit, long blockBytes, StoreConfig settings, long diskBytes, Path dir) {
}
