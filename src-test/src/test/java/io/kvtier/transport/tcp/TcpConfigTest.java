package io.kvtier.transport.tcp;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.transport.SharedSecret;
import io.kvtier.transport.TransferConfig;
import io.kvtier.transport.TransferEngine;
import io.kvtier.transport.TransportKind;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

class TcpConfigTest {
    @Test
    void shouldHaveTheDefaultsOfTheReference() {
        final TcpConfig config = TcpConfig.DEFAULT;
        assertTrue(config.enable());
        assertEquals(4, config.lanesPerPeer());
        assertEquals(16, config.maxConcurrentTasks());
        assertEquals(1_048_576, config.chunkBytes());
        assertEquals(30_000, config.timeouts().requestMs());
        assertEquals(3, config.retry().maxRetryCount());
        assertEquals(100, config.retry().retryBaseDelayMs());
        assertEquals(2_000, config.retry().retryMaxDelayMs());
    }

    @Test
    void shouldDoubleTheDelayUpToTheGreatest() {
        assertEquals(List.of(100L, 200L, 400L, 800L, 1600L, 2000L, 2000L),
            IntStream.rangeClosed(1, 7).mapToObj(TcpRetry.DEFAULT::delayMs).toList());
        assertEquals(0, new TcpRetry(3, 0, 0).delayMs(1000));
    }

    @Test
    void shouldNameTheSettingTheValueAndTheLimit() {
        refuses("max_retry_count is -1", () -> new TcpRetry(-1, 1, 1));
        refuses("retry_base_delay_ms is -1", () -> new TcpRetry(1, -1, 1));
        refuses("retry_max_delay_ms is 1; it must be from 2", () -> new TcpRetry(1, 2, 1));
        refuses("max_concurrent_tasks is 0", () -> TcpConfig.DEFAULT.withWindow(0, 4096));
        refuses("chunkBytes is 4095; it must be from 4096", () -> TcpConfig.DEFAULT.withWindow(1, 4095));
        refuses("lanesPerPeer is 65; it must be from 1 to 64", () -> TcpConfig.DEFAULT.withLanes(65, 1));
        refuses("ioThreads is 0", () -> TcpConfig.DEFAULT.withLanes(1, 0));
        refuses("requestMs is 0", () -> new TcpTimeouts(1, 0, 1));
        refuses("port is 65536", () -> SegmentServerConfig.DEFAULT.at("127.0.0.1", 65_536));
        refuses("maxConnections is 0", () -> new ServerLimits(0, 4096, 4096, 1, 0, 1, 1, 1));
        refuses("maxRequestBytes is 4095", () -> new ServerLimits(1, 4095, 4096, 1, 0, 1, 1, 1));
        refuses("15 bytes", () -> SharedSecret.of("x".repeat(15)));
    }

    @Test
    void shouldChangeOneSettingAndKeepTheOthers() {
        final TcpTimeouts times = new TcpTimeouts(1, 2, 3);
        final TcpRetry retry = new TcpRetry(4, 5, 6);
        final SharedSecret secret = SharedSecret.of("a secret of more than 16 bytes");
        final TcpConfig config = new TcpConfig(true, 2, 3, 5, 7000, 11, times, retry, secret);

        assertEquals(new TcpConfig(true, 9, 8, 5, 7000, 11, times, retry, secret), config.withLanes(8, 9));
        assertEquals(new TcpConfig(true, 2, 3, 8, 9000, 11, times, retry, secret), config.withWindow(8, 9000));
        assertEquals(new TcpConfig(true, 2, 3, 5, 7000, 12, times, retry, secret), config.withSendBuffer(12));
        assertEquals(new TcpConfig(true, 2, 3, 5, 7000, 11, TcpTimeouts.DEFAULT, retry, secret),
            config.withTimeouts(TcpTimeouts.DEFAULT));
        assertEquals(new TcpConfig(true, 2, 3, 5, 7000, 11, times, TcpRetry.DEFAULT, secret),
            config.withRetry(TcpRetry.DEFAULT));
        assertEquals(new TcpConfig(true, 2, 3, 5, 7000, 11, times, retry, null), config.withSecret(null));
        assertEquals(new TcpConfig(false, 2, 3, 5, 7000, 11, times, retry, secret), config.withEnable(false));
    }

    private static void refuses(final String words, final Executable call) {
        final String message = assertThrows(IllegalArgumentException.class, call).getMessage();
        assertTrue(message.contains(words), message);
    }

    @Test
    void shouldNotShowTheSecret() {
        final SharedSecret secret = SharedSecret.of("a secret that nobody may see");
        assertFalse((TcpConfig.DEFAULT.withSecret(secret).toString()
            + SegmentServerConfig.DEFAULT.withSecret(secret)).contains("nobody"));
        assertEquals(secret, SharedSecret.of("a secret that nobody may see"));
    }

    @Test
    void shouldSayWhyItIsNotThereWhenSwitchedOff() {
        try (TransferEngine engine = TransferEngine.open(TransferConfig.DEFAULT,
            List.of(new TcpTransport(TcpConfig.DEFAULT.withEnable(false))))) {
            assertFalse(engine.hasTransport(TransportKind.TCP));
            assertTrue(engine.availability(TransportKind.TCP).remedy().contains("transports/tcp/enable"));
            assertThrows(IllegalStateException.class, () -> engine.openSegment("tcp://127.0.0.1:1/s"));
        }
    }
}
