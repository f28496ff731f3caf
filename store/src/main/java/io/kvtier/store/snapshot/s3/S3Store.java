package io.kvtier.store.snapshot.s3;

import io.kvtier.store.snapshot.files.SnapshotStore;
import io.kvtier.store.snapshot.files.StoreUnavailableException;
import java.io.IOException;
import java.io.InputStream;
import java.net.URLDecoder;
import java.net.http.HttpClient;
import java.nio.charset.StandardCharsets;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * Snapshots in a bucket of a store that speaks S3: objects whose keys begin with a prefix.
 *
 * <p>An object is there whole or not at all, and once it is there whoever asks later sees it: what S3 and the stores
 * that speak it promise of a PUT. What a master sent in parts and did not come to complete is given up when the next
 * one begins.
 *
 * <p><b>Threading:</b> thread-safe. <b>Blocking:</b> on the store; each request at most for its tries.
 */
public final class S3Store implements SnapshotStore, AutoCloseable {
    /** An object of more bytes is sent in parts of so many, of which each but the last must have 5 MiB. */
    private static final int PART_BYTES = 16 << 20;
    /** Snapshots that are kept are 1,000 at most: a prefix with many more objects is another's. */
    private static final int MOST_NAMES = 100_000;
    private static final System.Logger LOG = System.getLogger(S3Store.class.getName());

    private final S3Client client;
    private final int partBytes;

    private S3Store(final S3Client client, final int partBytes) {
        this.client = client;
        this.partBytes = partBytes;
    }

    /**
     * Opens a store, and gives up what a master before has left half-way.
     *
     * @param settings    where it is; the prefix is nobody else's.
     * @param credentials who asks.
     * @return the store.
     * @throws IOException when it does not answer, or refuses, in words for who starts the master.
     */
    public static S3Store open(final S3Settings settings, final S3Credentials.Source credentials) throws IOException {
        return open(new S3Client(settings, credentials, InstantSource.system(), S3Client.Pause.SLEEP,
            HttpClient.newBuilder()), PART_BYTES);
    }

    /** Over a given client, which is closed with it, and when this fails. */
    static S3Store open(final S3Client client, final int partBytes) throws IOException {
        final S3Store store = new S3Store(client, partBytes);
        boolean done = false;
        try {
            store.names();
            store.giveUpUploads();
            done = true;
            return store;
        } finally {
            if (!done) {
                client.close();
            }
        }
    }

    private String prefix() {
        return client.settings().prefix();
    }

    @Override
    public List<String> names() throws IOException {
        final List<String> names = new ArrayList<>();
        final SortedMap<String, String> query = new TreeMap<>(Map.of("list-type", "2", "delimiter", "/"));
        while (true) {
            final S3Answer.Document page = list(query, "Contents");
            for (final Map<String, String> object : page.items()) {
                add(names, page, object);
            }
            if (names.size() > MOST_NAMES) {
                throw new StoreUnavailableException("there are more than " + MOST_NAMES + " objects in " + this
                    + ", which must be the snapshots' alone; let snapshot_s3_prefix name another place", null);
            }
            if (!page.text("IsTruncated").equals("true")) {
                return names;
            }
            final String token = page.text("NextContinuationToken");
            if (token.isEmpty() || token.equals(query.put("continuation-token", token))) {
                throw new StoreUnavailableException("the list of " + this + " goes on and does not say where", null);
            }
        }
    }

    private void add(final List<String> names, final S3Answer.Document page, final Map<String, String> object)
        throws IOException {
        final String key = key(page, object);
        if (!key.startsWith(prefix())) {
            throw new StoreUnavailableException("the list of " + this + " has the key " + key + ", which is not there",
                null);
        }
        // A key that is the prefix itself is what some programs show as a folder.
        if (key.length() > prefix().length()) {
            names.add(key.substring(prefix().length()));
        }
    }

    private static String key(final S3Answer.Document page, final Map<String, String> object) {
        final String key = object.getOrDefault("Key", "");
        return page.text("EncodingType").equals("url") ? URLDecoder.decode(key, StandardCharsets.UTF_8) : key;
    }

    /** A part of a list; keys may have what XML cannot have, and so are encoded. */
    private S3Answer.Document list(final Map<String, String> query, final String item) throws IOException {
        final S3Request request = S3Request.of("GET", "").query("prefix", prefix()).query("encoding-type", "url");
        query.forEach(request::query);
        return client.ask(request, true).xml(item);
    }

    /** Of one page: more are given up by the next master. */
    private void giveUpUploads() {
        try {
            final S3Answer.Document page = list(Map.of("uploads", ""), "Upload");
            for (final Map<String, String> upload : page.items()) {
                final String key = key(page, upload);
                // Not every store knows that only those are wanted; without an id the object itself would go.
                if (key.startsWith(prefix()) && !upload.getOrDefault("UploadId", "").isEmpty()) {
                    client.ask(S3Request.of("DELETE", key).query("uploadId", upload.get("UploadId")), false);
                }
            }
        } catch (final IOException e) {
            LOG.log(System.Logger.Level.WARNING, "what masters before may have sent in parts to {0} and not completed "
                + "could not be given up, and takes room: {1}", this, e.getMessage());
        }
    }

    @Override
    public Writing create(final String name) {
        return new S3Upload(client, prefix() + name, partBytes);
    }

    @Override
    public InputStream read(final String name) throws IOException {
        return new S3Download(client, name, prefix() + name, partBytes);
    }

    @Override
    public void delete(final String name) throws IOException {
        try {
            client.ask(S3Request.of("DELETE", prefix() + name), false);
        } catch (final S3Failure e) {
            if (!e.code().equals("NoSuchKey")) {
                throw e;
            }
        }
    }

    /** Ends requests that run. */
    @Override
    public void close() {
        client.close();
    }

    @Override
    public String toString() {
        return client.settings().toString();
    }
}
