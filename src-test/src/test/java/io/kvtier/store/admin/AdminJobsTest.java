package io.kvtier.store.admin;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.Json;
import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.ManualClock;
import io.kvtier.kit.PrometheusText;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.PutOptions;
import io.kvtier.store.StoreException;
import io.kvtier.store.config.MasterSettings;
import io.kvtier.store.master.EmbeddedMaster;
import io.kvtier.store.master.state.Effects;
import io.kvtier.store.protocol.AdminCommand;
import io.kvtier.store.protocol.ObjectCommand;
import io.kvtier.store.protocol.PutStartReply;
import io.kvtier.store.protocol.SegmentCommand;
import io.kvtier.store.protocol.SegmentCommand.Medium;
import io.kvtier.store.protocol.TaskCommand;
import io.kvtier.store.protocol.TaskCommand.Task;
import io.kvtier.store.protocol.WorkKind;
import io.kvtier.store.replica.SegmentAddress;
import io.kvtier.transport.AccessToken;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** What an operator does to a master that holds tenants to their quotas and empties segments. */
@ExtendWith(LeakCheck.class)
class AdminJobsTest {
    private static final UUID CLIENT = new UUID(7, 8);
    private static final long SEGMENT_BYTES = 1 << 16;
    private static final long LEASE_MS = 1000;
    private static final int TRIES = 2;
    private static final String QUOTAS = "/api/v1/tenant_quotas";
    private static final String DRAINS = "/api/v1/drain_jobs";

    private final ManualClock clock = new ManualClock(1000);
    private EmbeddedMaster master;
    private AdminRig rig;
    private long attempts;

    @BeforeEach
    void open() throws IOException {
        start(true);
    }

    private void start(final boolean strict) throws IOException {
        master = new EmbeddedMaster(new MasterSettings(new MasterSettings.Eviction(1, 0, 1, 0, true), LEASE_MS, false,
            50, MasterSettings.Liveness.FOREVER, MasterSettings.Pins.DEFAULT,
            new MasterSettings.Tasks(10, 10, 10, 0, 0, TRIES), strict, MasterSettings.Strategy.RANDOM), clock,
            new Effects() {
                @Override
                public void workQueued(final UUID clientId, final WorkKind kind) {
                    // It is fetched when the test wants it.
                }

                @Override
                public void spaceFreed() {
                    // Nobody waits here.
                }
            });
        lend("one", 1);
        rig = AdminRig.of(master);
    }

    @AfterEach
    void close() {
        rig.close();
        master.close();
    }

    private void lend(final String name, final long id) {
        master.apply(new SegmentCommand.Mount(CLIENT, new SegmentCommand.SegmentSpec(name, Medium.MEMORY,
            SEGMENT_BYTES, 1024, new SegmentAddress(new UUID(9, id), "tcp://" + name, AccessToken.NONE), true)));
    }

    /** Null, or why it was refused. */
    private ErrorCode put(final String tenant, final String key, final long size) {
        final ObjectKey name = ObjectKey.of(tenant, key);
        try {
            final PutStartReply.Started started = (PutStartReply.Started) master.apply(
                new ObjectCommand.PutStart(CLIENT, ++attempts, name, size, PutOptions.DEFAULT, false));
            master.apply(new ObjectCommand.PutEnd(CLIENT, name, started.version(), ObjectCommand.Scope.ALL, false, 0));
            return null;
        } catch (final StoreException e) {
            return e.code();
        }
    }

    private AdminRig.Answer setQuota(final String tenant, final long bytes) throws IOException, InterruptedException {
        return rig.send("PUT", QUOTAS, "{\"tenant\": \"" + tenant + "\", \"quota_bytes\": " + bytes + "}");
    }

    private Map<String, Object> quota(final String tenant) throws IOException, InterruptedException {
        return Json.objects(rig.get(QUOTAS + "?tenant=" + tenant).json(), "tenants").getFirst();
    }

    private static Map<String, Object> quota(final long requested, final long effective, final long charged,
        final long objects, final long rejections, final long evicted) {
        return Map.of("tenant", "blue", "quota_bytes", requested, "effective_bytes", effective, "charged_bytes",
            charged, "objects", objects, "rejections", rejections, "evicted_bytes", evicted);
    }

    @Test
    void shouldHoldATenantToTheQuotaThatItIsGiven() throws IOException, InterruptedException {
        assertEquals(ErrorCode.TENANT_NOT_REGISTERED, put("blue", "a", 600));
        assertEquals(Map.of("tenant", "blue", "quota_bytes", 1000L), setQuota("blue", 1000).json());
        assertEquals(null, put("blue", "a", 600));
        assertEquals(quota(1000, 1000, 600, 1, 0, 0), quota("blue"));

        assertEquals(null, put("blue", "b", 500));
        assertEquals(ErrorCode.TENANT_QUOTA_EXCEEDED, put("blue", "c", 1001));
        assertEquals(quota(1000, 1000, 500, 1, 1, 600), quota("blue"), "the older value went");
        assertEquals(200, setQuota("blue", 2 * SEGMENT_BYTES).status());
        assertEquals(quota(2 * SEGMENT_BYTES, SEGMENT_BYTES, 500, 1, 1, 600), quota("blue"),
            "no more than there is memory");

        final Map<String, PrometheusText.Family> metrics = PrometheusText.parse(rig.get("/metrics").body());
        assertEquals(600, metrics.get("mooncake_tenant_evict_bytes_total").value("tenant", "blue"));
        assertEquals(1, metrics.get("mooncake_tenant_quota_reject_total").value("tenant", "blue"));
    }

    @Test
    void shouldTakeAQuotaBackFromATenantThatHasNothing() throws IOException, InterruptedException {
        setQuota("blue", 1000);
        assertEquals(null, put("blue", "a", 600));
        final AdminRig.Answer refused = rig.send("DELETE", QUOTAS + "?tenant=blue", "");
        assertEquals(409, refused.status());
        assertTrue(refused.error().contains("TENANT_NOT_EMPTY"), refused.body());
        assertEquals(quota(1000, 1000, 600, 1, 0, 0), quota("blue"));

        rig.send("POST", "/api/v1/remove_all", "{\"tenant\": \"blue\", \"force\": true}");
        assertEquals(200, rig.send("DELETE", QUOTAS + "?tenant=blue", "").status());
        assertEquals(404, rig.get(QUOTAS + "?tenant=blue").status());
        assertEquals(404, rig.send("DELETE", QUOTAS + "?tenant=blue", "").status());
        assertEquals(ErrorCode.TENANT_NOT_REGISTERED, put("blue", "a", 600));
    }

    @Test
    void shouldRefuseQuotasThatAreNone() throws IOException, InterruptedException {
        assertEquals(400, setQuota("blue", 0).status());
        assertEquals(400, setQuota("blue", -1).status());
        assertEquals(400, setQuota("_blue", 1).status());
        assertEquals(400, rig.send("PUT", QUOTAS, "{\"tenant\": \"blue\"}").status());
        assertEquals(400, rig.send("PUT", QUOTAS, "{\"tenant\": \"blue\", \"quota_bytes\": 9223372036854775808}")
            .status(), "above the largest number there is");
        assertEquals(List.of(), Json.objects(rig.get(QUOTAS).json(), "tenants"));
    }

    @Test
    void shouldHaveNoQuotasToSetWhereNobodyIsHeldToThem() throws IOException, InterruptedException {
        close();
        start(false);
        assertEquals(501, setQuota("blue", 1000).status());
        assertEquals(501, rig.send("DELETE", QUOTAS + "?tenant=blue", "").status());
        assertEquals(null, put("blue", "a", 600));
        assertEquals(quota(0, 0, 600, 1, 0, 0), quota("blue"), "what it has is known all the same");
    }

    private long drain(final String segment) throws IOException, InterruptedException {
        return (long) rig.send("POST", DRAINS, "{\"segments\": [\"" + segment + "\"]}").json().get("job_id");
    }

    private Map<String, Object> query(final long id) throws IOException, InterruptedException {
        return rig.get(DRAINS + "/query?job_id=" + id).json();
    }

    private static Map<String, Object> drain(final long id, final String status, final long moved, final long failed,
        final long active) {
        return Map.of("job_id", id, "status", status, "segments", List.of("one"), "moved", moved, "failed", failed,
            "active", active);
    }

    private AdminRig.Answer cancel(final long id) throws IOException, InterruptedException {
        return rig.send("POST", DRAINS + "/cancel", "{\"job_id\": " + id + "}");
    }

    private String status(final String segment) throws IOException, InterruptedException {
        return (String) Json.objects(rig.get("/api/v1/segments/status?segment=" + segment).json(), "segments")
            .getFirst().get("status");
    }

    private void tick(final long ms) {
        clock.advance(ms);
        master.apply(new AdminCommand.Tick());
    }

    private List<Task> fetch() {
        return master.apply(new TaskCommand.FetchTasks(CLIENT, 100));
    }

    private void move(final Task task) {
        master.apply(new TaskCommand.ReplicationStart(CLIENT, task.key(), task.kind(), task.source(), task.targets()));
        master.apply(new TaskCommand.ReplicationEnd(CLIENT, task.key(), task.kind(), true));
        master.apply(new TaskCommand.MarkTask(CLIENT, task.id(), true, ""));
    }

    /** Three values in segment "one", and an empty segment beside it. */
    private void fill() throws IOException, InterruptedException {
        setQuota("blue", SEGMENT_BYTES);
        for (int i = 0; i < 3; i++) {
            assertEquals(null, put("blue", "k" + i, 100));
        }
        lend("two", 2);
    }

    @Test
    void shouldEmptyASegmentAndSayHowFarItIs() throws IOException, InterruptedException {
        fill();
        final long id = drain("one");
        assertEquals(drain(id, "RUNNING", 0, 0, 0), query(id));
        assertEquals("DRAINING", status("one"));
        tick(10);
        assertEquals(drain(id, "RUNNING", 0, 0, 3), query(id));
        final List<Task> tasks = fetch();
        move(tasks.get(0));
        tick(10);
        assertEquals(drain(id, "RUNNING", 1, 0, 2), query(id));

        move(tasks.get(1));
        move(tasks.get(2));
        for (int i = 0; i < 10 && query(id).get("status").equals("RUNNING"); i++) {
            tick(LEASE_MS);
        }
        assertEquals(drain(id, "SUCCEEDED", 3, 0, 0), query(id));
        assertEquals("DRAINED", status("one"));
        assertEquals(0L, rig.get("/query_segment?segment=one").json().get("used"));
        assertEquals(3L, rig.get("/query_segment?segment=two").json().get("replicas"));
        assertEquals(200, cancel(id).status());
        assertEquals("OK", status("one"), "one that has ended well can be taken back");
    }

    @Test
    void shouldGiveADrainUpAndUseItsSegmentAgain() throws IOException, InterruptedException {
        fill();
        final long id = drain("one");
        tick(10);
        assertEquals(Map.of("job_id", id), cancel(id).json());
        assertEquals(drain(id, "CANCELED", 0, 0, 0), query(id));
        assertEquals("OK", status("one"));
        assertEquals(List.of(), fetch(), "moves that waited are withdrawn");
        assertEquals(200, cancel(id).status(), "once more changes nothing");
    }

    @Test
    void shouldNotGiveADrainUpWhileSomethingIsMoved() throws IOException, InterruptedException {
        fill();
        final long id = drain("one");
        tick(10);
        final List<Task> tasks = fetch();
        final AdminRig.Answer refused = cancel(id);
        assertEquals(503, refused.status());
        assertTrue(refused.error().contains("3 moves under way"), refused.body());
        tasks.forEach(this::move);
        tick(10);
        assertEquals("CANCELED", query(id).get("status"), "with the last of them");
        assertEquals("OK", status("one"));
    }

    @Test
    void shouldSayThatADrainHasFailed() throws IOException, InterruptedException {
        fill();
        final long id = drain("one");
        for (int i = 0; i < 10 * TRIES && query(id).get("status").equals("RUNNING"); i++) {
            tick(LEASE_MS);
            fetch().forEach(task -> master.apply(new TaskCommand.MarkTask(CLIENT, task.id(), false, "broken")));
        }
        assertEquals("FAILED", query(id).get("status"));
        assertEquals("OK", status("one"));
        final AdminRig.Answer refused = cancel(id);
        assertEquals(409, refused.status());
        assertTrue(refused.error().contains("CONFLICT"), refused.body());
    }

    @Test
    void shouldRefuseDrainsThatCannotBe() throws IOException, InterruptedException {
        fill();
        assertEquals(404, rig.send("POST", DRAINS, "{\"segments\": [\"none\"]}").status());
        assertEquals(400, rig.send("POST", DRAINS, "{\"segments\": []}").status());
        drain("one");
        assertEquals(503, rig.send("POST", DRAINS, "{\"segments\": [\"two\", \"one\"]}").status());
        assertEquals("OK", status("two"), "all or nothing");
        assertEquals(404, rig.get(DRAINS + "/query?job_id=4711").status());
        assertEquals(404, cancel(4711).status());
    }
}
