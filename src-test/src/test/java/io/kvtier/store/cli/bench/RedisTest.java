package io.kvtier.store.cli.bench;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.kvtier.kit.LeakCheck;
import java.io.EOFException;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** The client against recorded bytes of the protocol, as Redis documents them. */
@ExtendWith(LeakCheck.class)
final class RedisTest {
    private interface Call {
        void with(Redis redis) throws IOException;
    }

    /** A server that reads a request of known length and answers it, a byte at a time; what it has read. */
    private static String exchange(final int length, final String answer, final Call call) throws IOException {
        try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            final CompletableFuture<String> request = CompletableFuture.supplyAsync(() -> {
                try (Socket socket = server.accept()) {
                    socket.setTcpNoDelay(true);
                    final byte[] read = socket.getInputStream().readNBytes(length);
                    for (final byte each : answer.getBytes(StandardCharsets.US_ASCII)) {
                        socket.getOutputStream().write(each);
                    }
                    return new String(read, StandardCharsets.US_ASCII);
                } catch (final IOException e) {
                    throw new IllegalStateException(e);
                }
            });
            try (Redis redis = Redis.connect(server.getLocalPort())) {
                call.with(redis);
            } finally {
                request.join();
            }
            return request.join();
        }
    }

    private static MemorySegment value(final Arena arena, final String text) {
        return arena.allocate(text.length()).copyFrom(MemorySegment.ofArray(text.getBytes(StandardCharsets.US_ASCII)));
    }

    @Test
    void shouldSpeakTheProtocol() throws IOException {
        try (Arena arena = Arena.ofShared()) {
            final MemorySegment hello = value(arena, "hello");
            final String set = "*3\r\n$3\r\nSET\r\n$5\r\nkey-1\r\n$5\r\nhello\r\n";
            assertEquals(set, exchange(set.length(), "+OK\r\n", redis -> redis.put("key-1", hello)));
            final MemorySegment into = arena.allocate(5);
            final String get = "*2\r\n$3\r\nGET\r\n$5\r\nkey-1\r\n";
            assertEquals(get, exchange(get.length(), "$5\r\nhello\r\n", redis -> redis.get("key-1", into)));
            assertArrayEquals("hello".getBytes(StandardCharsets.US_ASCII), into.toArray(ValueLayout.JAVA_BYTE));
        }
    }

    @Test
    void shouldSayWhatRedisSaid() throws IOException {
        try (Arena arena = Arena.ofShared()) {
            final MemorySegment memory = arena.allocate(5);
            assertEquals("Redis has no k of 5 bytes: $-1", assertThrows(IOException.class, () ->
                exchange(20, "$-1\r\n", redis -> redis.get("k", memory))).getMessage());
            assertEquals("Redis does not take k: -OOM command not allowed", assertThrows(IOException.class, () ->
                exchange(31, "-OOM command not allowed\r\n", redis -> redis.put("k", memory))).getMessage());
            assertThrows(EOFException.class, () -> exchange(20, "$5\r\nhe", redis -> redis.get("k", memory)));
        }
    }
}
