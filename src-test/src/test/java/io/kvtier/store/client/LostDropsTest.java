package io.kvtier.store.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.PatternBytes;
import io.kvtier.store.ConnectConfig;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.StoreException;
import io.kvtier.store.client.engine.StoreHooks;
import io.kvtier.store.protocol.DiskCommand.Drops;
import io.kvtier.store.protocol.DiskCommand.FetchDrops;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** What the master has forgotten leaves the disk, whatever is lost on the way. */
@ExtendWith(LeakCheck.class)
@Timeout(value = 2, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class LostDropsTest {
    private static final int UNIT = 4096;
    private static final int LOST = 2;
    private static final ObjectKey KEY = ObjectKey.of("key");

    @TempDir
    private Path directory;

    private final Cluster cluster = new Cluster(Cluster.settings(1, 0));
    private FaultyLink link;

    @AfterEach
    void close() {
        cluster.close();
    }

    @Test
    void shouldRemoveFromTheDiskWhatWasNamedInAReplyThatWasLost() {
        final ConnectConfig config =
            cluster.config().memoryBytes(64 * UNIT).disk(directory, 4 << 20).shm(false).build();
        link = new FaultyLink(config);
        try (ConnectedStore node = ConnectedStore.open(config, StoreHooks.SYSTEM, link)) {
            StoreContract.put(node, KEY, PatternBytes.of(1, 3 * UNIT));
            StoreContract.fillUntilOnDisk(node, KEY, 64 * UNIT);
            assertTrue(node.parts().disk().values() > 0);
            final AtomicInteger lost = loseDrops();

            node.removeAll("", true);
            while (node.parts().disk().values() > 0) {
                Thread.onSpinWait();
            }
            assertEquals(LOST, lost.get());
        }
    }

    /** The master has named them, and the client does not hear of it, so many times. */
    private AtomicInteger loseDrops() {
        final AtomicInteger lost = new AtomicInteger();
        link.fault(new FaultyLink.Fault() {
            @Override
            public <R> R apply(final FaultyLink.Exchange<R> exchange) {
                final R reply = exchange.pass();
                if (exchange.command() instanceof FetchDrops && !((Drops) reply).values().isEmpty()
                    && lost.get() < LOST) {
                    lost.incrementAndGet();
                    throw new StoreException(ErrorCode.RPC_TIMEOUT, "the reply is lost");
                }
                return reply;
            }
        });
        return lost;
    }
}
