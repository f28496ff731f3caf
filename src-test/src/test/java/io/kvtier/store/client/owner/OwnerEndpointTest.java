package io.kvtier.store.client.owner;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kvtier.bindings.NativeResources;
import io.kvtier.bindings.NativeTag;
import io.kvtier.kit.LeakCheck;
import io.kvtier.store.client.engine.Exports;
import io.kvtier.transport.Uninterrupted;
import io.kvtier.transport.rpc.RpcServerConfig;
import io.kvtier.transport.tcp.SegmentServerConfig;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** What closing waits for before the memory for readers goes. */
@ExtendWith(LeakCheck.class)
class OwnerEndpointTest {
    private final CountDownLatch awaited = new CountDownLatch(1);
    private final ScheduledThreadPoolExecutor clock = new ScheduledThreadPoolExecutor(1) {
        @Override
        public boolean awaitTermination(final long timeout, final TimeUnit unit) throws InterruptedException {
            awaited.countDown();
            return super.awaitTermination(timeout, unit);
        }
    };

    @Test
    void shouldKeepItsMemoryWhenTheEndOfALeaseIsUnderWay() throws InterruptedException {
        final CountDownLatch inside = new CountDownLatch(1);
        final CountDownLatch go = new CountDownLatch(1);
        try (Exports exports = new Exports(SegmentServerConfig.DEFAULT, null)) {
            // Nobody reads here, so the disk is not asked for anything.
            final OwnerEndpoint endpoint = new OwnerEndpoint(RpcServerConfig.loopback(0), exports,
                new OwnerEndpoint.Buffers(1 << 20, null, 1), null, clock);
            clock.execute(() -> {
                inside.countDown();
                // Closing interrupts the clock; giving memory back does not listen to that.
                Uninterrupted.await(go::await);
            });
            inside.await();
            final Map<NativeTag, NativeResources.Usage> before = NativeResources.snapshot();

            final Thread closer = Thread.ofPlatform().start(endpoint::close);
            while (awaited.getCount() > 0 && closer.isAlive()) {
                Thread.onSpinWait();
            }
            final Map<NativeTag, NativeResources.Usage> during = NativeResources.snapshot();
            go.countDown();
            closer.join();

            assertEquals(before, during, "memory was freed under the clock's thread");
        }
    }
}
