package io.kvtier.store.admin;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.PrometheusText;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreException;
import io.kvtier.store.StoreStats;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

/** A node's metrics over HTTP. */
class NodeMetricsTest {
    private static HttpResponse<String> asked(final NodeMetrics metrics, final String method, final String path)
        throws IOException, InterruptedException {
        try (HttpClient client = HttpClient.newHttpClient()) {
            return client.send(HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + metrics.port() + path))
                .method(method, HttpRequest.BodyPublishers.noBody()).build(), HttpResponse.BodyHandlers.ofString());
        }
    }

    @Test
    void shouldShowWhatTheStoreCountsNow() throws IOException, InterruptedException {
        final AtomicLong reads = new AtomicLong(3);
        try (NodeMetrics metrics = NodeMetrics.start(0, () -> new StoreStats.SharedDiskStats(
            new StoreStats.SharedReads(reads.get(), 0, 0, 0, 0, StoreStats.SharedDiskStats.NONE.reads().times()),
            StoreStats.SharedDiskStats.NONE.writes()))) {
            final HttpResponse<String> first = asked(metrics, "GET", "/metrics");
            assertEquals(200, first.statusCode());
            assertTrue(first.headers().firstValue("Content-Type").orElse("").startsWith("text/plain; version=0.0.4"));
            assertEquals(3, PrometheusText.parse(first.body()).get("mooncake_client_distributed_disk_reads_total")
                .value());
            reads.set(4);
            assertEquals(4, PrometheusText.parse(asked(metrics, "GET", "/metrics").body())
                .get("mooncake_client_distributed_disk_reads_total").value());
            assertEquals(404, asked(metrics, "GET", "/").statusCode());
            assertEquals(405, asked(metrics, "POST", "/metrics").statusCode());
        }
    }

    @Test
    void shouldSayThatTheStoreHasNoAnswer() throws IOException, InterruptedException {
        try (NodeMetrics metrics = NodeMetrics.start(0, () -> {
            throw new StoreException(ErrorCode.RPC_FAIL, "the master is gone");
        })) {
            final HttpResponse<String> answer = asked(metrics, "GET", "/metrics");
            assertEquals(503, answer.statusCode());
            assertTrue(answer.body().contains("the master is gone"), answer.body());
        }
    }
}
