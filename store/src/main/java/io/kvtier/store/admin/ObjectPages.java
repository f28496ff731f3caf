package io.kvtier.store.admin;

import com.fasterxml.jackson.core.JsonGenerator;
import io.kvtier.store.BatchResult;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.protocol.Batch;
import io.kvtier.store.protocol.Master;
import io.kvtier.store.protocol.ObjectCommand;
import io.kvtier.store.protocol.ReadReply;
import io.kvtier.store.replica.Replica;
import io.kvtier.store.replica.ReplicaDescriptor;
import java.io.IOException;
import java.util.List;
import java.util.Map;

/** Objects: one, some, all of them. No answer shows an access token. */
final class ObjectPages {
    private static final int MOST_KEYS = Batch.MAX_ITEMS;

    private final Master master;

    ObjectPages(final Master master) {
        this.master = master;
    }

    void query(final AdminRequest request, final AdminReply reply) throws IOException {
        request.knows("key", "tenant");
        final ObjectKey key = ObjectKey.of(request.text("tenant", ObjectKey.DEFAULT_TENANT), request.text("key"));
        final ReadReply object = master.apply(new ObjectCommand.Query(key));
        if (!object.found()) {
            throw new HttpFailure(HttpFailure.NOT_FOUND, "there is no readable object " + key);
        }
        reply.json(json -> write(json, key, object));
    }

    void queryBatch(final AdminRequest request, final AdminReply reply) throws IOException {
        request.knows("keys", "tenant");
        final String tenant = request.text("tenant", ObjectKey.DEFAULT_TENANT);
        final List<ObjectCommand.Query> queries = request.names("keys", MOST_KEYS).stream()
            .map(key -> new ObjectCommand.Query(ObjectKey.of(tenant, key))).toList();
        final List<BatchResult<ReadReply>> results = master.apply(new Batch<>(queries));
        reply.json(json -> {
            json.writeArrayFieldStart("objects");
            for (int i = 0; i < results.size(); i++) {
                json.writeStartObject();
                writeResult(json, queries.get(i).key(), results.get(i));
                json.writeEndObject();
            }
            json.writeEndArray();
        });
    }

    private static void writeResult(final JsonGenerator json, final ObjectKey key,
        final BatchResult<ReadReply> result) throws IOException {
        if (result.failure() == null && result.outcome().found()) {
            json.writeBooleanField("found", true);
            write(json, key, result.outcome());
            return;
        }
        json.writeBooleanField("found", false);
        writeName(json, key);
        if (result.failure() != null) {
            json.writeStringField("error", result.failure().getMessage());
        }
    }

    void list(final AdminRequest request, final AdminReply reply) throws IOException {
        request.knows("tenant", "pattern");
        final String tenant = request.text("tenant", "");
        final String pattern = request.text("pattern", "");
        reply.json(json -> {
            json.writeArrayFieldStart("keys");
            long count = 0;
            long cursor = 0;
            while (cursor != ObjectCommand.FindReply.END) {
                final ObjectCommand.FindReply part =
                    master.apply(new ObjectCommand.Find(tenant, pattern, false, cursor));
                for (final ObjectCommand.Found found : part.found()) {
                    json.writeStartObject();
                    writeName(json, found.key());
                    json.writeNumberField("size", found.object().size());
                    json.writeEndObject();
                }
                count += part.found().size();
                cursor = part.cursor();
            }
            json.writeEndArray();
            json.writeNumberField("count", count);
        });
    }

    void removeAll(final AdminRequest request, final AdminReply reply) throws IOException {
        request.knows("tenant", "force");
        final String tenant = request.text("tenant", "");
        final boolean force = request.flag("force");
        long removed = 0;
        long cursor = 0;
        while (cursor != ObjectCommand.FindReply.END) {
            final ObjectCommand.RemoveMatchingReply part =
                master.apply(new ObjectCommand.RemoveMatching(tenant, "", force, cursor));
            removed += part.removed();
            cursor = part.cursor();
        }
        final long count = removed;
        reply.json(json -> json.writeNumberField("removed", count));
    }

    Map<String, Page> gets() {
        return Map.of("/query_key", this::query, "/batch_query_keys", this::queryBatch, "/get_all_keys", this::list);
    }

    private static void writeName(final JsonGenerator json, final ObjectKey key) throws IOException {
        json.writeStringField("tenant", key.tenant());
        json.writeStringField("key", key.key());
    }

    private static void write(final JsonGenerator json, final ObjectKey key, final ReadReply object)
        throws IOException {
        writeName(json, key);
        json.writeNumberField("version", object.version());
        json.writeNumberField("size", object.size());
        json.writeStringField("data_type", object.dataType().name());
        if (object.checksummed()) {
            json.writeStringField("xxh64", String.format("%016x", object.checksum()));
        }
        json.writeArrayFieldStart("replicas");
        for (final Replica replica : object.replicas()) {
            json.writeStartObject();
            json.writeNumberField("id", replica.id());
            json.writeStringField("type", replica.type().name());
            json.writeStringField("status", replica.status().name());
            write(json, replica.descriptor());
            json.writeEndObject();
        }
        json.writeEndArray();
    }

    private static void write(final JsonGenerator json, final ReplicaDescriptor descriptor) throws IOException {
        switch (descriptor) {
            case ReplicaDescriptor.Memory memory -> {
                json.writeStringField("segment_id", memory.segment().segmentId().toString());
                json.writeStringField("endpoint", memory.segment().endpoint());
                json.writeNumberField("offset", memory.offset());
                json.writeNumberField("size", memory.size());
            }
            case ReplicaDescriptor.LocalDisk disk -> {
                json.writeStringField("client_id", disk.clientId().toString());
                json.writeStringField("endpoint", disk.transportEndpoint());
                json.writeNumberField("size", disk.objectSize());
            }
            case ReplicaDescriptor.Nof nof -> {
                json.writeStringField("namespace", nof.namespace());
                json.writeNumberField("offset", nof.offset());
                json.writeNumberField("size", nof.objectSize());
            }
            case ReplicaDescriptor.Gds gds -> {
                json.writeStringField("client_id", gds.ownerClientId().toString());
                json.writeStringField("storage_id", gds.storageId().toString());
                json.writeNumberField("storage_generation", gds.storageGeneration());
                json.writeNumberField("offset", gds.valueOffset());
                json.writeNumberField("size", gds.valueSize());
                json.writeNumberField("allocated_size", gds.allocatedSize());
            }
            case ReplicaDescriptor.DistributedDisk disk -> {
                json.writeStringField("file_path", disk.filePath());
                json.writeNumberField("offset", disk.offset());
                json.writeNumberField("size", disk.objectSize());
            }
            case ReplicaDescriptor.Disk disk -> {
                json.writeStringField("file_path", disk.filePath());
                json.writeNumberField("size", disk.objectSize());
            }
            case ReplicaDescriptor.Unknown unknown -> json.writeNumberField("type_number", unknown.number());
        }
    }
}
