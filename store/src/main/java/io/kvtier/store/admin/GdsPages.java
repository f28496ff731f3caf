package io.kvtier.store.admin;

import com.fasterxml.jackson.core.JsonGenerator;
import io.kvtier.store.protocol.GdsCommand.GdsCounts;
import io.kvtier.store.protocol.GdsCommand.GdsState;
import io.kvtier.store.protocol.GdsCommand.GdsStorageInfo;
import io.kvtier.store.protocol.GdsCommand.GdsStorages;
import io.kvtier.store.protocol.GdsCommand.GdsWork;
import io.kvtier.store.protocol.Master;
import java.io.IOException;
import java.util.List;
import java.util.Locale;

/** Clients' own files for GDS replicas. */
final class GdsPages {
    /** Where they are. */
    static final String PATH = "/api/v1/gds_storages";

    private final Master master;

    GdsPages(final Master master) {
        this.master = master;
    }

    void list(final AdminRequest request, final AdminReply reply) throws IOException {
        final String client = request.knows("client_id").text("client_id", "");
        final List<GdsStorageInfo> all = master.apply(new GdsStorages());
        final List<GdsStorageInfo> found = client.isEmpty() ? all
            : all.stream().filter(storage -> storage.clientId().toString().equals(client)).toList();
        if (found.isEmpty() && !client.isEmpty()) {
            throw new HttpFailure(HttpFailure.NOT_FOUND, "client '" + client + "' has no GDS storage registered; "
                + "without client_id all that are registered are listed");
        }
        reply.json(json -> {
            json.writeArrayFieldStart("storages");
            for (final GdsStorageInfo storage : found) {
                write(json, storage);
            }
            json.writeEndArray();
        });
    }

    private static void write(final JsonGenerator json, final GdsStorageInfo storage) throws IOException {
        json.writeStartObject();
        json.writeStringField("client_id", storage.clientId().toString());
        json.writeStringField("storage_id", storage.storageId().toString());
        json.writeNumberField("generation", storage.generation());
        json.writeStringField("endpoint", storage.endpoint());
        json.writeNumberField("capacity", storage.capacity());
        json.writeNumberField("used", storage.used());
        json.writeNumberField("replicas", storage.replicas());
        write(json, storage.counts());
        write(json, storage.work());
        write(json, storage.state());
        json.writeEndObject();
    }

    /** What the master has seen. */
    private static void write(final JsonGenerator json, final GdsCounts counts) throws IOException {
        json.writeNumberField("puts", counts.puts());
        json.writeNumberField("only_puts", counts.onlyPuts());
        json.writeNumberField("adopted", counts.adopted());
        json.writeNumberField("refused", counts.refused());
        json.writeNumberField("evictions", counts.evictions());
        json.writeNumberField("evicted_bytes", counts.evictedBytes());
        json.writeNumberField("settled", counts.settled());
    }

    private static void write(final JsonGenerator json, final GdsWork work) throws IOException {
        json.writeNumberField("stored", work.puts());
        json.writeNumberField("only_stored", work.onlyPuts());
        json.writeNumberField("written_bytes", work.writtenBytes());
        json.writeNumberField("reads", work.reads());
        json.writeNumberField("read_bytes", work.readBytes());
        json.writeObjectFieldStart("failures");
        json.writeNumberField("no_room", work.noRoom());
        json.writeNumberField("put_refusals", work.refused());
        json.writeNumberField("writes", work.writeFailures());
        json.writeNumberField("reads", work.readFailures());
        json.writeNumberField("stale_reads", work.staleReads());
        json.writeEndObject();
    }

    private static void write(final JsonGenerator json, final GdsState state) throws IOException {
        json.writeNumberField("owner_used", state.used());
        json.writeNumberField("values", state.values());
        json.writeNumberField("uncertain_extents", state.uncertain());
        json.writeStringField("compat_mode", state.detour().name().toLowerCase(Locale.ROOT));
        json.writeStringField("way", state.way());
    }
}
