package io.kvtier.store.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.alloc.SharedRegion;
import io.kvtier.kit.Json;
import io.kvtier.kit.Jvm;
import io.kvtier.kit.PrometheusText;
import io.kvtier.store.ConnectConfig;
import io.kvtier.store.cli.Main;
import io.kvtier.store.client.engine.StoreHooks;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.net.ssl.SSLContext;

/** {@code kvtier master} and {@code kvtier node} as processes on loopback, and clients in this one. */
final class ClusterProcesses implements AutoCloseable {
    private static final Pattern READY = Pattern.compile(
        "kvtier master ready: calls 127\\.0\\.0\\.1:(\\d+), (https?://127\\.0\\.0\\.1:\\d+), cluster .*");

    private final List<String> options;
    private final ProcessBuilder.Redirect error;
    private final HttpClient http;
    private final Map<String, List<String>> nodeOptions = new LinkedHashMap<>();
    private final Map<String, Jvm> nodes = new LinkedHashMap<>();
    private final Deque<ConnectedStore> clients = new ArrayDeque<>();
    private Jvm master;
    private int port;
    private String base;

    ClusterProcesses(final String... options) {
        this(null, null, options);
    }

    /** With a file for what the processes say, and certificates that are trusted; each null for none. */
    ClusterProcesses(final Path log, final SSLContext tls, final String... options) {
        this.options = List.of(options);
        this.error = log == null ? ProcessBuilder.Redirect.INHERIT : ProcessBuilder.Redirect.appendTo(log.toFile());
        this.http = tls == null ? HttpClient.newHttpClient() : HttpClient.newBuilder().sslContext(tls).build();
        startMaster();
    }

    /** At the port of the last one, if there was one. */
    void startMaster() {
        final List<String> words = new ArrayList<>(List.of("master", "--rpc_port=" + port, "--metrics_port=0",
            "--enable_metric_reporting=false"));
        words.addAll(options);
        master = Jvm.start(error, Main.class, words.toArray(String[]::new));
        final Matcher ready = READY.matcher(master.ready());
        assertTrue(ready.matches(), master.ready());
        port = Integer.parseInt(ready.group(1));
        base = ready.group(2);
    }

    Jvm master() {
        return master;
    }

    int port() {
        return port;
    }

    /** A node whose memory has its name. */
    Jvm startNode(final String name, final String... lends) {
        final List<String> words = new ArrayList<>(List.of("node", "--master=127.0.0.1:" + port, "--name", name));
        words.addAll(List.of(lends));
        nodeOptions.put(name, words);
        return restartNode(name);
    }

    /** The same again. */
    Jvm restartNode(final String name) {
        final Jvm node = Jvm.start(error, Main.class, nodeOptions.get(name).toArray(String[]::new));
        nodes.put(name, node);
        return node;
    }

    /** Another process beside them, which the caller ends. */
    Jvm start(final Class<?> main, final String... arguments) {
        return Jvm.start(error, main, arguments);
    }

    Jvm node(final String name) {
        return nodes.get(name);
    }

    ConnectConfig.Builder config() {
        return ConnectConfig.builder("127.0.0.1", port).shm(false).timeouts(2_000, 2_000);
    }

    ConnectedStore join(final ConnectConfig.Builder config) {
        final ConnectedStore client = ConnectedStore.open(config.build(), StoreHooks.SYSTEM);
        clients.push(client);
        return client;
    }

    /** What the master's HTTP answers. */
    HttpResponse<String> http(final String method, final String path, final String body) {
        try {
            return http.send(HttpRequest.newBuilder(URI.create(base + path))
                .method(method, HttpRequest.BodyPublishers.ofString(body)).build(),
                HttpResponse.BodyHandlers.ofString());
        } catch (final IOException e) {
            throw new IllegalStateException(path, e);
        } catch (final InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException(path, e);
        }
    }

    Map<String, Object> json(final String method, final String path, final String body) {
        final HttpResponse<String> response = http(method, path, body);
        assertEquals(200, response.statusCode(), response.body());
        return Json.object(response.body());
    }

    Map<String, PrometheusText.Family> metrics() {
        return PrometheusText.parse(http("GET", "/metrics", "").body());
    }

    /** Whether the master knows a memory segment of that name that can be used. */
    boolean lends(final String name) {
        return Json.objects(json("GET", "/get_segments_detail", ""), "segments").stream()
            .anyMatch(segment -> name.equals(segment.get("name")) && "OK".equals(segment.get("status")));
    }

    @Override
    public void close() {
        while (!clients.isEmpty()) {
            clients.pop().close();
        }
        nodes.values().forEach(Jvm::close);
        master.close();
        http.close();
        // What killed nodes shared.
        SharedRegion.removeStale(SharedRegion.DEFAULT_DIRECTORY);
    }
}
