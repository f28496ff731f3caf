package io.kvtier.store.snapshot.s3;

import io.kvtier.store.snapshot.files.StoreUnavailableException;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.net.ConnectException;
import java.net.ProtocolException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpTimeoutException;
import java.nio.channels.UnresolvedAddressException;
import java.security.cert.CertPathBuilderException;
import java.security.cert.CertificateException;
import java.time.Duration;
import java.time.InstantSource;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Requests to one bucket, each signed, limited in time, and tried again when it may go well another time.
 *
 * <p><b>Threading:</b> thread-safe. <b>Blocking:</b> for all tries of a request and the pauses between them. An
 * interrupt ends it with {@link InterruptedIOException}.
 */
final class S3Client implements AutoCloseable {
    private static final String HOST = "host";
    private static final byte[] NOTHING = {};
    private static final long CONNECT_MS = 10_000;
    private static final long FIRST_PAUSE_MS = 200;
    private static final long LONGEST_PAUSE_MS = 10_000;

    private final S3Settings settings;
    private final S3Credentials.Source credentials;
    private final InstantSource clock;
    private final Pause pause;
    private final HttpClient http;

    /** Waits between two tries. */
    @FunctionalInterface
    interface Pause {
        /** Sleeps, unless it is a test's. */
        Pause SLEEP = Thread::sleep;

        void await(long ms) throws InterruptedException;
    }

    /**
     * Nothing is asked yet.
     *
     * @param settings    which bucket.
     * @param credentials who asks.
     * @param clock       for the date of requests.
     * @param pause       between two tries.
     * @param base        a client's settings that are not of this class, such as a proxy.
     */
    S3Client(final S3Settings settings, final S3Credentials.Source credentials, final InstantSource clock,
        final Pause pause, final HttpClient.Builder base) {
        this.settings = settings;
        this.credentials = credentials;
        this.clock = clock;
        this.pause = pause;
        this.http = base.version(HttpClient.Version.HTTP_1_1)
            .followRedirects(HttpClient.Redirect.NEVER)
            .connectTimeout(Duration.ofMillis(Math.min(settings.timeoutMs(), CONNECT_MS))).build();
    }

    S3Settings settings() {
        return settings;
    }

    /**
     * Asks until there is an answer that stays.
     *
     * @param request what is asked.
     * @param isXml   whether a good answer is XML; then one that says 'Error' is none.
     * @return a good answer.
     * @throws S3Failure                 when the store refuses.
     * @throws StoreUnavailableException when it does not answer.
     * @throws IOException               when there are no credentials, or at an interrupt.
     */
    S3Answer ask(final S3Request request, final boolean isXml) throws IOException {
        for (int attempt = 1;; attempt++) {
            // Those that are missing are not there a moment later either.
            final S3Credentials who = credentials.get();
            final IOException why;
            try {
                return checked(request, isXml, once(request, who));
            } catch (final InterruptedIOException e) {
                throw e;
            } catch (final S3Failure e) {
                if (!e.isTemporary()) {
                    throw e;
                }
                why = e;
            } catch (final IOException e) {
                final String lasting = lasting(e);
                if (lasting != null) {
                    throw new StoreUnavailableException(request.what(settings) + ", failed: " + lasting, e);
                }
                why = e;
            }
            if (attempt >= settings.attempts()) {
                throw new StoreUnavailableException(request.what(settings) + ", was tried " + attempt
                    + " times (snapshot_s3_attempts), the last time: " + words(why), why);
            }
            sleep(pauseMs(attempt));
        }
    }

    /** Why the same would fail another time too, and what to do; null when it may go well. */
    private static String lasting(final IOException why) {
        if (find(why, CertificateException.class) != null || find(why, CertPathBuilderException.class) != null) {
            return "its certificate is not trusted here, or not for this name: " + why.getMessage() + "; let "
                + "snapshot_s3_endpoint name the host that it is for, or put who signed it into a trust store "
                + "(-Djavax.net.ssl.trustStore)";
        }
        final ProtocolException broken = find(why, ProtocolException.class);
        return broken == null ? null : broken.getMessage() + "; look whether snapshot_s3_endpoint is a store that "
            + "speaks S3";
    }

    private String words(final IOException why) {
        if (why instanceof S3Failure failure) {
            return failure.answer();
        }
        if (find(why, UnresolvedAddressException.class) != null) {
            return "the name " + settings.host() + " leads nowhere; look at snapshot_s3_endpoint and "
                + "snapshot_s3_addressing";
        }
        return (why instanceof ConnectException ? "nobody takes connections at " + settings.host() : why.toString())
            + "; look whether the store runs and this host reaches it";
    }

    private static <T extends Throwable> T find(final Throwable from, final Class<T> kind) {
        for (Throwable at = from; at != null; at = at.getCause()) {
            if (kind.isInstance(at)) {
                return kind.cast(at);
            }
        }
        return null;
    }

    private S3Answer checked(final S3Request request, final boolean isXml, final S3Answer answer) throws IOException {
        // A request that takes long may have been answered as good before the store knew that it is not.
        if (!answer.isGood() || isXml && answer.xml("").root().equals("Error")) {
            throw S3Failure.of(settings, request, answer);
        }
        return answer;
    }

    /** Longer each time, and by chance, so that many who were refused at once do not come back at once. */
    private static long pauseMs(final int attempt) {
        final long longest = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS << Math.min(attempt - 1, Byte.SIZE));
        return ThreadLocalRandom.current().nextLong(longest / 2, longest + 1);
    }

    private void sleep(final long ms) throws IOException {
        try {
            pause.await(ms);
        } catch (final InterruptedException e) {
            throw interrupted();
        }
    }

    private static InterruptedIOException interrupted() {
        Thread.currentThread().interrupt();
        return new InterruptedIOException("interrupted while a store of snapshots was asked");
    }

    private S3Answer once(final S3Request request, final S3Credentials who) throws IOException {
        final CompletableFuture<HttpResponse<byte[]>> answer =
            http.sendAsync(signed(request, who), info -> new LimitedBody(request.most()));
        try {
            final HttpResponse<byte[]> got = answer.get(settings.timeoutMs(), TimeUnit.MILLISECONDS);
            return new S3Answer(got.statusCode(), got.headers(), got.body());
        } catch (final TimeoutException e) {
            throw new HttpTimeoutException("no whole answer within " + settings.timeoutMs()
                + " ms (snapshot_s3_timeout_seconds)");
        } catch (final ExecutionException e) {
            throw e.getCause() instanceof IOException known ? known : new IOException(e.getCause());
        } catch (final InterruptedException e) {
            throw interrupted();
        } finally {
            answer.cancel(true);
        }
    }

    private HttpRequest signed(final S3Request request, final S3Credentials who) {
        final String path = settings.path(request.key());
        final SortedMap<String, String> headers = new TreeMap<>(request.headers());
        headers.put(HOST, settings.host());
        final byte[] body = request.body() == null ? NOTHING : request.body();
        headers.putAll(AwsSignature.headers(new AwsSignature.Request(request.method(), path, request.query(), headers),
            AwsSignature.sha256(body, request.length()), settings.region(), who, clock.instant()));
        // The client writes it by itself, as it is here.
        headers.remove(HOST);
        final String query = AwsSignature.query(request.query());
        final HttpRequest.Builder http = HttpRequest.newBuilder(URI.create(settings.endpoint().getScheme() + "://"
            + settings.host() + path + (query.isEmpty() ? "" : '?' + query)));
        headers.forEach(http::setHeader);
        return http.method(request.method(), request.body() == null ? HttpRequest.BodyPublishers.noBody()
            : HttpRequest.BodyPublishers.ofByteArray(body, 0, request.length())).build();
    }

    /** Ends requests that run. */
    @Override
    public void close() {
        http.shutdownNow();
        http.close();
    }
}
