package io.kvtier.store.admin;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.Json;
import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.ManualClock;
import io.kvtier.kit.PrometheusText;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.PutOptions;
import io.kvtier.store.RemoveOutcome;
import io.kvtier.store.config.MasterSettings;
import io.kvtier.store.master.EmbeddedMaster;
import io.kvtier.store.master.state.Effects;
import io.kvtier.store.protocol.AdminCommand;
import io.kvtier.store.protocol.MasterStats;
import io.kvtier.store.protocol.ObjectCommand;
import io.kvtier.store.protocol.PutStartReply;
import io.kvtier.store.protocol.SegmentCommand;
import io.kvtier.store.protocol.WorkKind;
import io.kvtier.store.replica.SegmentAddress;
import io.kvtier.transport.AccessToken;
import java.io.IOException;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** What an operator sees of a master that has objects. */
@ExtendWith(LeakCheck.class)
class AdminObjectsTest {
    private static final long LEASE_MS = 10_000;
    private static final UUID CLIENT = new UUID(7, 8);
    private static final UUID SEGMENT = new UUID(9, 10);
    private static final AccessToken TOKEN = AccessToken.random();
    private static final String ENDPOINT = "shm:///seg-1 tcp://10.0.0.1:9000/seg-1";

    private final ManualClock clock = new ManualClock(1000);
    private EmbeddedMaster master;
    private AdminRig rig;
    private long attempts;

    @BeforeEach
    void open() throws IOException {
        master = new EmbeddedMaster(MasterSettings.embedded(1, 0, LEASE_MS, 0), clock, new Effects() {
            @Override
            public void workQueued(final UUID clientId, final WorkKind kind) {
                // Nobody copies here.
            }

            @Override
            public void spaceFreed() {
                // Nobody waits here.
            }
        });
        master.apply(new SegmentCommand.Ping(CLIENT, "worker-1", "host-1", "10.0.0.1:9001"));
        master.apply(new SegmentCommand.Mount(CLIENT, new SegmentCommand.SegmentSpec("seg",
            SegmentCommand.Medium.MEMORY, 1L << 30, 4096, new SegmentAddress(SEGMENT, ENDPOINT, TOKEN), true)));
        rig = AdminRig.of(master);
    }

    @AfterEach
    void close() {
        rig.close();
        master.close();
    }

    private void put(final ObjectKey key, final long size) {
        final PutStartReply.Started started = (PutStartReply.Started) master.apply(
            new ObjectCommand.PutStart(CLIENT, ++attempts, key, size, PutOptions.DEFAULT, false));
        master.apply(new ObjectCommand.PutEnd(CLIENT, key, started.version(), ObjectCommand.Scope.ALL, true, 0xABCL));
    }

    private static String encoded(final String text) {
        return URLEncoder.encode(text, StandardCharsets.UTF_8);
    }

    @Test
    void shouldShowAnObjectWithItsReplicasAndNoToken() throws IOException, InterruptedException {
        final String name = "prefix/ü \"x\",&=%+";
        put(ObjectKey.of("team", name), 5000);

        final AdminRig.Answer answer = rig.get("/query_key?tenant=team&key=" + encoded(name));
        assertEquals(200, answer.status(), answer.body());
        final Map<String, Object> object = answer.json();
        assertEquals(name, object.get("key"));
        assertEquals("team", object.get("tenant"));
        assertEquals(5000L, object.get("size"));
        assertEquals("0000000000000abc", object.get("xxh64"));
        final Map<String, Object> replica = Json.objects(object, "replicas").getFirst();
        assertEquals("MEMORY", replica.get("type"));
        assertEquals("COMPLETE", replica.get("status"));
        assertEquals(SEGMENT.toString(), replica.get("segment_id"));
        assertEquals(ENDPOINT, replica.get("endpoint"));
        assertEquals(Set.of("id", "type", "status", "segment_id", "endpoint", "offset", "size"), replica.keySet());

        assertEquals(404, rig.get("/query_key?key=" + encoded(name)).status(), "another tenant's");
        assertEquals(400, rig.get("/query_key?tenant=team").status());
        assertEquals(400, rig.get("/query_key?tenant=_x&key=a").status());
    }

    @Test
    void shouldAnswerForEachKeyOfABatch() throws IOException, InterruptedException {
        put(ObjectKey.of("a"), 1);
        put(ObjectKey.of("b,c"), 2);

        final List<Map<String, Object>> objects =
            Json.objects(rig.get("/batch_query_keys?keys=a,missing,a").json(), "objects");
        assertEquals(List.of(true, false, true), objects.stream().map(object -> object.get("found")).toList());
        assertEquals(List.of("a", "missing", "a"), objects.stream().map(object -> object.get("key")).toList());
        assertEquals(List.of("b,c", "a"), Json.objects(rig.get("/batch_query_keys?keys=b%2Cc&keys=a").json(), "objects")
            .stream().map(object -> object.get("key")).toList());
        assertEquals(400, rig.get("/batch_query_keys?keys=").status());
        assertEquals(400, rig.get("/batch_query_keys?keys=" + "k,".repeat(4097)).status());
    }

    @Test
    void shouldListEveryKeyOnceHoweverManyThereAre() throws IOException, InterruptedException {
        final Set<String> keys = new TreeSet<>();
        for (int i = 0; i < 20_000; i++) {
            keys.add("key-" + i);
            put(ObjectKey.of("key-" + i), 1 + i % 9);
        }
        put(ObjectKey.of("team", "other"), 3);

        final AdminRig.Answer all = rig.get("/get_all_keys");
        assertEquals("chunked", all.response().headers().firstValue("transfer-encoding").orElse("none"));
        assertEquals(20_001L, all.json().get("count"));
        final Map<String, Object> mine = rig.get("/get_all_keys?tenant=default").json();
        final List<String> found =
            Json.objects(mine, "keys").stream().map(key -> (String) key.get("key")).toList();
        assertEquals(20_000, found.size());
        assertEquals(keys, new TreeSet<>(found));
        final Map<String, Object> few = rig.get("/get_all_keys?pattern=" + encoded("^key-1999.$")).json();
        assertEquals(10L, few.get("count"));
        assertEquals(400, rig.get("/get_all_keys?pattern=%5B").status());
    }

    @Test
    void shouldNeitherRenewALeaseNorCountAsAUse() throws IOException, InterruptedException {
        put(ObjectKey.of("a"), 1);
        master.apply(new ObjectCommand.ReadStart(ObjectKey.of("a"), false));
        final MasterStats before = master.apply(new AdminCommand.Statistics());
        clock.advance(LEASE_MS - 1);
        for (final String path : List.of("/query_key?key=a", "/batch_query_keys?keys=a", "/get_all_keys", "/metrics",
            "/get_segments_detail", "/query_segment?segment=seg", "/metrics/summary", "/health")) {
            assertEquals(200, rig.get(path).status(), path);
        }
        assertEquals(before, master.apply(new AdminCommand.Statistics()));
        assertEquals(RemoveOutcome.LEASED,
            master.apply(new ObjectCommand.Remove(ObjectKey.of("a"), false)).outcome());
        clock.advance(1);
        assertEquals(RemoveOutcome.REMOVED,
            master.apply(new ObjectCommand.Remove(ObjectKey.of("a"), false)).outcome());
    }

    @Test
    void shouldRemoveWhatNobodyReadsOrEverything() throws IOException, InterruptedException {
        for (int i = 0; i < 5000; i++) {
            put(ObjectKey.of(i % 2 == 0 ? "even" : "odd", "k" + i), 1);
        }
        master.apply(new ObjectCommand.ReadStart(ObjectKey.of("odd", "k1"), false));

        assertEquals(2500L, rig.send("POST", "/api/v1/remove_all", "{\"tenant\": \"even\"}").json().get("removed"));
        assertEquals(2499L, rig.send("POST", "/api/v1/remove_all", "").json().get("removed"));
        assertEquals(1L, rig.send("POST", "/api/v1/remove_all?force=true", "").json().get("removed"));
        assertEquals(0L, rig.get("/get_all_keys").json().get("count"));
        assertEquals(405, rig.get("/api/v1/remove_all").status());
    }

    @Test
    void shouldShowSegmentsByNameAndInDetail() throws IOException, InterruptedException {
        put(ObjectKey.of("a"), 5000);
        master.apply(new SegmentCommand.Mount(CLIENT, new SegmentCommand.SegmentSpec("seg",
            SegmentCommand.Medium.MEMORY, 1 << 20, 4096, SegmentAddress.local(new UUID(1, 1)), true)));

        assertEquals(List.of("seg"), rig.get("/get_all_segments").json().get("segments"));
        final AdminRig.Answer detail = rig.get("/get_segments_detail");
        final List<Map<String, Object>> segments = Json.objects(detail.json(), "segments");
        assertEquals(Set.of(1L << 30, 1L << 20),
            new TreeSet<>(segments.stream().map(segment -> (Long) segment.get("capacity")).toList()));
        final Map<String, Object> first = segments.stream()
            .filter(segment -> segment.get("segment_id").equals(SEGMENT.toString())).findFirst().orElseThrow();
        assertEquals("OK", first.get("status"));
        assertEquals("host-1", first.get("host"));
        assertEquals(false, first.get("returning"));
        assertEquals(ENDPOINT, first.get("endpoint"));
        final Map<String, Object> sum = rig.get("/query_segment?segment=seg").json();
        assertEquals((1L << 30) + (1L << 20), sum.get("capacity"));
        assertEquals(8192L, sum.get("used"), "whole units of 4096 bytes");
        assertEquals(2L, sum.get("count"));
        assertEquals(404, rig.get("/query_segment?segment=none").status());
        assertEquals(2, Json.objects(rig.get("/api/v1/segments/status").json(), "segments").size());
        assertEquals(404, rig.get("/api/v1/segments/status?segment=none").status());
    }

    @Test
    void shouldGiveMetricsThatPrometheusReads() throws IOException, InterruptedException {
        put(ObjectKey.of("a"), 5000);
        put(ObjectKey.of("b"), 1);
        master.apply(new SegmentCommand.Mount(CLIENT, new SegmentCommand.SegmentSpec("na\"me\\\n",
            SegmentCommand.Medium.MEMORY, 1 << 20, 4096, SegmentAddress.local(new UUID(1, 1)), true)));

        final AdminRig.Answer answer = rig.get("/metrics");
        assertEquals("text/plain; version=0.0.4; charset=utf-8",
            answer.response().headers().firstValue("content-type").orElseThrow());
        final Map<String, PrometheusText.Family> metrics = PrometheusText.parse(answer.body());
        assertEquals(2, metrics.get("master_key_count").value());
        assertEquals(8192 + 4096, metrics.get("master_allocated_bytes").value());
        assertEquals((1 << 30) + (1 << 20), metrics.get("master_total_capacity_bytes").value());
        assertEquals(8192 + 4096, metrics.get("segment_allocated_bytes").value("segment", "seg"));
        assertEquals(1 << 20, metrics.get("segment_total_capacity_bytes").value("segment", "na\"me\\\n"));
        assertEquals(1, metrics.get("master_active_clients").value());
        assertEquals(3, metrics.get("kvtier_master_connections").value());
        assertEquals(2, metrics.get("mem_cache_nums_").value());
        final String summary = rig.get("/metrics/summary").body();
        assertTrue(summary.startsWith("cluster test: 2 keys, memory 12288 of 1074790400 bytes (0.0 %)"), summary);
        assertFalse(summary.trim().contains("\n"));
    }
}
