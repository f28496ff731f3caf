package io.kvtier.store.admin;

import io.kvtier.kit.Json;
import io.kvtier.store.metrics.MasterMetrics;
import io.kvtier.store.metrics.RequestMetrics;
import io.kvtier.store.protocol.Master;
import io.kvtier.store.snapshot.SnapshotService;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.Map;
import javax.net.ssl.SSLContext;

/** An admin server and a client that asks it. */
final class AdminRig implements AutoCloseable {
    private final AdminServer server;
    private final HttpClient client;
    private final String base;

    AdminRig(final AdminConfig config, final Master master, final SSLContext tls) throws IOException {
        this(config, master, tls, null);
    }

    AdminRig(final AdminConfig config, final Master master, final SSLContext tls, final SnapshotService snapshots)
        throws IOException {
        server = AdminServer.start(config, master, new MasterMetrics(master, new RequestMetrics(),
            new MasterMetrics.Facts("test", "1", 0), () -> 3, null), snapshots);
        final HttpClient.Builder builder = HttpClient.newBuilder();
        client = tls == null ? builder.build() : builder.sslContext(tls).build();
        base = (tls == null ? "http" : "https") + "://127.0.0.1:" + server.address().getPort();
    }

    static AdminRig of(final Master master) throws IOException {
        return new AdminRig(AdminConfig.loopback(0), master, null);
    }

    /** What was answered. */
    record Answer(int status, HttpResponse<String> response) {
        String body() {
            return response.body();
        }

        Map<String, Object> json() {
            if (!response.headers().firstValue("content-type").orElse("").equals("application/json")) {
                throw new AssertionError(status + " " + response.headers().map() + response.body());
            }
            return Json.object(response.body());
        }

        String error() {
            return String.valueOf(json().get("error"));
        }
    }

    AdminServer server() {
        return server;
    }

    HttpRequest.Builder request(final String path) {
        return HttpRequest.newBuilder(URI.create(base + path));
    }

    Answer send(final HttpRequest request) throws IOException, InterruptedException {
        final HttpResponse<String> response = client.send(request, HttpResponse.BodyHandlers.ofString());
        return new Answer(response.statusCode(), response);
    }

    Answer send(final String method, final String path, final String body) throws IOException, InterruptedException {
        return send(request(path).method(method, HttpRequest.BodyPublishers.ofString(body)).build());
    }

    Answer get(final String path) throws IOException, InterruptedException {
        return send(request(path).build());
    }

    @Override
    public void close() {
        server.close();
        client.close();
    }
}
