package io.kvtier.store.cli;

import io.kvtier.store.admin.AdminConfig;
import io.kvtier.store.admin.AdminServer;
import io.kvtier.store.config.BucketConfig;
import io.kvtier.store.config.Environment;
import io.kvtier.store.config.MasterConfig;
import io.kvtier.store.config.MasterOption;
import io.kvtier.store.config.SecurityFiles;
import io.kvtier.store.master.MasterServer;
import io.kvtier.store.master.SnapshotPlan;
import io.kvtier.store.metrics.MasterMetrics;
import io.kvtier.store.metrics.RequestMetrics;
import io.kvtier.store.snapshot.files.DirectoryStore;
import io.kvtier.store.snapshot.files.SnapshotArchive;
import io.kvtier.store.snapshot.files.SnapshotStore;
import io.kvtier.store.snapshot.s3.S3Credentials;
import io.kvtier.store.snapshot.s3.S3Settings;
import io.kvtier.store.snapshot.s3.S3Store;
import io.kvtier.transport.SharedSecret;
import io.kvtier.transport.rpc.RpcServerConfig;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Map;
import java.util.function.Function;
import javax.net.ssl.SSLContext;

/** A master with its servers. */
final class MasterProcess implements AutoCloseable {
    /** Seconds in which an HTTP request must have arrived and an answer must have been read; see the JDK's server. */
    private static final Map<String, String> HTTP_LIMITS =
        Map.of("sun.net.httpserver.maxReqTime", "10", "sun.net.httpserver.maxRspTime", "300");
    private static final String HTTP_CONNECTIONS = "jdk.httpserver.maxConnections";

    private final Plan plan;
    private final MasterServer rpcServer;
    private final AdminServer http;
    private final MetricsLog log;

    /**
     * What can be known before anything is started.
     *
     * @param config the configuration.
     * @param rpc    where calls are taken.
     * @param http   where HTTP is answered.
     * @param files  how many connections of either.
     * @param note   what is not as the configuration wants it, for people; empty when all is.
     */
    record Plan(MasterConfig config, RpcServerConfig rpc, AdminConfig http, FileShares files, String note) {
    }

    private MasterProcess(final Plan plan, final MasterServer rpcServer, final AdminServer http, final MetricsLog log) {
        this.plan = plan;
        this.rpcServer = rpcServer;
        this.http = http;
        this.log = log;
    }

    /**
     * Finds addresses and opens the files that protect them.
     *
     * @throws IllegalArgumentException naming the option that is wrong.
     */
    static Plan plan(final MasterConfig config) {
        final InetSocketAddress rpc = MasterAddresses.rpc(config);
        final InetSocketAddress http = MasterAddresses.http(config);
        final MasterConfig.Security files = config.security();
        final SharedSecret secret = open(MasterOption.SECRET_FILE, files.secretFile(), SecurityFiles::secret);
        final String token = open(MasterOption.ADMIN_TOKEN_FILE, files.adminTokenFile(), MasterProcess::token);
        final boolean mutual = !files.truststore().isEmpty();
        final SSLContext tls = open(MasterOption.TLS_KEYSTORE, files.keystore(), keystore -> SecurityFiles.tls(keystore,
            Path.of(files.passwordFile()), mutual ? Path.of(files.truststore()) : null));
        final RpcServerConfig known = RpcServerConfig.loopback(0);
        final FileShares shares = FileShares.of(config.rpc().maxConnections(), FileShares.limit());
        return new Plan(config, new RpcServerConfig(rpc, secret, tls, mutual, files.insecure(), shares.calls(),
            known.maxBodyBytes(), known.handshakeTimeoutMs(), known.drainTimeoutMs(), known.stallTimeoutMs()),
            new AdminConfig(http, token, tls, mutual, files.insecure(), config.clusterId()), shares,
            shares.calls() == config.rpc().maxConnections() ? "" : MasterOption.RPC_MAX_CONNECTIONS.key() + " is "
                + config.rpc().maxConnections() + ", and the process may have " + FileShares.limit()
                + " files open: it takes " + shares.calls() + " connections; raise ulimit -n for more");
    }

    private static String token(final Path file) {
        final String token = SecurityFiles.firstLine(file);
        if (token.length() < AdminConfig.MIN_TOKEN) {
            throw new IllegalArgumentException(file + ": the token has " + token.length() + " characters; it needs at "
                + "least " + AdminConfig.MIN_TOKEN + " random ones, for example from: openssl rand -hex 32");
        }
        return token;
    }

    private static <T> T open(final MasterOption option, final String path, final Function<Path, T> opener) {
        if (path.isEmpty()) {
            return null;
        }
        try {
            return opener.apply(Path.of(path));
        } catch (final IllegalArgumentException e) {
            throw new IllegalArgumentException(option.key() + ": " + e.getMessage(), e);
        }
    }

    /**
     * Starts everything.
     *
     * @throws IOException when an address is taken, naming it.
     */
    static MasterProcess start(final Plan plan) throws IOException {
        HTTP_LIMITS.forEach(MasterProcess::setUnlessSet);
        setUnlessSet(HTTP_CONNECTIONS, String.valueOf(plan.files().http()));
        final RequestMetrics requests = new RequestMetrics();
        final SnapshotPlan snapshots = snapshots(plan.config());
        final MasterServer server = listen(MasterOption.RPC_PORT,
            () -> MasterServer.start(plan.rpc(), plan.config().settings(), requests, snapshots));
        try {
            if (plan.config().rpc().connTimeoutMs() > 0) {
                server.endIdle(plan.config().rpc().connTimeoutMs());
            }
            final MasterMetrics metrics =
                new MasterMetrics(server.master(), requests, facts(plan.config()), server::connections,
                    server.snapshots());
            final AdminServer http = listen(MasterOption.METRICS_PORT,
                () -> AdminServer.start(plan.http(), server.master(), metrics, server.snapshots()));
            return new MasterProcess(plan, server, http,
                plan.config().http().reporting() ? MetricsLog.start(metrics) : null);
        } catch (final IOException | RuntimeException e) {
            server.close();
            throw e;
        }
    }

    private static SnapshotPlan snapshots(final MasterConfig config) throws IOException {
        final MasterConfig.Snapshots wanted = config.snapshots();
        if (!wanted.taken() && !wanted.restored()) {
            return SnapshotPlan.none(System.currentTimeMillis());
        }
        try {
            final SnapshotStore store = wanted.bucket() == null
                ? DirectoryStore.open(Path.of(wanted.directory()), config.clusterId())
                : bucket(wanted.bucket(), config.clusterId());
            return SnapshotPlan.of(new SnapshotArchive(store, config.clusterId(), wanted.retained()),
                new SnapshotPlan.Terms(wanted.taken(), wanted.restored(), wanted.intervalMs(), wanted.remountMs()),
                System.currentTimeMillis());
        } catch (final IOException e) {
            throw new IOException(wanted.bucket() == null
                ? MasterOption.SNAPSHOT_BACKUP_DIR.key() + " is " + wanted.directory() + ": " + e.getMessage()
                : MasterOption.SNAPSHOT_S3_BUCKET.key() + " is " + wanted.bucket().place().bucket() + ": "
                + e.getMessage(), e);
        }
    }

    /** It is not closed: the last snapshot is written when the master ends, and then the process does. */
    private static SnapshotStore bucket(final BucketConfig wanted, final String clusterId) throws IOException {
        final BucketConfig.Place place = wanted.place();
        final String prefix = place.prefix().isEmpty() || place.prefix().endsWith("/") ? place.prefix()
            : place.prefix() + '/';
        final Environment environment = Environment.system();
        return S3Store.open(new S3Settings(place.uri(), place.region(), place.bucket(),
            prefix + DirectoryStore.folderName(clusterId) + '/', place.isPathStyle(), wanted.timeoutMs(),
            wanted.attempts()), wanted.credentialsFile().isEmpty() ? S3Credentials.of(environment)
            : S3Credentials.ofFile(Path.of(wanted.credentialsFile()), environment));
    }

    private static void setUnlessSet(final String property, final String value) {
        if (System.getProperty(property) == null) {
            System.setProperty(property, value);
        }
    }

    /** Something that binds an address. */
    private interface Listening<T> {
        T start() throws IOException;
    }

    private static <T> T listen(final MasterOption port, final Listening<T> server) throws IOException {
        try {
            return server.start();
        } catch (final IOException e) {
            throw new IOException(port.key() + ": " + e.getMessage(), e);
        }
    }

    private static MasterMetrics.Facts facts(final MasterConfig config) {
        final String version = Main.class.getPackage().getImplementationVersion();
        return new MasterMetrics.Facts(config.clusterId(), version == null ? "unknown" : version,
            ProcessHandle.current().info().startInstant().map(Instant::toEpochMilli)
                .orElseGet(System::currentTimeMillis));
    }

    /** Where it answers, for people and scripts. */
    @Override
    public String toString() {
        // An address of all interfaces comes back from a socket in another spelling.
        return "calls " + MasterAddresses.text(plan.rpc().address(), rpcServer.address().getPort()) + ", http"
            + (plan.http().tls() == null ? "" : "s") + "://"
            + MasterAddresses.text(plan.http().address(), http.address().getPort()) + ", cluster "
            + plan.config().clusterId();
    }

    /** Ends everything; waits for calls and answers under way, but not long. */
    @Override
    public void close() {
        if (log != null) {
            log.close();
        }
        http.close();
        rpcServer.close();
    }
}
