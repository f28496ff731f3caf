package io.kvtier.store.admin;

import io.kvtier.store.protocol.AdminCommand;
import io.kvtier.store.protocol.AdminCommand.TenantInfo;
import io.kvtier.store.protocol.Command;
import io.kvtier.store.protocol.Master;
import java.io.IOException;
import java.util.List;

/** Tenants' quotas. */
final class TenantPages {
    static final String PATH = "/api/v1/tenant_quotas";

    private final Master master;

    TenantPages(final Master master) {
        this.master = master;
    }

    void list(final AdminRequest request, final AdminReply reply) throws IOException {
        final String name = request.knows("tenant").text("tenant", "");
        final List<TenantInfo> tenants = master.apply(new AdminCommand.Quotas()).stream()
            .filter(tenant -> name.isEmpty() || tenant.tenant().equals(name)).toList();
        if (tenants.isEmpty() && !name.isEmpty()) {
            throw new HttpFailure(HttpFailure.NOT_FOUND, "there is no tenant '" + name + "'");
        }
        reply.json(json -> {
            json.writeArrayFieldStart("tenants");
            for (final TenantInfo tenant : tenants) {
                json.writeStartObject();
                json.writeStringField("tenant", tenant.tenant());
                json.writeNumberField("quota_bytes", tenant.requested());
                json.writeNumberField("effective_bytes", tenant.effective());
                json.writeNumberField("charged_bytes", tenant.charged());
                json.writeNumberField("objects", tenant.objects());
                json.writeNumberField("rejections", tenant.rejections());
                json.writeNumberField("evicted_bytes", tenant.evictedBytes());
                json.writeEndObject();
            }
            json.writeEndArray();
        });
    }

    void set(final AdminRequest request, final AdminReply reply) throws IOException {
        request.knows("tenant", "quota_bytes");
        final String tenant = request.text("tenant");
        final long bytes = request.number("quota_bytes");
        master.apply(new AdminCommand.SetQuota(tenant, bytes));
        reply.json(json -> {
            json.writeStringField("tenant", tenant);
            json.writeNumberField("quota_bytes", bytes);
        });
    }

    void delete(final AdminRequest request, final AdminReply reply) throws IOException {
        final String tenant = request.knows("tenant").text("tenant");
        if (master.apply(new AdminCommand.DeleteQuota(tenant)) == Command.Ack.STALE) {
            throw new HttpFailure(HttpFailure.NOT_FOUND, "the tenant '" + tenant + "' has no quota");
        }
        reply.json(json -> json.writeStringField("tenant", tenant));
    }
}
