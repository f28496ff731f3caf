package io.kvtier.store.client.owner;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kvtier.bindings.NativeResources;
import io.kvtier.bindings.NativeTag;
import io.kvtier.kit.LeakCheck;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.client.engine.Exports;
import io.kvtier.store.client.transfer.Move;
import io.kvtier.transport.Uninterrupted;
import io.kvtier.transport.rpc.RpcClient;
import io.kvtier.transport.rpc.RpcClientConfig;
import io.kvtier.transport.rpc.RpcServerConfig;
import io.kvtier.transport.tcp.SegmentServerConfig;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Which memory is given to the next reader, and what closing waits for before it goes. */
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

    private static OwnerProtocol.Reply ask(final OwnerEndpoint endpoint, final int values) {
        try (RpcClient client = new RpcClient(RpcClientConfig.of("127.0.0.1", endpoint.listening().getPort(),
            "owner"))) {
            return OwnerProtocol.readReply(client.call(OwnerProtocol.READ, OwnerProtocol.request(Collections.nCopies(
                values, new OwnerProtocol.Wanted(ObjectKey.of("key"), 1, 4096, 1, null))), 60_000));
        }
    }

    private static List<Integer> statuses(final OwnerProtocol.Reply reply) {
        return reply.values().stream().map(OwnerProtocol.Placed::status).toList();
    }

    /** A device may write there when it is another value's. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void shouldGiveMemoryOfAReadThatFailedToOthersUnlessItIsLost(final boolean settled) {
        final AtomicBoolean failing = new AtomicBoolean(true);
        final Move failed = new Move() {
            @Override
            public String finish() {
                return "a test's";
            }

            @Override
            public boolean isSettled() {
                return settled;
            }
        };
        try (Exports exports = new Exports(SegmentServerConfig.DEFAULT, null);
             OwnerEndpoint endpoint = new OwnerEndpoint(RpcServerConfig.loopback(0), exports,
                 new OwnerEndpoint.Buffers(2 * 4096, null, 60_000),
                 (wanted, target) -> failing.getAndSet(false) ? failed : Move.DONE, clock)) {
            assertEquals(List.of(OwnerProtocol.GONE), statuses(ask(endpoint, 1)));
            // The first of a batch waits for room, the second does not.
            assertEquals(List.of(OwnerProtocol.OK, settled ? OwnerProtocol.OK : OwnerProtocol.BUSY),
                statuses(ask(endpoint, 2)));
        }
    }

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
