package io.kvtier.store.snapshot.s3;

import io.kvtier.store.snapshot.files.SnapshotStore;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * An object that is written: in one request while it fits into a part, else in parts, which are an object when all are
 * there. Either way it takes the place of another one of its key at once, or not at all.
 *
 * <p><b>Threading:</b> one thread. <b>Lifetime:</b> the memory of one part, until closed.
 */
final class S3Upload implements SnapshotStore.Writing {
    /** Parts that an object may have, by the rules of S3. */
    private static final int MOST_PARTS = 10_000;
    private static final int NOT_FOUND = 404;
    /** Most objects are small: what is written grows into a part. */
    private static final int FIRST_BYTES = 1 << 16;
    private static final System.Logger LOG = System.getLogger(S3Upload.class.getName());

    private final S3Client client;
    private final String key;
    private final int partBytes;
    private byte[] part;
    private final List<String> tags = new ArrayList<>();
    private int filled;
    private long sent;
    private String id = "";
    private boolean committed;

    S3Upload(final S3Client client, final String key, final int partBytes) {
        this.client = client;
        this.key = key;
        this.partBytes = partBytes;
        this.part = new byte[Math.min(partBytes, FIRST_BYTES)];
    }

    @Override
    public void write(final byte[] bytes, final int length) throws IOException {
        int at = 0;
        while (at < length) {
            // The last part is sent by the commit: until then nobody knows that it is not the first one.
            if (filled == partBytes) {
                sendPart();
            }
            final int count = Math.min(length - at, partBytes - filled);
            if (filled + count > part.length) {
                part = Arrays.copyOf(part, Math.min(partBytes, Math.max(filled + count, 2 * part.length)));
            }
            System.arraycopy(bytes, at, part, filled, count);
            filled += count;
            at += count;
        }
    }

    private void sendPart() throws IOException {
        if (tags.size() == MOST_PARTS) {
            throw new IOException("object " + key + " has more than " + MOST_PARTS + " parts of " + partBytes
                + " bytes, and S3 takes no more; keep such snapshots in a folder (snapshot_object_store_type=local)");
        }
        if (id.isEmpty()) {
            id = client.ask(S3Request.of("POST", key).query("uploads", "").with(part, 0), true).xml("")
                .text("UploadId");
            if (id.isEmpty()) {
                throw new IOException("the store began an upload of " + key + " in parts and gave it no id");
            }
        }
        final S3Request request = S3Request.of("PUT", key).query("partNumber", String.valueOf(tags.size() + 1))
            .query("uploadId", id).with(part, filled);
        tags.add(client.ask(request, false).header("etag"));
        sent += filled;
        filled = 0;
    }

    @Override
    public void commit() throws IOException {
        if (id.isEmpty()) {
            client.ask(S3Request.of("PUT", key).with(part, filled), false);
        } else {
            sendPart();
            complete();
        }
        committed = true;
    }

    private void complete() throws IOException {
        final StringBuilder xml = new StringBuilder("<CompleteMultipartUpload>");
        for (int i = 0; i < tags.size(); i++) {
            xml.append("<Part><PartNumber>").append(i + 1).append("</PartNumber><ETag>").append(escaped(tags.get(i)))
                .append("</ETag></Part>");
        }
        final byte[] body = xml.append("</CompleteMultipartUpload>").toString().getBytes(StandardCharsets.UTF_8);
        try {
            client.ask(S3Request.of("POST", key).query("uploadId", id).with(body, body.length), true);
        } catch (final S3Failure e) {
            // One that was carried out and not answered is not known when it is asked for again.
            if (e.status() != NOT_FOUND || !isThere()) {
                throw e;
            }
        }
    }

    /** Whether the object is as large as what was sent: names of what is sent in parts are used once. */
    private boolean isThere() throws IOException {
        try {
            return client.ask(S3Request.of("HEAD", key), false).header("content-length").equals(String.valueOf(sent));
        } catch (final S3Failure e) {
            return false;
        }
    }

    private static String escaped(final String text) {
        return text.replace("&", "&amp;").replace("<", "&lt;").replace("\"", "&quot;");
    }

    @Override
    public void close() {
        if (committed || id.isEmpty()) {
            return;
        }
        try {
            client.ask(S3Request.of("DELETE", key).query("uploadId", id), false);
        } catch (final IOException e) {
            LOG.log(System.Logger.Level.WARNING, "the parts of {0} that were sent to {1} could not be given up, and "
                + "take room until a master is started anew there: {2}", key, client.settings(), e.getMessage());
        }
        id = "";
    }
}
