package io.kvtier.store.cli;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadFeature;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Reads a request trace: one JSON object a line with {@code timestamp}, {@code input_length}, {@code output_length}
 * and {@code hash_ids}; other fields are ignored, and only {@code hash_ids} has to be there.
 *
 * <p>Lines are read one at a time and a line has a limit, so that a file that is no trace is refused before it fills
 * the heap.
 *
 * <p><b>Threading:</b> one thread. <b>Lifetime:</b> until {@link #close()}.
 */
final class TraceReader implements AutoCloseable {
    /** Longest line, in characters: a request of more than a million blocks. */
    static final int MAX_LINE_CHARS = 16 << 20;

    private static final JsonFactory JSON = JsonFactory.builder()
        .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
        .build();

    private final String name;
    private final BufferedReader lines;
    private final int maxLineChars;
    private final StringBuilder text = new StringBuilder();
    private long lineNumber;
    private long[] ids = new long[64];

    TraceReader(final String name, final BufferedReader lines, final int maxLineChars) {
        this.name = name;
        this.lines = lines;
        this.maxLineChars = maxLineChars;
    }

    /**
     * Opens a trace.
     *
     * @param file the trace.
     * @return the reader.
     * @throws IOException naming the file, when there is no such file or it cannot be read.
     */
    static TraceReader open(final Path file) throws IOException {
        if (Files.isDirectory(file)) {
            throw new IOException(file + " is a directory; name a file with one JSON object a line");
        }
        try {
            // Bytes that are no UTF-8 are replaced: in a field that is ignored they do no harm, elsewhere they are an
            // error of their line. A strict decoder reads ahead and could not name the line.
            return new TraceReader(file.toString(), new BufferedReader(
                new InputStreamReader(Files.newInputStream(file), StandardCharsets.UTF_8)), MAX_LINE_CHARS);
        } catch (final NoSuchFileException e) {
            throw new NoSuchFileException(file.toString(), null, "no such file; name a trace with one JSON object a "
                + "line");
        }
    }

    /**
     * Reads a whole trace, so that a bad line is known before the work begins and the amount of work is known too.
     *
     * @param file  the trace.
     * @param limit requests to read at most.
     * @return the requests in order, at least one.
     * @throws IOException naming file, line and cause.
     */
    static List<TraceRequest> readAll(final Path file, final long limit) throws IOException {
        final List<TraceRequest> requests = new ArrayList<>();
        try (TraceReader reader = open(file)) {
            while (requests.size() < limit) {
                final TraceRequest request = reader.next();
                if (request == null) {
                    break;
                }
                requests.add(request);
            }
        }
        if (requests.isEmpty()) {
            throw new TraceFormatException(file + " is empty; a trace has one JSON object a line");
        }
        return requests;
    }

    /**
     * Reads the next request.
     *
     * @return the request, or null after the last one.
     * @throws IOException naming file, line and cause.
     */
    TraceRequest next() throws IOException {
        if (!readLine()) {
            return null;
        }
        if (blank()) {
            requireNothingMore();
            return null;
        }
        try (JsonParser json = JSON.createParser(text.toString())) {
            return request(json);
        } catch (final JsonProcessingException e) {
            final long column = e.getLocation() == null ? 0 : e.getLocation().getColumnNr();
            throw bad("broken JSON at column " + column + ": " + firstLine(e.getOriginalMessage()));
        }
    }

    @Override
    public void close() throws IOException {
        lines.close();
    }

    private TraceRequest request(final JsonParser json) throws IOException {
        if (json.nextToken() != JsonToken.START_OBJECT) {
            throw bad("not a JSON object");
        }
        double timestamp = 0;
        long inputTokens = 0;
        long outputTokens = 0;
        long[] hashIds = null;
        while (json.nextToken() == JsonToken.FIELD_NAME) {
            final String field = json.currentName();
            final JsonToken value = json.nextToken();
            switch (field) {
                case "timestamp" -> timestamp = number(json, value, field);
                case "input_length" -> inputTokens = integer(json, value, field);
                case "output_length" -> outputTokens = integer(json, value, field);
                case "hash_ids" -> hashIds = hashIds(json, value);
                default -> json.skipChildren();
            }
        }
        if (json.nextToken() != null) {
            throw bad("more than one JSON value; put each object on a line of its own");
        }
        if (hashIds == null) {
            throw bad("no field hash_ids; it lists the request's blocks");
        }
        return new TraceRequest(timestamp, inputTokens, outputTokens, hashIds);
    }

    private long[] hashIds(final JsonParser json, final JsonToken value) throws IOException {
        if (value != JsonToken.START_ARRAY) {
            throw bad("hash_ids is " + shown(json) + "; it has to be an array of integers");
        }
        int count = 0;
        for (JsonToken token = json.nextToken(); token != JsonToken.END_ARRAY; token = json.nextToken()) {
            if (count == ids.length) {
                ids = Arrays.copyOf(ids, count * 2);
            }
            ids[count] = integer(json, token, "hash_ids[" + count + "]");
            count++;
        }
        return Arrays.copyOf(ids, count);
    }

    private long integer(final JsonParser json, final JsonToken token, final String what) throws IOException {
        if (token != JsonToken.VALUE_NUMBER_INT) {
            throw bad(what + " is " + shown(json) + "; it has to be an integer");
        }
        if (json.getNumberType() == JsonParser.NumberType.BIG_INTEGER) {
            throw bad(what + " is " + shown(json) + "; the largest integer is " + Long.MAX_VALUE);
        }
        final long number = json.getLongValue();
        if (number < 0) {
            throw bad(what + " is " + number + "; it has to be 0 or more");
        }
        return number;
    }

    private double number(final JsonParser json, final JsonToken token, final String what) throws IOException {
        if (!token.isNumeric() || json.getDoubleValue() < 0) {
            throw bad(what + " is " + shown(json) + "; it has to be a number, 0 or more");
        }
        return json.getDoubleValue();
    }

    private static String shown(final JsonParser json) throws IOException {
        return switch (json.currentToken()) {
            case null -> "missing";
            case START_OBJECT -> "an object";
            case START_ARRAY -> "an array";
            case VALUE_STRING -> "the text \"" + shortened(json.getText()) + '"';
            default -> shortened(json.getText());
        };
    }

    private static String shortened(final String text) {
        return text.length() <= 40 ? text : text.substring(0, 40) + "...";
    }

    private static String firstLine(final String message) {
        return message.lines().findFirst().orElse("");
    }

    /** As BufferedReader's, with a limit. */
    private boolean readLine() throws IOException {
        text.setLength(0);
        int c = lines.read();
        if (c < 0) {
            return false;
        }
        lineNumber++;
        while (c >= 0 && c != '\n') {
            if (text.length() == maxLineChars) {
                throw bad("longer than " + maxLineChars + " characters; a trace has one JSON object a line");
            }
            text.append((char) c);
            c = lines.read();
        }
        return true;
    }

    private boolean blank() {
        for (int i = 0; i < text.length(); i++) {
            if (text.charAt(i) > ' ') {
                return false;
            }
        }
        return true;
    }

    /** A file may end with blank lines; one in the middle is a sign of a damaged file. */
    private void requireNothingMore() throws IOException {
        final long blank = lineNumber;
        while (readLine()) {
            if (!blank()) {
                lineNumber = blank;
                throw bad("blank, but not the last; remove it");
            }
        }
    }

    private TraceFormatException bad(final String cause) {
        return new TraceFormatException(name + ", line " + lineNumber + ": " + cause);
    }
}
