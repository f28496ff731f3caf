package io.kvtier.store.snapshot.s3;

import io.kvtier.store.snapshot.files.StoreUnavailableException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.NoSuchFileException;

/**
 * An object that is read range by range, so that each has a time limit and is asked for again by itself.
 *
 * <p><b>Threading:</b> one thread. <b>Lifetime:</b> the memory of a range; nothing is open between two.
 */
final class S3Download extends InputStream {
    private static final int WHOLE = 200;
    private static final int NOT_FOUND = 404;
    private static final int CHANGED = 412;
    private static final int BEYOND_THE_END = 416;
    private static final byte[] NOTHING = {};

    private final S3Client client;
    private final String name;
    private final String key;
    private final int rangeBytes;
    private byte[] range = NOTHING;
    private int taken;
    private long next;
    private String tag = "";
    private boolean last;

    /**
     * Begins with the first range.
     *
     * @param name what it is called in messages.
     * @throws NoSuchFileException when there is no such object.
     */
    S3Download(final S3Client client, final String name, final String key, final int rangeBytes) throws IOException {
        this.client = client;
        this.name = name;
        this.key = key;
        this.rangeBytes = rangeBytes;
        fetch();
    }

    private void fetch() throws IOException {
        final S3Request request = S3Request.of("GET", key)
            .header("range", "bytes=" + next + '-' + (next + rangeBytes - 1)).upTo(rangeBytes);
        if (!tag.isEmpty()) {
            request.header("if-match", tag);
        }
        final S3Answer answer;
        try {
            answer = client.ask(request, false);
        } catch (final S3Failure e) {
            if (next == 0 && e.status() == BEYOND_THE_END) {
                // An empty one has no first byte.
                last = true;
                return;
            }
            throw next == 0 && e.status() == NOT_FOUND && !e.code().equals("NoSuchBucket")
                ? noSuchFile(e) : e.status() == CHANGED || e.status() == NOT_FOUND
                ? new IOException(name + " was replaced or deleted while it was read, at byte " + next, e) : e;
        }
        range = answer.body();
        taken = 0;
        tag = answer.header("etag");
        last = answer.status() == WHOLE || next + range.length >= size(answer);
        if (answer.status() == WHOLE && next > 0 || !last && range.length == 0) {
            throw new StoreUnavailableException(client.settings() + " gave another part of " + name + " than it was "
                + "asked for; it must answer requests for ranges", null);
        }
        next += range.length;
    }

    private IOException noSuchFile(final S3Failure why) {
        final NoSuchFileException none = new NoSuchFileException(name, null, why.getMessage());
        none.initCause(why);
        return none;
    }

    /** Bytes of the whole object. */
    private long size(final S3Answer answer) throws IOException {
        final String where = answer.header("content-range");
        if (!where.matches("bytes " + next + "-\\d{1,18}/\\d{1,18}")) {
            throw new StoreUnavailableException(client.settings() + " says that it gave '" + where + "' of " + name
                + ", which was asked for from byte " + next + " on", null);
        }
        return Long.parseLong(where.substring(where.indexOf('/') + 1));
    }

    /** False at the end. */
    private boolean hasMore() throws IOException {
        while (taken == range.length && !last) {
            fetch();
        }
        return taken < range.length;
    }

    @Override
    public int read() throws IOException {
        return hasMore() ? range[taken++] & 0xff : -1;
    }

    @Override
    public int read(final byte[] target, final int offset, final int length) throws IOException {
        if (length == 0) {
            return 0;
        }
        if (!hasMore()) {
            return -1;
        }
        final int count = Math.min(length, range.length - taken);
        System.arraycopy(range, taken, target, offset, count);
        taken += count;
        return count;
    }

    @Override
    public void close() {
        range = NOTHING;
        taken = 0;
        last = true;
    }
}
