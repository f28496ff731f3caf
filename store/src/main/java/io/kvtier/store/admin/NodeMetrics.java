package io.kvtier.store.admin;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.kvtier.store.StoreException;
import io.kvtier.store.StoreStats;
import io.kvtier.store.metrics.ClientMetrics;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.Supplier;

/**
 * Answers HTTP about a node, on this host alone: {@code GET /metrics}.
 *
 * <p><b>Threading:</b> one daemon thread answers, one request after the other. <b>Lifetime:</b> {@link #close()} ends
 * answers under way.
 */
public final class NodeMetrics implements AutoCloseable {
    private static final String PATH = "/metrics";
    private static final int OK = 200;
    private static final int NOT_FOUND = 404;
    private static final int BAD_METHOD = 405;
    private static final int UNAVAILABLE = 503;

    private final HttpServer server;
    private final ExecutorService thread = Executors.newSingleThreadExecutor(
        Thread.ofPlatform().daemon().name("kvtier-node-metrics").factory());
    private final Supplier<StoreStats.SharedDiskStats> stats;

    private NodeMetrics(final HttpServer server, final Supplier<StoreStats.SharedDiskStats> stats) {
        this.server = server;
        this.stats = stats;
    }

    /**
     * Listens from now on.
     *
     * @param port  of this host; 0 for any.
     * @param stats what is shown.
     * @return the server.
     * @throws IOException when the port cannot be had.
     */
    public static NodeMetrics start(final int port, final Supplier<StoreStats.SharedDiskStats> stats)
        throws IOException {
        final NodeMetrics metrics = new NodeMetrics(HttpServer.create(
            new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 0), stats);
        metrics.server.setExecutor(metrics.thread);
        metrics.server.createContext("/", metrics::answer);
        metrics.server.start();
        return metrics;
    }

    /**
     * Where it listens.
     *
     * @return the port.
     */
    public int port() {
        return server.getAddress().getPort();
    }

    private void answer(final HttpExchange exchange) throws IOException {
        try (exchange) {
            if (!exchange.getRequestURI().getPath().equals(PATH)) {
                send(exchange, NOT_FOUND, "text/plain", "there is " + PATH + " here\n");
            } else if (!exchange.getRequestMethod().equals("GET")) {
                send(exchange, BAD_METHOD, "text/plain", PATH + " is to be got\n");
            } else {
                show(exchange);
            }
        }
    }

    private void show(final HttpExchange exchange) throws IOException {
        final ByteArrayOutputStream text = new ByteArrayOutputStream();
        try {
            ClientMetrics.write(stats.get(), text);
        } catch (final StoreException e) {
            send(exchange, UNAVAILABLE, "text/plain", e.getMessage() + '\n');
            return;
        }
        send(exchange, OK, ClientMetrics.CONTENT_TYPE, text.toString(StandardCharsets.UTF_8));
    }

    private static void send(final HttpExchange exchange, final int status, final String type, final String text)
        throws IOException {
        final byte[] body = text.getBytes(StandardCharsets.UTF_8);
        exchange.getResponseHeaders().set("Content-Type", type);
        exchange.sendResponseHeaders(status, body.length);
        exchange.getResponseBody().write(body);
    }

    @Override
    public void close() {
        server.stop(0);
        thread.shutdownNow();
    }
}
