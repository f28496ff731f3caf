package io.kvtier.store.admin;

import com.fasterxml.jackson.core.JsonGenerator;
import io.kvtier.store.protocol.Command;
import io.kvtier.store.protocol.Master;
import io.kvtier.store.protocol.SegmentCommand;
import io.kvtier.store.protocol.SegmentCommand.SegmentInfo;
import io.kvtier.store.protocol.TaskCommand;
import java.io.IOException;
import java.util.List;
import java.util.Map;

/** Segments, and the drains that empty them. */
final class SegmentPages {
    private static final int MOST_SEGMENTS = 1024;

    private final Master master;

    SegmentPages(final Master master) {
        this.master = master;
    }

    Map<String, Page> gets() {
        return Map.of("/get_all_segments", this::names, "/get_segments_detail", this::details,
            "/query_segment", this::query, "/api/v1/segments/status", this::statuses,
            "/api/v1/drain_jobs/query", this::queryDrain);
    }

    Map<String, Page> posts() {
        return Map.of("/api/v1/drain_jobs", this::createDrain, "/api/v1/drain_jobs/cancel", this::cancelDrain);
    }

    private List<SegmentInfo> segments() {
        return master.apply(new SegmentCommand.Segments());
    }

    private List<SegmentInfo> named(final String name) {
        final List<SegmentInfo> found = segments().stream().filter(segment -> segment.name().equals(name)).toList();
        if (found.isEmpty()) {
            throw new HttpFailure(HttpFailure.NOT_FOUND, "there is no segment called '" + name + "'");
        }
        return found;
    }

    private void names(final AdminRequest request, final AdminReply reply) throws IOException {
        request.knows();
        final List<String> names = segments().stream().map(SegmentInfo::name).distinct().sorted().toList();
        reply.json(json -> {
            json.writeArrayFieldStart("segments");
            for (final String name : names) {
                json.writeString(name);
            }
            json.writeEndArray();
        });
    }

    private void details(final AdminRequest request, final AdminReply reply) throws IOException {
        request.knows();
        final List<SegmentInfo> segments = segments();
        reply.json(json -> {
            json.writeArrayFieldStart("segments");
            for (final SegmentInfo segment : segments) {
                json.writeStartObject();
                writeState(json, segment);
                json.writeStringField("client_id", segment.clientId().toString());
                json.writeStringField("host", segment.host());
                json.writeStringField("medium", segment.medium().name());
                json.writeStringField("endpoint", segment.endpoint());
                json.writeNumberField("capacity", segment.capacity());
                json.writeNumberField("used", segment.used());
                json.writeNumberField("replicas", segment.replicas());
                json.writeBooleanField("returning", segment.returning());
                json.writeEndObject();
            }
            json.writeEndArray();
        });
    }

    private static void writeState(final JsonGenerator json, final SegmentInfo segment) throws IOException {
        json.writeStringField("name", segment.name());
        json.writeStringField("segment_id", segment.segmentId().toString());
        json.writeStringField("status", segment.status().name());
    }

    private void query(final AdminRequest request, final AdminReply reply) throws IOException {
        final String name = request.knows("segment").text("segment");
        final List<SegmentInfo> segments = named(name);
        reply.json(json -> {
            json.writeStringField("segment", name);
            json.writeNumberField("count", segments.size());
            json.writeNumberField("used", segments.stream().mapToLong(SegmentInfo::used).sum());
            json.writeNumberField("capacity", segments.stream().mapToLong(SegmentInfo::capacity).sum());
            json.writeNumberField("replicas", segments.stream().mapToLong(SegmentInfo::replicas).sum());
        });
    }

    private void statuses(final AdminRequest request, final AdminReply reply) throws IOException {
        final String name = request.knows("segment").text("segment", "");
        final List<SegmentInfo> segments = name.isEmpty() ? segments() : named(name);
        reply.json(json -> {
            json.writeArrayFieldStart("segments");
            for (final SegmentInfo segment : segments) {
                json.writeStartObject();
                writeState(json, segment);
                json.writeEndObject();
            }
            json.writeEndArray();
        });
    }

    private void createDrain(final AdminRequest request, final AdminReply reply) throws IOException {
        final List<String> names = request.knows("segments").names("segments", MOST_SEGMENTS);
        final long id = master.apply(new TaskCommand.CreateDrain(names));
        reply.json(json -> json.writeNumberField("job_id", id));
    }

    private void queryDrain(final AdminRequest request, final AdminReply reply) throws IOException {
        final TaskCommand.DrainInfo drain =
            master.apply(new TaskCommand.QueryDrain(request.knows("job_id").number("job_id")));
        reply.json(json -> {
            json.writeNumberField("job_id", drain.drainId());
            json.writeStringField("status", drain.status().name());
            json.writeArrayFieldStart("segments");
            for (final String name : drain.segments()) {
                json.writeString(name);
            }
            json.writeEndArray();
            json.writeNumberField("moved", drain.moved());
            json.writeNumberField("failed", drain.failed());
            json.writeNumberField("active", drain.active());
        });
    }

    private void cancelDrain(final AdminRequest request, final AdminReply reply) throws IOException {
        final long id = request.knows("job_id").number("job_id");
        if (master.apply(new TaskCommand.CancelDrain(id)) == Command.Ack.STALE) {
            throw new HttpFailure(HttpFailure.CONFLICT, "drain " + id + " has failed: its segments are in use again");
        }
        reply.json(json -> json.writeNumberField("job_id", id));
    }
}
