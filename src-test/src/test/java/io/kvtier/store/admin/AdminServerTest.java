package io.kvtier.store.admin;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.Certificates;
import io.kvtier.kit.Json;
import io.kvtier.kit.OpenDescriptors;
import io.kvtier.kit.Threads;
import io.kvtier.store.DataType;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.StoreException;
import io.kvtier.store.protocol.AdminCommand;
import io.kvtier.store.protocol.Command;
import io.kvtier.store.protocol.GdsCommand;
import io.kvtier.store.protocol.MasterStats;
import io.kvtier.store.protocol.ObjectCommand;
import io.kvtier.store.protocol.ReadReply;
import io.kvtier.store.protocol.SegmentCommand;
import io.kvtier.store.protocol.TaskCommand;
import io.kvtier.transport.HostDetour;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.http.HttpRequest;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import javax.net.ssl.SSLContext;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The server itself: who is answered what, and what one client can do to others. */
class AdminServerTest {
    private static final String TOKEN = "0123456789abcdef0123";
    private static final MasterStats NOTHING =
        new MasterStats(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
            MasterStats.Gets.NONE, MasterStats.EvictionRuns.NONE, MasterStats.EvictionRuns.NONE,
            MasterStats.Allocations.NONE, MasterStats.Promoted.NONE, MasterStats.Probes.NONE,
            MasterStats.GdsTotals.NONE, MasterStats.PageTotals.NONE);
    private static final int LISTINGS = 4;
    private static final String SELECTOR = "anon_inode:[eventpoll]";

    @TempDir
    private Path directory;

    private final ScriptedMaster master = new ScriptedMaster()
        .on(AdminCommand.Statistics.class, command -> NOTHING)
        .on(SegmentCommand.Segments.class, command -> List.of());

    private static ObjectCommand.FindReply part(final long cursor, final int objects, final long next) {
        return new ObjectCommand.FindReply(IntStream.range(0, objects).mapToObj(i -> new ObjectCommand.Found(
            ObjectKey.of("key-" + cursor + '-' + i),
            new ReadReply(1, 1, List.of(), 0, false, 0, 0, DataType.UNKNOWN))).toList(), next);
    }

    @Test
    void shouldSetShowAndDeleteQuotas() throws IOException, InterruptedException {
        master.on(AdminCommand.SetQuota.class, command -> Command.Ack.OK)
            .on(AdminCommand.DeleteQuota.class,
                command -> command.tenant().equals("blue") ? Command.Ack.OK : Command.Ack.STALE)
            .on(AdminCommand.Quotas.class, command -> List.of(
                new AdminCommand.TenantInfo("blue", 100, 90, 80, 7, 6, 5),
                new AdminCommand.TenantInfo("default", 0, 0, 5, 4, 3, 2)));
        try (AdminRig rig = AdminRig.of(master)) {
            assertEquals(200, rig.send("PUT", "/api/v1/tenant_quotas", "{\"tenant\": \"blue\", \"quota_bytes\": 100}")
                .status());
            assertEquals(List.of(new AdminCommand.SetQuota("blue", 100)), master.asked());
            final List<Map<String, Object>> all = Json.objects(rig.get("/api/v1/tenant_quotas").json(), "tenants");
            assertEquals(Map.of("tenant", "blue", "quota_bytes", 100L, "effective_bytes", 90L, "charged_bytes", 80L,
                "objects", 7L, "rejections", 6L, "evicted_bytes", 5L), all.getFirst());
            assertEquals(2, all.size());
            assertEquals(1, Json.objects(rig.get("/api/v1/tenant_quotas?tenant=default").json(), "tenants").size());
            assertEquals(404, rig.get("/api/v1/tenant_quotas?tenant=red").status());
            assertEquals(200, rig.send("DELETE", "/api/v1/tenant_quotas?tenant=blue", "").status());
            assertEquals(404, rig.send("DELETE", "/api/v1/tenant_quotas?tenant=red", "").status());
            assertEquals(400, rig.send("PUT", "/api/v1/tenant_quotas", "{\"tenant\": \"blue\", \"quota_bytes\": 0}")
                .status());
            assertEquals("DELETE, GET, PUT", rig.send("POST", "/api/v1/tenant_quotas", "").response().headers()
                .firstValue("allow").orElseThrow());
        }
    }

    @Test
    void shouldShowFilesOfClients() throws IOException, InterruptedException {
        final UUID client = new UUID(1, 2);
        master.on(GdsCommand.GdsStorages.class, command -> List.of(
            new GdsCommand.GdsStorageInfo(client, new UUID(3, 4), 77, "h:2", 100, 90, 8,
                new GdsCommand.GdsCounts(1, 2, 3, 4, 5, 6, 7),
                new GdsCommand.GdsWork(11, 12, 13, 14, 15, 16, 17, 18, 19, 20),
                new GdsCommand.GdsState(91, 6, 1, HostDetour.ALWAYS, "gds: compatibility mode")),
            new GdsCommand.GdsStorageInfo(new UUID(5, 6), new UUID(7, 8), 1, "", 0, 0, 0, GdsCommand.GdsCounts.NONE,
                GdsCommand.GdsWork.NONE, GdsCommand.GdsState.UNKNOWN)));
        try (AdminRig rig = AdminRig.of(master)) {
            assertEquals(2, Json.objects(rig.get("/api/v1/gds_storages").json(), "storages").size());
            final List<Map<String, Object>> one =
                Json.objects(rig.get("/api/v1/gds_storages?client_id=" + client).json(), "storages");
            assertEquals(1, one.size());
            final Map<String, Object> wanted = new HashMap<>(Map.of("client_id", client.toString(), "storage_id",
                new UUID(3, 4).toString(), "generation", 77L, "endpoint", "h:2", "capacity", 100L, "used", 90L,
                "replicas", 8L));
            wanted.putAll(Map.of("puts", 1L, "only_puts", 2L, "adopted", 3L, "refused", 4L, "evictions", 5L,
                "evicted_bytes", 6L, "settled", 7L));
            wanted.putAll(Map.of("stored", 11L, "only_stored", 12L, "written_bytes", 13L, "reads", 14L,
                "read_bytes", 15L, "failures", Map.of("no_room", 16L, "put_refusals", 17L, "writes", 18L, "reads", 19L,
                    "stale_reads", 20L)));
            wanted.putAll(Map.of("owner_used", 91L, "values", 6L, "uncertain_extents", 1L, "compat_mode", "always",
                "way", "gds: compatibility mode"));
            assertEquals(wanted, one.getFirst());
            assertEquals(404, rig.get("/api/v1/gds_storages?client_id=nobody").status());
        }
    }

    @Test
    void shouldStartShowAndCancelDrains() throws IOException, InterruptedException {
        master.on(TaskCommand.CreateDrain.class, command -> 42L)
            .on(TaskCommand.CancelDrain.class, command -> Command.Ack.OK)
            .on(TaskCommand.QueryDrain.class, command -> {
                if (command.drainId() != 42) {
                    throw new StoreException(ErrorCode.JOB_NOT_FOUND, "there is no drain " + command.drainId());
                }
                return new TaskCommand.DrainInfo(42, List.of("a", "b"), TaskCommand.DrainStatus.RUNNING, 3, 2, 1);
            });
        try (AdminRig rig = AdminRig.of(master)) {
            assertEquals(Map.of("job_id", 42L),
                rig.send("POST", "/api/v1/drain_jobs", "{\"segments\": [\"a\", \"b\"]}").json());
            assertEquals(Map.of("job_id", 42L, "status", "RUNNING", "segments", List.of("a", "b"), "moved", 3L,
                "failed", 2L, "active", 1L), rig.get("/api/v1/drain_jobs/query?job_id=42").json());
            assertEquals(404, rig.get("/api/v1/drain_jobs/query?job_id=1").status());
            assertEquals(200, rig.send("POST", "/api/v1/drain_jobs/cancel", "{\"job_id\": 42}").status());
            assertEquals(400, rig.send("POST", "/api/v1/drain_jobs", "{}").status());
            assertEquals(List.of(new TaskCommand.CreateDrain(List.of("a", "b")), new TaskCommand.QueryDrain(42),
                new TaskCommand.QueryDrain(1), new TaskCommand.CancelDrain(42)), master.asked());
        }
    }

    /** A drain of the wrong segments cannot be taken back. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {"['a,b'] | a,b", "['a,b', 'c'] | a,b;c", "'a,b' | a;b", "['a'] | a"},
        quoteCharacter = '"')
    void shouldTakeTheNamesOfAListAsTheyAre(final String given, final String names)
        throws IOException, InterruptedException {
        master.on(TaskCommand.CreateDrain.class, command -> 42L);
        try (AdminRig rig = AdminRig.of(master)) {
            assertEquals(200, rig.send("POST", "/api/v1/drain_jobs",
                "{\"segments\": " + given.replace('\'', '"') + "}").status());
            assertEquals(List.of(new TaskCommand.CreateDrain(List.of(names.split(";")))), master.asked());
        }
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "GET  | /nope                           |                  | 404 | there is no page /nope",
        "GET  | /healthz                        |                  | 404 | there is no page /healthz",
        "POST | /health                         |                  | 405 | but GET",
        "GET  | /query_key?kee=a                |                  | 400 | 'kee' is no parameter here",
        "GET  | /query_key?key=a&key=b          |                  | 400 | 'key' has 2 values",
        "GET  | /query_key                      |                  | 400 | 'key' is missing",
        "POST | /api/v1/remove_all              | '[1]'            | 400 | the body must be a JSON object",
        "POST | /api/v1/remove_all              | '{\"force\": '   | 400 | the body is not JSON",
        "POST | /api/v1/remove_all              | '{\"force\": {}}' | 400 | 'force' must be a text, a number",
        "POST | /api/v1/remove_all              | '{\"force\": true} {}' | 400 | more behind the end",
        "POST | /api/v1/remove_all              | '{\"force\": \"maybe\"}' | 400 | it must be true or false",
        "POST | /api/v1/remove_all?force=true   | '{\"force\": true}' | 400 | 'force' has 2 values",
        "POST | /api/v1/drain_jobs/cancel       | '{\"job_id\": 1.5}' | 400 | 'job_id' is '1.5'; it must be a whole",
        "GET  | /api/v1/tenant_quotas           |                  | 501 | not scripted"})
    void shouldSayWhatIsWrongWithARequest(final String method, final String path, final String body, final int status,
        final String message) throws IOException, InterruptedException {
        try (AdminRig rig = AdminRig.of(master)) {
            final AdminRig.Answer answer = rig.send(method, path, body == null ? "" : body);
            assertEquals(status, answer.status(), answer.body());
            assertTrue(answer.error().contains(message), answer.body());
            assertEquals(200, rig.get("/health").status());
        }
    }

    @ParameterizedTest
    @CsvSource({"OBJECT_NOT_FOUND, 404", "INVALID_PARAMS, 400", "INVALID_KEY, 400", "TENANT_NOT_EMPTY, 409",
        "UNAVAILABLE_IN_CURRENT_STATUS, 503", "UNAVAILABLE_IN_CURRENT_MODE, 501", "INTERNAL_ERROR, 500"})
    void shouldPassTheMastersRefusalOn(final ErrorCode code, final int status)
        throws IOException, InterruptedException {
        master.on(AdminCommand.Quotas.class, command -> {
            throw new StoreException(code, "because");
        });
        try (AdminRig rig = AdminRig.of(master)) {
            final AdminRig.Answer answer = rig.get("/api/v1/tenant_quotas");
            assertEquals(status, answer.status());
            assertEquals("{code=" + code + ", message=because}", answer.error());
        }
    }

    @Test
    void shouldBeUnhealthyWhenTheMasterIs() throws IOException, InterruptedException {
        try (AdminRig rig = AdminRig.of(master)) {
            assertEquals(Map.of("status", "ok", "cluster_id", ""), rig.get("/health").json());
            master.on(AdminCommand.Statistics.class, command -> {
                throw new StoreException(ErrorCode.UNAVAILABLE_IN_CURRENT_STATUS, "closed");
            });
            assertEquals(503, rig.get("/health").status());
            master.on(AdminCommand.Statistics.class, command -> {
                throw new IllegalStateException("broken");
            });
            assertEquals(500, rig.get("/health").status());
        }
    }

    @Test
    void shouldRefuseABodyThatIsTooLong() throws IOException, InterruptedException {
        try (AdminRig rig = AdminRig.of(master)) {
            assertEquals(413, rig.send("POST", "/api/v1/remove_all", " ".repeat((1 << 20) + 1)).status());
            assertEquals(List.of(), master.asked());
        }
    }

    /** A browser sends Origin with every request that a page of another site makes it send. */
    @Test
    void shouldNotLetAWebPageChangeAnything() throws IOException, InterruptedException {
        try (AdminRig rig = AdminRig.of(master)) {
            final AdminRig.Answer answer = rig.send(rig.request("/api/v1/remove_all").header("Origin", "http://evil")
                .POST(HttpRequest.BodyPublishers.noBody()).build());
            assertEquals(403, answer.status());
            assertEquals(List.of(), master.asked());
        }
    }

    @Test
    void shouldWantTheTokenForEverythingButHealth() throws IOException, InterruptedException {
        final AdminConfig config = new AdminConfig(new InetSocketAddress("0.0.0.0", 0), TOKEN, null, false, false, "c");
        assertFalse(config.toString().contains(TOKEN));
        try (AdminRig rig = new AdminRig(config, master, null)) {
            assertEquals(200, rig.get("/health").status());
            for (final String shown : List.of("", "Bearer", "Bearer " + TOKEN + "x", "Basic " + TOKEN, TOKEN)) {
                final HttpRequest.Builder request = rig.request("/get_all_segments");
                final AdminRig.Answer answer =
                    rig.send((shown.isEmpty() ? request : request.header("Authorization", shown)).build());
                assertEquals(401, answer.status(), shown);
                assertEquals("Bearer", answer.response().headers().firstValue("www-authenticate").orElseThrow());
                assertFalse(answer.body().contains(TOKEN));
            }
            assertEquals(401, rig.get("/nope").status());
            assertEquals(200, rig.send(rig.request("/get_all_segments").header("Authorization", "Bearer " + TOKEN)
                .build()).status());
        }
    }

    @Test
    void shouldWantAWordBeforeItListensBeyondLoopback() {
        final InetSocketAddress everywhere = new InetSocketAddress("0.0.0.0", 0);
        assertTrue(assertThrows(IllegalArgumentException.class,
            () -> new AdminConfig(everywhere, null, null, false, false, "")).getMessage().contains("beyond loopback"));
        assertThrows(IllegalArgumentException.class,
            () -> new AdminConfig(everywhere, "short", null, false, false, ""));
        new AdminConfig(everywhere, null, null, false, true, "");
    }

    @Test
    void shouldSpeakTlsAndAskForCertificates() throws IOException, InterruptedException, GeneralSecurityException {
        final Path server = Certificates.pair(directory, "server");
        final Path client = Certificates.pair(directory, "client");
        final InetSocketAddress loopback = new InetSocketAddress("127.0.0.1", 0);
        final AdminConfig one = new AdminConfig(loopback, null, Certificates.context(server, client), false, false, "");
        try (AdminRig rig = new AdminRig(one, master, Certificates.context(null, server))) {
            assertEquals(200, rig.get("/health").status());
        }
        final AdminConfig both = new AdminConfig(loopback, null, Certificates.context(server, client), true, false, "");
        try (AdminRig rig = new AdminRig(both, master, Certificates.context(client, server))) {
            assertEquals(200, rig.get("/health").status());
        }
        try (AdminRig rig = new AdminRig(both, master, Certificates.context(null, server))) {
            assertThrows(IOException.class, () -> rig.get("/health"));
        }
    }

    @Test
    void shouldNameAnAddressThatIsTaken() throws IOException {
        try (AdminRig rig = AdminRig.of(master)) {
            final int port = rig.server().address().getPort();
            final IOException e =
                assertThrows(IOException.class, () -> new AdminRig(AdminConfig.loopback(port), master, null));
            assertTrue(e.getMessage().contains("cannot listen at /127.0.0.1:" + port), e.getMessage());
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldLeaveNoSelectorBehindWhenAnAddressIsTaken(final boolean secure)
        throws IOException, GeneralSecurityException {
        final SSLContext tls = secure ? SSLContext.getDefault() : null;
        try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getByName("127.0.0.1"))) {
            final AdminConfig config = new AdminConfig(
                new InetSocketAddress("127.0.0.1", taken.getLocalPort()), null, tls, false, false, "c");
            final List<Integer> before = OpenDescriptors.of(SELECTOR);
            assertThrows(IOException.class, () -> AdminServer.start(config, master, null));
            assertTrue(before.containsAll(OpenDescriptors.of(SELECTOR)));
        }
    }

    @Test
    void shouldCutAListingThatFailsHalfWay() throws IOException, InterruptedException {
        master.on(ObjectCommand.Find.class, find -> {
            if (find.cursor() == 3) {
                throw new StoreException(ErrorCode.UNAVAILABLE_IN_CURRENT_STATUS, "closed");
            }
            return part(find.cursor(), 4096, find.cursor() + 1);
        });
        try (AdminRig rig = AdminRig.of(master)) {
            assertThrows(IOException.class, () -> rig.get("/get_all_keys"));
            master.on(ObjectCommand.Find.class, find -> {
                if (find.cursor() == 1) {
                    throw new StoreException(ErrorCode.UNAVAILABLE_IN_CURRENT_STATUS, "closed");
                }
                return part(find.cursor(), 1, find.cursor() + 1);
            });
            assertEquals(503, rig.get("/get_all_keys").status(), "nothing was sent before it failed");
        }
    }

    @Test
    void shouldAnswerOthersWhileListingsAreUnderWay() throws IOException, InterruptedException {
        final Semaphore begun = new Semaphore(0);
        final CountDownLatch on = new CountDownLatch(1);
        master.on(ObjectCommand.Find.class, find -> {
            begun.release();
            try {
                on.await();
            } catch (final InterruptedException e) {
                throw new StoreException(ErrorCode.INTERNAL_ERROR, "interrupted");
            }
            return part(0, 1, ObjectCommand.FindReply.END);
        });
        try (AdminRig rig = AdminRig.of(master)) {
            final List<CompletableFuture<AdminRig.Answer>> listings = IntStream.range(0, LISTINGS)
                .mapToObj(i -> Threads.start(() -> listing(rig))).toList();
            begun.acquire(LISTINGS);

            final AdminRig.Answer refused = rig.get("/get_all_keys");
            assertEquals(503, refused.status());
            assertTrue(refused.error().contains("4 listings are under way"), refused.body());
            assertEquals(200, rig.get("/health").status());
            assertEquals(200, rig.get("/get_all_segments").status());
            on.countDown();
            for (final CompletableFuture<AdminRig.Answer> listing : listings) {
                assertEquals(1L, listing.join().json().get("count"));
            }
            assertEquals(200, rig.get("/get_all_keys").status());
        }
    }

    private static AdminRig.Answer listing(final AdminRig rig) {
        try {
            return rig.get("/get_all_keys");
        } catch (final IOException | InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    /** The listing has no end: only a client that goes can end it. */
    @Test
    void shouldGoOnWhenClientsDoNotReadAndThenGo() throws IOException, InterruptedException {
        final AtomicInteger parts = new AtomicInteger();
        master.on(ObjectCommand.Find.class, find -> {
            parts.incrementAndGet();
            return part(find.cursor(), 4096, find.cursor() + 1);
        });
        try (AdminRig rig = AdminRig.of(master)) {
            final List<Socket> sockets = IntStream.range(0, LISTINGS).mapToObj(i -> listingNobodyReads(rig)).toList();
            assertEquals(503, rig.get("/get_all_keys").status());
            assertEquals(200, rig.get("/health").status());
            for (final Socket socket : sockets) {
                socket.close();
            }
            master.on(ObjectCommand.Find.class, find -> part(0, 1, ObjectCommand.FindReply.END));
            AdminRig.Answer answer = rig.get("/get_all_keys");
            while (answer.status() == 503) {
                answer = rig.get("/get_all_keys");
            }
            assertEquals(200, answer.status());
            assertTrue(parts.get() >= LISTINGS);
        }
    }

    /** Returns when the answer has begun. */
    private static Socket listingNobodyReads(final AdminRig rig) {
        try {
            final Socket socket = new Socket();
            socket.setReceiveBufferSize(4096);
            socket.connect(rig.server().address());
            socket.getOutputStream().write(("GET /get_all_keys HTTP/1.1\r\nHost: localhost\r\n\r\n")
                .getBytes(StandardCharsets.US_ASCII));
            final InputStream in = socket.getInputStream();
            assertEquals('H', in.read());
            return socket;
        } catch (final IOException e) {
            throw new AssertionError(e);
        }
    }

    /** Each holds a thread of the server for as long as the JDK's server lets it. */
    @Test
    void shouldAnswerOthersWhileManyRequestsDoNotArrive() throws IOException, InterruptedException {
        final List<Socket> sockets = new ArrayList<>();
        try (AdminRig rig = AdminRig.of(master)) {
            for (int i = 0; i < 100; i++) {
                final Socket socket = new Socket();
                sockets.add(socket);
                socket.connect(rig.server().address());
                socket.getOutputStream().write("GET /heal".getBytes(StandardCharsets.US_ASCII));
                assertEquals(200, rig.get("/health").status());
            }
        } finally {
            for (final Socket socket : sockets) {
                socket.close();
            }
        }
    }

    @Test
    void shouldFinishAnswersWhenItIsClosed() throws IOException, InterruptedException {
        final CountDownLatch begun = new CountDownLatch(1);
        final CountDownLatch on = new CountDownLatch(1);
        master.on(ObjectCommand.Find.class, find -> {
            begun.countDown();
            try {
                on.await();
            } catch (final InterruptedException e) {
                throw new StoreException(ErrorCode.INTERNAL_ERROR, "interrupted");
            }
            return part(0, 1, ObjectCommand.FindReply.END);
        });
        final AdminRig rig = AdminRig.of(master);
        final CompletableFuture<AdminRig.Answer> listing = Threads.start(() -> listing(rig));
        begun.await();
        final Thread closing = Thread.ofPlatform().start(rig.server()::close);
        Threads.awaitWaiting(closing);
        on.countDown();
        assertEquals(1L, listing.join().json().get("count"));
        closing.join();
        assertThrows(IOException.class, () -> rig.get("/health"));
        rig.close();
    }
}
