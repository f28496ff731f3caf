package io.kvtier.store.admin;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import com.sun.net.httpserver.HttpsConfigurator;
import com.sun.net.httpserver.HttpsParameters;
import com.sun.net.httpserver.HttpsServer;
import io.kvtier.store.StoreException;
import io.kvtier.store.metrics.MasterMetrics;
import io.kvtier.store.protocol.Master;
import io.kvtier.transport.Gate;
import io.kvtier.transport.RareLog;
import java.io.IOException;
import java.lang.System.Logger;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.Semaphore;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import javax.net.ssl.SSLParameters;

/**
 * Answers HTTP about a master.
 *
 * <p>A request that changes something and comes from a web page ({@code Origin}) is refused: a browser on the master's
 * host must not be talked into removing objects. With a token every request but {@code /health} must show it.
 *
 * <p>How long a request may take to arrive and an answer to be read is a matter of the JDK's server, which takes it
 * from system properties of the whole process ({@code sun.net.httpserver.maxReqTime}, {@code maxRspTime}): whoever
 * owns the process sets them.
 *
 * <p><b>Threading:</b> thread-safe; a platform thread, a daemon, for each request that arrives or is answered, and
 * {@value #THREADS} at most: the JDK's server reads a request on the thread that answers it, so that with a few threads
 * as many clients that send half a request would keep all others from being answered. At most {@value #LISTINGS} of
 * them are busy with listings. Who is one too many is hung up on.
 * <b>Lifetime:</b> {@link #close()} waits for answers under way, but not long.
 */
public final class AdminServer implements AutoCloseable {
    private static final Logger LOG = System.getLogger(AdminServer.class.getName());
    private static final int THREADS = 256;
    private static final int LISTINGS = 4;
    private static final long IDLE_S = 10;
    private static final long CLOSE_WAIT_MS = 2000;
    private static final Set<String> LISTING_PATHS = Set.of("/get_all_keys", "/get_segments_detail", "/metrics");

    private final AdminConfig config;
    private final HttpServer server;
    private final ThreadPoolExecutor threads;
    private final Map<String, Map<String, Page>> pages;
    private final Semaphore listings = new Semaphore(LISTINGS);
    private final Gate requests = new Gate();
    private final RareLog notes = new RareLog(LOG);

    private AdminServer(final AdminConfig config, final HttpServer server, final Map<String, Map<String, Page>> pages) {
        this.config = config;
        this.server = server;
        this.pages = pages;
        final AtomicInteger numbers = new AtomicInteger();
        this.threads = new ThreadPoolExecutor(0, THREADS, IDLE_S, TimeUnit.SECONDS, new SynchronousQueue<>(),
            task -> Thread.ofPlatform().daemon().name("kvtier-admin-" + numbers.incrementAndGet()).unstarted(task),
            this::refuse);
    }

    /**
     * Listens from now on.
     *
     * @param config  where, and how it is protected.
     * @param master  gets the commands.
     * @param metrics of the master.
     * @return the server.
     * @throws IOException when the address cannot be bound, naming it.
     */
    public static AdminServer start(final AdminConfig config, final Master master, final MasterMetrics metrics)
        throws IOException {
        final HttpServer http = bind(config);
        final AdminServer server = new AdminServer(config, http, pages(config, master, metrics));
        http.createContext("/", server::handle);
        http.setExecutor(server.threads);
        http.start();
        return server;
    }

    /** Binds while it makes the server: one made before has threads and a selector, which it does not give back. */
    private static HttpServer bind(final AdminConfig config) throws IOException {
        try {
            return config.tls() == null ? HttpServer.create(config.address(), 0) : secure(config);
        } catch (final IOException e) {
            throw new IOException("cannot listen at " + config.address() + ": " + e.getMessage()
                + "; is another server there?", e);
        }
    }

    private static HttpsServer secure(final AdminConfig config) throws IOException {
        final HttpsServer server = HttpsServer.create(config.address(), 0);
        server.setHttpsConfigurator(new HttpsConfigurator(config.tls()) {
            @Override
            public void configure(final HttpsParameters parameters) {
                final SSLParameters ssl = config.tls().getDefaultSSLParameters();
                ssl.setNeedClientAuth(config.clientCertificate());
                parameters.setSSLParameters(ssl);
            }
        });
        return server;
    }

    private static Map<String, Map<String, Page>> pages(final AdminConfig config, final Master master,
        final MasterMetrics metrics) {
        final StatusPages status = new StatusPages(master, metrics, config.clusterId());
        final ObjectPages objects = new ObjectPages(master);
        final SegmentPages segments = new SegmentPages(master);
        final TenantPages tenants = new TenantPages(master);
        final GdsPages storages = new GdsPages(master);
        final Map<String, Map<String, Page>> pages = new HashMap<>();
        add(pages, "GET", Map.of(StatusPages.HEALTH, status::health, "/metrics", status::metrics, "/metrics/summary",
            status::summary, TenantPages.PATH, tenants::list, GdsPages.PATH, storages::list));
        add(pages, "GET", objects.gets());
        add(pages, "GET", segments.gets());
        add(pages, "POST", segments.posts());
        add(pages, "POST", Map.of("/api/v1/remove_all", objects::removeAll));
        add(pages, "PUT", Map.of(TenantPages.PATH, tenants::set));
        add(pages, "DELETE", Map.of(TenantPages.PATH, tenants::delete));
        return pages;
    }

    private static void add(final Map<String, Map<String, Page>> pages, final String method,
        final Map<String, Page> more) {
        more.forEach((path, page) -> pages.computeIfAbsent(path, any -> new HashMap<>()).put(method, page));
    }

    /**
     * Where it listens.
     *
     * @return the address with the port that was really taken.
     */
    public InetSocketAddress address() {
        return server.getAddress();
    }

    /** Stops listening, waits a moment for answers under way, ends the connections. A second call does nothing. */
    @Override
    public void close() {
        if (!requests.close()) {
            return;
        }
        if (!requests.awaitEmpty(CLOSE_WAIT_MS)) {
            LOG.log(Logger.Level.INFO, "answers were still under way after {0} ms and are cut off", CLOSE_WAIT_MS);
        }
        server.stop(0);
        threads.shutdownNow();
    }

    /** What is thrown out of here ends the connection. */
    private void refuse(final Runnable request, final ThreadPoolExecutor full) {
        if (!full.isShutdown()) {
            notes.warn("too many HTTP requests at a time; the limit is " + THREADS, () -> "a client was hung up on");
        }
        throw new RejectedExecutionException("all threads are busy");
    }

    private void handle(final HttpExchange exchange) throws IOException {
        final AdminReply reply = new AdminReply(exchange);
        if (!requests.tryEnter()) {
            reply.fail(HttpFailure.UNAVAILABLE, "SHUTTING_DOWN", "the master is closing");
            return;
        }
        try {
            answer(exchange, reply);
            reply.finish();
        } catch (final HttpFailure e) {
            refuse(reply, e.status(), word(e.status()), e);
        } catch (final StoreException e) {
            refuse(reply, status(e), e.code().name(), e);
        } catch (final RuntimeException e) {
            LOG.log(Logger.Level.WARNING, "a request failed: " + exchange.getRequestURI().getPath(), e);
            refuse(reply, HttpFailure.INTERNAL, "INTERNAL_ERROR", e);
        } finally {
            requests.leave();
        }
    }

    /** What is thrown out of here ends the connection. */
    private static void refuse(final AdminReply reply, final int status, final String code, final RuntimeException why)
        throws IOException {
        if (reply.begun()) {
            throw new IOException("the answer could not be completed", why);
        }
        // A store's own message begins with the code.
        final String message = String.valueOf(why.getMessage());
        reply.fail(status, code, message.startsWith(code + ": ") ? message.substring(code.length() + 2) : message);
    }

    private void answer(final HttpExchange exchange, final AdminReply reply) throws IOException {
        final String path = exchange.getRequestURI().getPath();
        authorize(exchange, path);
        final Map<String, Page> methods = pages.get(path);
        if (methods == null) {
            throw new HttpFailure(HttpFailure.NOT_FOUND, "there is no page " + path + "; there are "
                + String.join(", ", new TreeSet<>(pages.keySet())));
        }
        final Page page = methods.get(exchange.getRequestMethod());
        if (page == null) {
            exchange.getResponseHeaders().set("Allow", String.join(", ", new TreeSet<>(methods.keySet())));
            throw new HttpFailure(HttpFailure.METHOD_NOT_ALLOWED, path + " does not take "
                + exchange.getRequestMethod() + ", but " + String.join(", ", new TreeSet<>(methods.keySet())));
        }
        if (!exchange.getRequestMethod().equals("GET") && exchange.getRequestHeaders().containsKey("Origin")) {
            throw new HttpFailure(HttpFailure.FORBIDDEN, "a web page may not change anything here");
        }
        if (!LISTING_PATHS.contains(path)) {
            page.answer(AdminRequest.of(exchange), reply);
            return;
        }
        if (!listings.tryAcquire()) {
            throw new HttpFailure(HttpFailure.UNAVAILABLE, LISTINGS + " listings are under way; ask again later");
        }
        try {
            page.answer(AdminRequest.of(exchange), reply);
            reply.finish();
        } finally {
            listings.release();
        }
    }

    private void authorize(final HttpExchange exchange, final String path) {
        if (config.token() == null || path.equals(StatusPages.HEALTH)) {
            return;
        }
        final String shown = exchange.getRequestHeaders().getFirst("Authorization");
        final byte[] wanted = ("Bearer " + config.token()).getBytes(StandardCharsets.UTF_8);
        if (shown == null || !MessageDigest.isEqual(wanted, shown.getBytes(StandardCharsets.UTF_8))) {
            exchange.getResponseHeaders().set("WWW-Authenticate", "Bearer");
            throw new HttpFailure(HttpFailure.UNAUTHORIZED,
                "show the token of this master: 'Authorization: Bearer TOKEN'");
        }
    }

    private static int status(final StoreException refusal) {
        return switch (refusal.code()) {
            case OBJECT_NOT_FOUND, SEGMENT_NOT_FOUND, REPLICA_NOT_FOUND, TASK_NOT_FOUND, JOB_NOT_FOUND,
                TENANT_NOT_REGISTERED -> HttpFailure.NOT_FOUND;
            case INVALID_KEY, INVALID_PARAMS -> HttpFailure.BAD_REQUEST;
            case TENANT_NOT_EMPTY, OBJECT_HAS_REPLICATION_TASK -> HttpFailure.CONFLICT;
            case UNAVAILABLE_IN_CURRENT_STATUS, TASK_PENDING_LIMIT_EXCEEDED, RPC_FAIL, RPC_TIMEOUT ->
                HttpFailure.UNAVAILABLE;
            case UNAVAILABLE_IN_CURRENT_MODE -> HttpFailure.NOT_IMPLEMENTED;
            default -> HttpFailure.INTERNAL;
        };
    }

    private static String word(final int status) {
        return switch (status) {
            case HttpFailure.BAD_REQUEST -> "BAD_REQUEST";
            case HttpFailure.UNAUTHORIZED -> "UNAUTHORIZED";
            case HttpFailure.FORBIDDEN -> "FORBIDDEN";
            case HttpFailure.NOT_FOUND -> "NOT_FOUND";
            case HttpFailure.METHOD_NOT_ALLOWED -> "METHOD_NOT_ALLOWED";
            case HttpFailure.CONFLICT -> "CONFLICT";
            case HttpFailure.TOO_LARGE -> "TOO_LARGE";
            default -> "UNAVAILABLE";
        };
    }
}
