package io.kvtier.store.metrics;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import io.kvtier.kit.PrometheusText;
import io.kvtier.store.BatchResult;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.PutOptions;
import io.kvtier.store.StoreException;
import io.kvtier.store.protocol.Batch;
import io.kvtier.store.protocol.Command;
import io.kvtier.store.protocol.ObjectCommand;
import io.kvtier.store.protocol.ReadReply;
import io.kvtier.store.protocol.SegmentCommand;
import io.kvtier.store.protocol.TaskCommand;
import io.kvtier.store.replica.SegmentAddress;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Requests are counted under the names that dashboards of the followed system know. */
class RequestMetricsTest {
    private static final UUID CLIENT = new UUID(1, 2);
    private static final ObjectKey KEY = ObjectKey.of("k");
    private static final StoreException REFUSAL = new StoreException(ErrorCode.INVALID_PARAMS, "no");

    private final RequestMetrics metrics = new RequestMetrics();

    private Map<String, PrometheusText.Family> read() throws IOException {
        final Families families = new Families();
        metrics.collect(families);
        final ByteArrayOutputStream out = new ByteArrayOutputStream();
        families.write(out);
        return PrometheusText.parse(out.toString(StandardCharsets.UTF_8));
    }

    private static ObjectCommand.PutStart put(final boolean replace) {
        return new ObjectCommand.PutStart(CLIENT, 1, KEY, 5, PutOptions.DEFAULT, replace);
    }

    @Test
    void shouldCountEachKindUnderItsName() throws IOException {
        final Map<String, Command<?>> named = new TreeMap<>();
        named.put("put_start", put(false));
        named.put("upsert_start", put(true));
        named.put("put_end", new ObjectCommand.PutEnd(CLIENT, KEY, 1, ObjectCommand.Scope.ALL, false, 0));
        named.put("put_revoke", new ObjectCommand.PutRevoke(CLIENT, KEY, 1, ObjectCommand.Scope.ALL));
        named.put("get_replica_list", new ObjectCommand.ReadStart(KEY, false));
        named.put("exist_key", new ObjectCommand.Exists(KEY));
        named.put("remove", new ObjectCommand.Remove(KEY, false));
        named.put("get_replica_list_by_regex", new ObjectCommand.Find("", "a", true, 0));
        named.put("remove_by_regex", new ObjectCommand.RemoveMatching("", "a", false, 0));
        named.put("remove_all", new ObjectCommand.RemoveMatching("", "", false, 0));
        named.put("ping", new SegmentCommand.Ping(CLIENT, "", "", ""));
        for (final SegmentCommand.Medium medium : SegmentCommand.Medium.values()) {
            named.put(medium == SegmentCommand.Medium.NOF ? "mount_nof_segment" : "mount_segment",
                new SegmentCommand.Mount(CLIENT, new SegmentCommand.SegmentSpec("s", medium, 4096, 4096,
                    SegmentAddress.local(CLIENT), true)));
        }
        named.put("unmount_segment", new SegmentCommand.Unmount(CLIENT, CLIENT, 0));
        named.put("copy_start", new TaskCommand.ReplicationStart(CLIENT, KEY, TaskCommand.Kind.COPY, "a", List.of()));
        named.put("copy_end", new TaskCommand.ReplicationEnd(CLIENT, KEY, TaskCommand.Kind.COPY, true));
        named.put("copy_revoke", new TaskCommand.ReplicationEnd(CLIENT, KEY, TaskCommand.Kind.COPY, false));
        named.put("move_start", new TaskCommand.ReplicationStart(CLIENT, KEY, TaskCommand.Kind.MOVE, "a", List.of()));
        named.put("move_end", new TaskCommand.ReplicationEnd(CLIENT, KEY, TaskCommand.Kind.MOVE, true));
        named.put("move_revoke", new TaskCommand.ReplicationEnd(CLIENT, KEY, TaskCommand.Kind.MOVE, false));
        named.put("create_copy_task", new TaskCommand.CreateTask(TaskCommand.Kind.COPY, KEY, "a", List.of()));
        named.put("create_move_task", new TaskCommand.CreateTask(TaskCommand.Kind.MOVE, KEY, "a", List.of()));
        named.put("query_task", new TaskCommand.QueryTask(1));
        named.put("fetch_tasks", new TaskCommand.FetchTasks(CLIENT, 1));
        named.put("update_task", new TaskCommand.MarkTask(CLIENT, 1, true, ""));
        int times = 0;
        for (final Command<?> command : named.values()) {
            times++;
            for (int i = 0; i < times; i++) {
                metrics.answered(command, null, 1);
            }
            metrics.refused(command, 1);
        }

        final Map<String, PrometheusText.Family> read = read();
        times = 0;
        for (final String name : named.keySet()) {
            times++;
            assertEquals(times + 1, read.get("master_" + name + "_requests_total").value(), name);
            assertEquals(1, read.get("master_" + name + "_failures_total").value(), name);
            assertEquals("counter", read.get("master_" + name + "_requests_total").type());
        }
        assertEquals(named.size() * (named.size() + 3) / 2, metrics.total());
        assertEquals(named.size(), metrics.failures());
        assertFalse(read.containsKey("master_tick_requests_total"));
    }

    @Test
    void shouldCountWhatIsInBatches() throws IOException {
        final Batch<Boolean> batch = new Batch<>(List.of(new ObjectCommand.Exists(KEY), new ObjectCommand.Exists(KEY),
            new ObjectCommand.Exists(KEY)));
        final BatchResult<Boolean> good = new BatchResult<>(true, null);
        final BatchResult<Boolean> bad = new BatchResult<>(null, REFUSAL);
        metrics.answered(batch, List.of(good, good, good), 1);
        metrics.answered(batch, List.of(good, bad, bad), 1);
        metrics.answered(batch, List.of(bad, bad, bad), 1);
        metrics.refused(batch, 1);
        metrics.answered(new Batch<>(List.of()), List.of(), 1);

        final Map<String, PrometheusText.Family> read = read();
        assertEquals(4, read.get("master_batch_exist_key_requests_total").value());
        assertEquals(2, read.get("master_batch_exist_key_failures_total").value());
        assertEquals(12, read.get("master_batch_exist_key_items_total").value());
        assertEquals(8, read.get("master_batch_exist_key_failed_items_total").value());
        assertEquals(1, read.get("master_batch_exist_key_partial_successes_total").value());
        assertEquals(0, read.get("master_exist_key_requests_total").value());
        assertEquals(0, read.get("master_batch_put_start_items_total").value());
    }

    @Test
    void shouldPutATimeIntoTheBucketThatHoldsIt() throws IOException {
        final ObjectCommand.ReadStart get = new ObjectCommand.ReadStart(KEY, false);
        for (final long micros : new long[] {10, 11, 1000, 20_000_000}) {
            metrics.answered(get, ReadReply.NOT_FOUND, TimeUnit.MICROSECONDS.toNanos(micros));
        }

        final PrometheusText.Family family = read().get("kvtier_master_request_seconds");
        assertEquals("histogram", family.type());
        for (final Map.Entry<String, Integer> bound : Map.of("1.0E-5", 1, "2.5E-5", 2, "5.0E-4", 2, "0.001", 3,
            "10.0", 3, "+Inf", 4).entrySet()) {
            assertEquals(bound.getValue().doubleValue(), family.samples().get(Map.of("__name__", "_bucket", "method",
                "get_replica_list", "le", bound.getKey())), bound.getKey());
        }
        assertEquals(20.001021, family.samples().get(Map.of("__name__", "_sum", "method", "get_replica_list")), 1e-9);
    }

    @Test
    void shouldLoseNoCountWhenManyThreadsCount() throws IOException, InterruptedException {
        final int threads = 4;
        final int times = 10_000;
        final List<Thread> counting = new ArrayList<>();
        for (int i = 0; i < threads; i++) {
            counting.add(Thread.ofPlatform().start(() -> {
                for (int j = 0; j < times; j++) {
                    metrics.answered(put(false), null, 1);
                }
            }));
        }
        for (final Thread thread : counting) {
            thread.join();
        }

        assertEquals(threads * times, read().get("master_put_start_requests_total").value());
    }
}
