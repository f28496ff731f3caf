package io.kvtier.kit;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import com.sun.net.httpserver.HttpsConfigurator;
import com.sun.net.httpserver.HttpsServer;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URLDecoder;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.net.ssl.SSLContext;

/**
 * One bucket of a store that speaks S3, as far as snapshots need it, over HTTP on this host: it looks at signatures,
 * lists in pages, takes objects in parts, and does what it is told instead.
 *
 * <p>Thread-safe.
 */
public final class BucketServer implements AutoCloseable {
    public static final String BUCKET = "kv-bucket";
    public static final String REGION = "eu-test-1";
    public static final String KEY_ID = "AKIDTEST";
    public static final String SECRET = "secret/of+the/test";
    /** What S3 refuses to take as a part that is not the last. */
    private static final int LEAST_PART = 5 << 20;
    private static final Pattern RANGE = Pattern.compile("bytes=(\\d+)-(\\d+)");

    private final HttpServer server;
    private final ExecutorService threads = Executors.newCachedThreadPool();
    private final ConcurrentSkipListMap<String, byte[]> objects = new ConcurrentSkipListMap<>();
    private final Map<String, Upload> uploads = new ConcurrentSkipListMap<>();
    private final AtomicLong ids = new AtomicLong();
    private final List<String> log = new CopyOnWriteArrayList<>();
    private final Deque<Fault> faults = new ArrayDeque<>();
    private volatile int pageKeys = 1000;
    private volatile int leastPart = LEAST_PART;
    private volatile boolean ranges = true;

    private record Upload(String key, TreeMap<Integer, byte[]> parts) {
    }

    /** What a request is answered by. */
    public record Answer(int status, Map<String, String> headers, byte[] body) {
        public static Answer error(final int status, final String code, final String more) {
            return new Answer(status, Map.of(), ("<?xml version=\"1.0\"?><Error><Code>" + code + "</Code><Message>told"
                + "</Message>" + more + "</Error>").getBytes(StandardCharsets.UTF_8));
        }
    }

    /** Something else that becomes of the next request of which a line of the log is true. */
    private record Fault(Predicate<String> of, Instead instead) {
    }

    /** What becomes of a request; null drops the connection. */
    @FunctionalInterface
    public interface Instead {
        Answer answer(Real real) throws IOException;
    }

    /** Carries the request out. */
    @FunctionalInterface
    public interface Real {
        Answer answer() throws IOException;
    }

    /** Takes calls as they are. */
    public BucketServer() {
        this(null);
    }

    /** Takes calls over TLS, as the context says, or as they are for null. */
    public BucketServer(final SSLContext tls) {
        final InetSocketAddress any = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
        try {
            if (tls == null) {
                server = HttpServer.create(any, 0);
            } else {
                final HttpsServer secure = HttpsServer.create(any, 0);
                secure.setHttpsConfigurator(new HttpsConfigurator(tls));
                server = secure;
            }
        } catch (final IOException e) {
            throw new UncheckedIOException(e);
        }
        server.setExecutor(threads);
        server.createContext("/", this::handle);
        server.start();
    }

    public InetSocketAddress address() {
        return server.getAddress();
    }

    public String endpoint() {
        return (server instanceof HttpsServer ? "https" : "http") + "://127.0.0.1:" + address().getPort();
    }

    /** What is there, by key. */
    public Map<String, byte[]> objects() {
        return objects;
    }

    /** Uploads that were neither completed nor given up. */
    public int uploads() {
        return uploads.size();
    }

    /** Each request, as {@code METHOD key?query}, in order. */
    public List<String> log() {
        return log;
    }

    /** Lists so many keys at once. */
    public BucketServer pagesOf(final int keys) {
        pageKeys = keys;
        return this;
    }

    /** Takes parts of any size. */
    public BucketServer smallParts() {
        leastPart = 1;
        return this;
    }

    /** Gives the whole object whatever range is asked for. */
    public BucketServer withoutRanges() {
        ranges = false;
        return this;
    }

    /** The next requests whose line matches become something else, each once. */
    public void instead(final Predicate<String> of, final int times, final Instead instead) {
        synchronized (faults) {
            for (int i = 0; i < times; i++) {
                faults.add(new Fault(of, instead));
            }
        }
    }

    /** Those of them that no request has met yet. */
    public int faults() {
        synchronized (faults) {
            return faults.size();
        }
    }

    private void handle(final HttpExchange exchange) throws IOException {
        try (exchange) {
            final byte[] body = exchange.getRequestBody().readAllBytes();
            final Answer answer = answer(exchange, body);
            if (answer == null) {
                return;
            }
            answer.headers().forEach(exchange.getResponseHeaders()::set);
            final boolean bodiless = exchange.getRequestMethod().equals("HEAD") || answer.body().length == 0;
            exchange.sendResponseHeaders(answer.status(), bodiless ? -1 : answer.body().length);
            if (!bodiless) {
                exchange.getResponseBody().write(answer.body());
            }
        }
    }

    private Answer answer(final HttpExchange exchange, final byte[] body) throws IOException {
        final String host = String.valueOf(exchange.getRequestHeaders().getFirst("Host"));
        String path = exchange.getRequestURI().getRawPath();
        final String fault = SignedRequests.fault(new SignedRequests.Received(exchange.getRequestMethod(), path,
            exchange.getRequestURI().getRawQuery(), exchange.getRequestHeaders()::getFirst, body), KEY_ID, SECRET,
            REGION, Instant.now());
        if (fault != null) {
            return Answer.error(fault.equals("AuthorizationHeaderMalformed") ? 400 : 403, fault, "<Region>" + REGION
                + "</Region>");
        }
        if (!host.startsWith(BUCKET + '.')) {
            if (!(path + '/').startsWith('/' + BUCKET + '/')) {
                return Answer.error(404, "NoSuchBucket", "");
            }
            path = path.substring(Math.min(path.length(), BUCKET.length() + 1));
        }
        final String key = decoded(path.isEmpty() ? "" : path.substring(1));
        final Map<String, String> query = query(exchange.getRequestURI().getRawQuery());
        final String line = exchange.getRequestMethod() + ' ' + key + (query.isEmpty() ? "" : "?" + query);
        log.add(line);
        final Real real = () -> carryOut(exchange, key, query, body);
        return take(line).answer(real);
    }

    private Instead take(final String line) {
        synchronized (faults) {
            final Fault first = faults.stream().filter(fault -> fault.of().test(line)).findFirst().orElse(null);
            faults.remove(first);
            return first == null ? Real::answer : first.instead();
        }
    }

    private static String decoded(final String text) {
        return URLDecoder.decode(text.replace("+", "%2B"), StandardCharsets.UTF_8);
    }

    private static Map<String, String> query(final String raw) {
        final Map<String, String> query = new TreeMap<>();
        if (raw != null) {
            Arrays.stream(raw.split("&")).forEach(one -> query.put(decoded(one.replaceAll("=.*", "")),
                one.contains("=") ? decoded(one.substring(one.indexOf('=') + 1)) : ""));
        }
        return query;
    }

    private Answer carryOut(final HttpExchange exchange, final String key, final Map<String, String> query,
        final byte[] body) {
        final String method = exchange.getRequestMethod();
        if (key.isEmpty()) {
            return query.containsKey("uploads") ? listUploads(query) : list(query);
        }
        final String of = query.containsKey("uploadId") ? " part" : query.containsKey("uploads") ? " new" : "";
        return switch (method + of) {
            case "PUT" -> put(key, body);
            case "GET", "HEAD" -> get(exchange, key);
            case "DELETE" -> {
                objects.remove(key);
                yield new Answer(204, Map.of(), new byte[0]);
            }
            case "POST new" -> begin(key);
            case "PUT part" -> part(query, body);
            case "POST part" -> complete(key, query, new String(body, StandardCharsets.UTF_8));
            case "DELETE part" -> uploads.remove(query.get("uploadId")) == null
                ? Answer.error(404, "NoSuchUpload", "") : new Answer(204, Map.of(), new byte[0]);
            default -> Answer.error(405, "MethodNotAllowed", "");
        };
    }

    private Answer put(final String key, final byte[] body) {
        objects.put(key, body);
        return new Answer(200, Map.of("ETag", tag(body)), new byte[0]);
    }

    private static String tag(final byte[] bytes) {
        return '"' + HexFormat.of().toHexDigits(Arrays.hashCode(bytes)) + '"';
    }

    private Answer get(final HttpExchange exchange, final String key) {
        final byte[] all = objects.get(key);
        if (all == null) {
            return Answer.error(404, "NoSuchKey", "");
        }
        final String wanted = exchange.getRequestHeaders().getFirst("If-Match");
        if (wanted != null && !wanted.equals(tag(all))) {
            return Answer.error(412, "PreconditionFailed", "");
        }
        final String range = exchange.getRequestHeaders().getFirst("Range");
        if (range == null || !ranges) {
            return new Answer(200, exchange.getRequestMethod().equals("HEAD") ? Map.of("ETag", tag(all),
                "Content-Length", String.valueOf(all.length)) : Map.of("ETag", tag(all)), all);
        }
        final Matcher ends = RANGE.matcher(range);
        if (!ends.matches() || Long.parseLong(ends.group(1)) >= all.length) {
            return Answer.error(416, "InvalidRange", "");
        }
        final int from = Integer.parseInt(ends.group(1));
        final int to = (int) Math.min(all.length, Long.parseLong(ends.group(2)) + 1);
        return new Answer(206, Map.of("ETag", tag(all), "Content-Range", "bytes " + from + '-' + (to - 1) + '/'
            + all.length), Arrays.copyOfRange(all, from, to));
    }

    private Answer begin(final String key) {
        final String id = "upload+" + ids.incrementAndGet() + "/=";
        uploads.put(id, new Upload(key, new TreeMap<>()));
        return xml("<InitiateMultipartUploadResult><UploadId>" + id + "</UploadId></InitiateMultipartUploadResult>");
    }

    private static Answer xml(final String text) {
        return new Answer(200, Map.of("Content-Type", "application/xml"),
            ("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n" + text).getBytes(StandardCharsets.UTF_8));
    }

    private Answer part(final Map<String, String> query, final byte[] body) {
        final Upload upload = uploads.get(query.get("uploadId"));
        if (upload == null) {
            return Answer.error(404, "NoSuchUpload", "");
        }
        synchronized (upload) {
            upload.parts().put(Integer.parseInt(query.get("partNumber")), body);
        }
        return new Answer(200, Map.of("ETag", tag(body)), new byte[0]);
    }

    private Answer complete(final String key, final Map<String, String> query, final String body) {
        final Upload upload = uploads.get(query.get("uploadId"));
        if (upload == null || !upload.key().equals(key)) {
            return Answer.error(404, "NoSuchUpload", "");
        }
        final ByteArrayOutputStream all = new ByteArrayOutputStream();
        final StringBuilder wanted = new StringBuilder("<CompleteMultipartUpload>");
        final List<Map.Entry<Integer, byte[]>> parts = new ArrayList<>(upload.parts().entrySet());
        for (final Map.Entry<Integer, byte[]> part : parts) {
            if (part != parts.getLast() && part.getValue().length < leastPart) {
                return Answer.error(400, "EntityTooSmall", "");
            }
            wanted.append("<Part><PartNumber>").append(part.getKey()).append("</PartNumber><ETag>")
                .append(tag(part.getValue()).replace("\"", "&quot;")).append("</ETag></Part>");
            all.writeBytes(part.getValue());
        }
        if (!body.equals(wanted + "</CompleteMultipartUpload>")) {
            return Answer.error(400, "InvalidPart", "");
        }
        uploads.remove(query.get("uploadId"));
        objects.put(key, all.toByteArray());
        return xml("<CompleteMultipartUploadResult><ETag>x</ETag></CompleteMultipartUploadResult>");
    }

    private static String encoded(final String key) {
        return URLEncoder.encode(key, StandardCharsets.UTF_8);
    }

    private Answer list(final Map<String, String> query) {
        final String prefix = query.getOrDefault("prefix", "");
        final String after = query.getOrDefault("continuation-token", "");
        final StringBuilder text = new StringBuilder(
            "<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><EncodingType>url</EncodingType>");
        int count = 0;
        String last = "";
        boolean more = false;
        for (final Map.Entry<String, byte[]> one : objects.tailMap(prefix).entrySet()) {
            final String key = one.getKey();
            // All keys of a deeper folder are one entry, of another name.
            if (!key.startsWith(prefix) || key.compareTo(after) <= 0 || key.indexOf('/', prefix.length()) >= 0) {
                continue;
            }
            more = count == pageKeys;
            if (more) {
                break;
            }
            count++;
            last = key;
            text.append("<Contents><Key>").append(encoded(key)).append("</Key><Size>").append(one.getValue().length)
                .append("</Size></Contents>");
        }
        text.append("<IsTruncated>").append(more).append("</IsTruncated>");
        if (more) {
            text.append("<NextContinuationToken>").append(last).append("</NextContinuationToken>");
        }
        return xml(text.append("</ListBucketResult>").toString());
    }

    private Answer listUploads(final Map<String, String> query) {
        final StringBuilder text = new StringBuilder("<ListMultipartUploadsResult><EncodingType>url</EncodingType>");
        uploads.forEach((id, upload) -> {
            if (upload.key().startsWith(query.getOrDefault("prefix", ""))) {
                text.append("<Upload><Key>").append(encoded(upload.key())).append("</Key><UploadId>").append(id)
                    .append("</UploadId></Upload>");
            }
        });
        return xml(text.append("</ListMultipartUploadsResult>").toString());
    }

    @Override
    public void close() {
        server.stop(0);
        threads.shutdownNow();
    }
}
