package io.kvtier.store.admin;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.sun.net.httpserver.HttpExchange;
import java.io.IOException;
import java.io.OutputStream;

/**
 * The answer to a request. What fits a buffer is sent whole with its length; what is longer is sent in chunks while it
 * is made. Until the first chunk a failure can still become an error status; after it the connection is cut, so that
 * nobody takes half a listing for a whole one.
 *
 * <p><b>Threading:</b> for one thread. <b>Blocking:</b> while the client does not read.
 */
final class AdminReply {
    static final String JSON_TYPE = "application/json";

    private static final JsonFactory JSON =
        JsonFactory.builder().build().disable(JsonGenerator.Feature.AUTO_CLOSE_TARGET);
    private static final int BUFFER = 64 << 10;
    private static final int OK = 200;

    private final HttpExchange exchange;
    private final Buffered out = new Buffered();
    private String type = JSON_TYPE;
    private int status = OK;

    AdminReply(final HttpExchange exchange) {
        this.exchange = exchange;
    }

    /** A JSON document, or a part of one. */
    interface Body {
        void write(JsonGenerator json) throws IOException;
    }

    /** Holds back the headers until it is known whether they can say the length. */
    private final class Buffered extends OutputStream {
        private final byte[] bytes = new byte[BUFFER];
        private int length;
        private OutputStream chunks;
        private boolean finished;

        @Override
        public void write(final int b) throws IOException {
            write(new byte[] {(byte) b}, 0, 1);
        }

        @Override
        public void write(final byte[] source, final int offset, final int count) throws IOException {
            if (count > BUFFER - length) {
                drain();
            }
            if (count > BUFFER) {
                chunks.write(source, offset, count);
                return;
            }
            System.arraycopy(source, offset, bytes, length, count);
            length += count;
        }

        private void drain() throws IOException {
            if (chunks == null) {
                start(0);
                chunks = exchange.getResponseBody();
            }
            chunks.write(bytes, 0, length);
            length = 0;
        }

        void finish() throws IOException {
            if (finished) {
                return;
            }
            finished = true;
            if (chunks != null) {
                drain();
                chunks.close();
                return;
            }
            // For the JDK's server a length of 0 would mean chunks, and -1 means no body.
            start(length == 0 ? -1 : length);
            if (length > 0) {
                try (OutputStream body = exchange.getResponseBody()) {
                    body.write(bytes, 0, length);
                }
            }
        }
    }

    private void start(final long length) throws IOException {
        exchange.getResponseHeaders().set("Content-Type", type);
        exchange.getResponseHeaders().set("Cache-Control", "no-store");
        exchange.getResponseHeaders().set("X-Content-Type-Options", "nosniff");
        exchange.sendResponseHeaders(status, length);
    }

    /** Whether something has been sent, so that no other status can be. */
    boolean begun() {
        return out.chunks != null;
    }

    AdminReply status(final int number) {
        status = number;
        return this;
    }

    /** Where a document that is not JSON goes. */
    OutputStream as(final String contentType) {
        type = contentType;
        return out;
    }

    /** Writes a JSON object, whose members the body writes. */
    void json(final Body members) throws IOException {
        // Not closed on failure: that would write the ends of what is open, as if it were whole.
        @SuppressWarnings("resource")
        final JsonGenerator json = JSON.createGenerator(out);
        json.writeStartObject();
        members.write(json);
        json.writeEndObject();
        json.writeRaw('\n');
        json.close();
    }

    /** Sends what is left. A second call does nothing. */
    void finish() throws IOException {
        out.finish();
    }

    /** Forgets what was written and not sent, and answers with an error instead. */
    void fail(final int number, final String code, final String message) throws IOException {
        out.length = 0;
        type = JSON_TYPE;
        status(number).json(json -> {
            json.writeObjectFieldStart("error");
            json.writeStringField("code", code);
            json.writeStringField("message", message);
            json.writeEndObject();
        });
        finish();
    }
}
