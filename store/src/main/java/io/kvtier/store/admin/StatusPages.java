package io.kvtier.store.admin;

import io.kvtier.store.metrics.MasterMetrics;
import io.kvtier.store.protocol.AdminCommand;
import io.kvtier.store.protocol.Master;
import java.io.IOException;
import java.nio.charset.StandardCharsets;

/** How the master is. */
final class StatusPages {
    /** The one page that needs no token: it says nothing that an open port does not. */
    static final String HEALTH = "/health";

    private final Master master;
    private final MasterMetrics metrics;
    private final String clusterId;

    StatusPages(final Master master, final MasterMetrics metrics, final String clusterId) {
        this.master = master;
        this.metrics = metrics;
        this.clusterId = clusterId;
    }

    /** Healthy is who carries out a command. */
    void health(final AdminRequest request, final AdminReply reply) throws IOException {
        request.knows();
        master.apply(new AdminCommand.Statistics());
        reply.json(json -> {
            json.writeStringField("status", "ok");
            json.writeStringField("cluster_id", clusterId);
        });
    }

    /** Parameters are left alone: Prometheus may be told to send some. */
    void metrics(final AdminRequest request, final AdminReply reply) throws IOException {
        metrics.write(reply.as(MasterMetrics.contentType()));
    }

    void summary(final AdminRequest request, final AdminReply reply) throws IOException {
        request.knows();
        final byte[] line = (metrics.summary() + '\n').getBytes(StandardCharsets.UTF_8);
        reply.as("text/plain; charset=utf-8").write(line);
    }
}
