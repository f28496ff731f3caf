package io.kvtier.store.client;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kvtier.kit.Json;
import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.PatternBytes;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.PutOptions;
import io.kvtier.store.PutOutcome;
import java.lang.foreign.MemorySegment;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** An operator empties a node over HTTP, and takes it away. */
@ExtendWith(LeakCheck.class)
class DrainProcessTest {
    private static final int VALUES = 60;
    private static final int LEAVING = 40;

    private static ObjectKey key(final int i) {
        return ObjectKey.of("key" + i);
    }

    private static byte[] value(final int i) {
        return PatternBytes.of(i, 1 + i * 700);
    }

    private static void fill(final ConnectedStore client) {
        for (int i = 0; i < VALUES; i++) {
            assertEquals(PutOutcome.STORED, client.put(key(i), PutOptions.DEFAULT.withPreferredSegments(
                i < LEAVING ? "one" : "two").withReplicas(1 + i % 2), MemorySegment.ofArray(value(i))));
        }
    }

    private static void assertAll(final ConnectedStore client) {
        for (int i = 0; i < VALUES; i++) {
            assertArrayEquals(value(i), client.getBytes(key(i)).orElseThrow(), "value " + i);
        }
    }

    private static Map<String, Object> status(final ClusterProcesses cluster, final long job) {
        return cluster.json("GET", "/api/v1/drain_jobs/query?job_id=" + job, "");
    }

    private static long drain(final ClusterProcesses cluster) {
        return (long) cluster.json("POST", "/api/v1/drain_jobs", "{\"segments\": [\"one\"]}").get("job_id");
    }

    private static long used(final ClusterProcesses cluster, final String segment) {
        return (long) cluster.json("GET", "/query_segment?segment=" + segment, "").get("used");
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void shouldMoveAllThatANodeHasAndReadItWhenTheNodeIsGone(final boolean shm) {
        final String[] lends = shm ? new String[] {"--memory-bytes=8M"}
            : new String[] {"--memory-bytes=8M", "--no-shm"};
        try (ClusterProcesses cluster = new ClusterProcesses("--default_kv_lease_ttl=200ms")) {
            cluster.startNode("one", lends);
            cluster.startNode("two", lends);
            cluster.startNode("three", lends);
            final ConnectedStore client = cluster.join(cluster.config().shm(shm));
            fill(client);
            final long job = drain(cluster);
            ConnectedStoreTest.await(() -> !"RUNNING".equals(status(cluster, job).get("status")));
            final Map<String, Object> end = status(cluster, job);
            assertEquals("SUCCEEDED", end.get("status"), end.toString());
            assertEquals(0L, end.get("failed"));
            assertEquals(0L, used(cluster, "one"));
            assertAll(client);
            assertEquals(0, cluster.node("one").stop());
            assertAll(client);
        }
    }

    /** Moves that are under way or wait when their node dies have failed with it; the other values are there. */
    @Test
    void shouldEndADrainWhoseNodeDies() {
        try (ClusterProcesses cluster = new ClusterProcesses("--client_ttl=1500ms", "--default_kv_lease_ttl=200ms")) {
            cluster.startNode("one", "--memory-bytes=8M", "--no-shm");
            cluster.startNode("two", "--memory-bytes=8M", "--no-shm");
            final ConnectedStore client = cluster.join(cluster.config());
            fill(client);
            cluster.node("one").signal("STOP");
            final long job = drain(cluster);
            // Unless the master has noticed already that nothing comes from that node.
            ConnectedStoreTest.await(() -> (long) status(cluster, job).get("active") > 0
                || !"RUNNING".equals(status(cluster, job).get("status")));
            cluster.node("one").kill();
            ConnectedStoreTest.await(() -> !"RUNNING".equals(status(cluster, job).get("status")));
            assertEquals(0L, status(cluster, job).get("active"));
            ConnectedStoreTest.await(() -> Json.objects(cluster.json("GET", "/get_segments_detail", ""), "segments")
                .size() == 1);
            for (int i = LEAVING; i < VALUES; i++) {
                assertArrayEquals(value(i), client.getBytes(key(i)).orElseThrow(), "value " + i);
            }
            assertEquals(0, client.masterStats().heldReplicas());
        }
    }
}
