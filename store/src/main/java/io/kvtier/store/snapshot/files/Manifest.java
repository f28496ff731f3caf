package io.kvtier.store.snapshot.files;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import java.io.StringWriter;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;

/**
 * What a payload is, and how to know that it is whole.
 *
 * @param format        version of the format.
 * @param clusterId     whose state it is.
 * @param id            its name.
 * @param takenAtMs     wall clock at the moment that it is of.
 * @param durationMs    milliseconds from there until the payload was durable.
 * @param lastVersion   objects that there were have this version or a smaller one.
 * @param payloadBytes  length of the payload.
 * @param payloadCrc32c checksum of the payload.
 * @param chunks        chunks in it, the last one included.
 * @param rows          rows of each section, by its name.
 */
public record Manifest(int format, String clusterId, SnapshotId id, long takenAtMs, long durationMs, long lastVersion,
                       long payloadBytes, long payloadCrc32c, long chunks, Map<String, Long> rows) {
    /** The version that is written and read. */
    public static final int FORMAT = 1;

    private static final JsonFactory JSON = new JsonFactory();

    /** Takes a copy. */
    public Manifest {
        rows = Map.copyOf(rows);
    }

    /**
     * How many objects it has.
     *
     * @return rows; an object may have two.
     */
    public long objects() {
        return rows.getOrDefault(name(Section.OBJECTS), 0L);
    }

    static String name(final Section section) {
        return section.name().toLowerCase(Locale.ROOT);
    }

    String json() throws IOException {
        final StringWriter text = new StringWriter();
        try (JsonGenerator out = JSON.createGenerator(text)) {
            out.writeStartObject();
            out.writeNumberField("format", format);
            out.writeStringField("cluster_id", clusterId);
            out.writeStringField("id", id.toString());
            out.writeNumberField("term", id.term());
            out.writeNumberField("number", id.number());
            out.writeNumberField("taken_at_ms", takenAtMs);
            out.writeNumberField("duration_ms", durationMs);
            out.writeNumberField("last_version", lastVersion);
            out.writeNumberField("payload_bytes", payloadBytes);
            out.writeNumberField("payload_crc32c", payloadCrc32c);
            out.writeNumberField("chunks", chunks);
            out.writeObjectFieldStart("rows");
            for (final Section section : Section.values()) {
                if (rows.containsKey(name(section))) {
                    out.writeNumberField(name(section), rows.get(name(section)));
                }
            }
            out.writeEndObject();
            out.writeEndObject();
        }
        return text.toString();
    }

    /** Reads one; of a later version nothing but that is looked at. */
    static Manifest read(final String name, final String json) throws IOException {
        final Map<String, Object> fields = new LinkedHashMap<>();
        final Map<String, Long> rows = new LinkedHashMap<>();
        try (JsonParser in = JSON.createParser(json)) {
            fields(name, in, fields, rows);
        }
        final long format = number(name, fields, "format");
        if (format > FORMAT) {
            throw new SnapshotFormatException(name + " has format " + format + ", written by a later version; this "
                + "one reads " + FORMAT + ": start that version, or name another snapshot_backup_dir", true, null);
        }
        final SnapshotId id = SnapshotId.of(String.valueOf(fields.get("id")))
            .orElseThrow(() -> new SnapshotFormatException(name + " has no id"));
        return new Manifest((int) format, String.valueOf(fields.get("cluster_id")), id,
            number(name, fields, "taken_at_ms"), number(name, fields, "duration_ms"),
            number(name, fields, "last_version"), number(name, fields, "payload_bytes"),
            number(name, fields, "payload_crc32c"), number(name, fields, "chunks"), rows);
    }

    private static void fields(final String name, final JsonParser in, final Map<String, Object> fields,
        final Map<String, Long> rows) throws IOException {
        if (in.nextToken() != JsonToken.START_OBJECT) {
            throw new SnapshotFormatException(name + " is no manifest");
        }
        while (in.nextToken() == JsonToken.FIELD_NAME) {
            final String field = in.currentName();
            final JsonToken value = in.nextToken();
            if (value == JsonToken.START_OBJECT && field.equals("rows")) {
                while (in.nextToken() == JsonToken.FIELD_NAME) {
                    final String section = in.currentName();
                    in.nextToken();
                    rows.put(section, in.getLongValue());
                }
            } else if (value == JsonToken.VALUE_NUMBER_INT) {
                fields.put(field, in.getLongValue());
            } else if (value == JsonToken.VALUE_STRING) {
                fields.put(field, in.getText());
            } else {
                // What a later version has added.
                in.skipChildren();
            }
        }
    }

    private static long number(final String name, final Map<String, Object> fields, final String field)
        throws IOException {
        if (fields.get(field) instanceof Long value) {
            return value;
        }
        throw new SnapshotFormatException(name + " has no " + field);
    }
}
