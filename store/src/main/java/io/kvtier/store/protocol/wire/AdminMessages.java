package io.kvtier.store.protocol.wire;

import io.kvtier.store.ErrorCode;
import io.kvtier.store.protocol.AdminCommand.DeleteQuota;
import io.kvtier.store.protocol.AdminCommand.Evict;
import io.kvtier.store.protocol.AdminCommand.EvictReply;
import io.kvtier.store.protocol.AdminCommand.Quotas;
import io.kvtier.store.protocol.AdminCommand.SetQuota;
import io.kvtier.store.protocol.AdminCommand.Statistics;
import io.kvtier.store.protocol.AdminCommand.TenantInfo;
import io.kvtier.store.protocol.MasterStats;
import io.kvtier.store.protocol.MasterStats.Allocations;
import io.kvtier.store.protocol.MasterStats.EvictionRuns;
import io.kvtier.store.protocol.MasterStats.GdsTold;
import io.kvtier.store.protocol.MasterStats.GdsTotals;
import io.kvtier.store.protocol.MasterStats.Gets;
import io.kvtier.store.protocol.MasterStats.Hot;
import io.kvtier.store.protocol.MasterStats.PageTotals;
import io.kvtier.store.protocol.MasterStats.Probes;
import io.kvtier.store.protocol.MasterStats.Promoted;
import io.kvtier.store.protocol.MasterStats.Rejected;
import io.kvtier.store.protocol.wire.Method.Message;
import java.util.List;
import java.util.function.Function;

/** What an operator asks; {@code store/MESSAGES.md} has the fields. The passing of time is on no wire. */
final class AdminMessages {
    private AdminMessages() {
    }

    static List<Method<?, ?>> methods() {
        return List.of(
            Method.of(96, Statistics.class, true, CommonMessages.empty(new Statistics()), statistics()),
            Method.of(97, Evict.class, false, Message.of((e, evict) -> e.array(2).number(millionths(evict.share()))
                .number(millionths(evict.least())), d -> new Evict(share(d), share(d))),
                Message.of((e, reply) -> e.array(2).number(reply.objects()).number(reply.bytes()),
                    d -> new EvictReply(d.count(), d.count()))),
            Method.of(98, SetQuota.class, true, Message.of((e, set) -> e.array(2).text(set.tenant())
                .number(set.bytes()), d -> new SetQuota(d.tenant(), d.number())), CommonMessages.ACK),
            Method.of(99, DeleteQuota.class, true, Message.of((e, delete) -> e.array(1).text(delete.tenant()),
                d -> new DeleteQuota(d.tenant())), CommonMessages.ACK).doneBefore(ErrorCode.TENANT_NOT_REGISTERED),
            Method.of(100, Quotas.class, true, CommonMessages.empty(new Quotas()), tenants()));
    }

    private static final double MILLION = 1e6;

    private static long millionths(final double share) {
        return Math.round(share * MILLION);
    }

    private static double share(final Decoder d) {
        return d.number() / MILLION;
    }

    /** Groups of counters are arrays behind the single ones; one that an older master does not send counts nothing. */
    private static Message<MasterStats> statistics() {
        return Message.of((e, stats) -> {
            e.array(33).number(stats.objects()).number(stats.memoryCapacity())
                .number(stats.memoryUsed()).number(stats.memoryReplicas()).number(stats.heldReplicas())
                .number(stats.memoryEvictions()).number(stats.evictionsWithoutCopy()).number(stats.diskReplicas())
                .number(stats.diskEvictions()).number(stats.offloads()).number(stats.offloadFailures())
                .number(stats.offloadsPending()).number(stats.promotions())
                .number(stats.nofCapacity()).number(stats.nofUsed()).number(stats.nofEvictions())
                .number(stats.diskCapacity()).number(stats.clients()).number(stats.pendingWrites())
                .number(stats.discardedWrites()).number(stats.releasedWrites()).number(stats.activePromotions())
                .number(stats.softPinned()).number(stats.groups()).number(stats.diskUsed());
            final Gets gets = stats.gets();
            e.array(11).number(gets.total()).number(gets.memoryHits()).number(gets.memoryBytes())
                .number(gets.nofHits()).number(gets.nofBytes()).number(gets.diskHits()).number(gets.diskBytes())
                .number(gets.gdsHits()).number(gets.gdsBytes()).number(gets.pageHits()).number(gets.pageBytes());
            write(e, stats.memoryRuns());
            write(e, stats.nofRuns());
            e.array(3).number(stats.allocations().failures()).number(stats.allocations().partial())
                .number(stats.allocations().stale());
            final Promoted promoted = stats.promoted();
            e.array(6).number(promoted.admitted()).number(promoted.completedBytes()).number(promoted.failed())
                .number(promoted.cancelled()).number(promoted.expired());
            final Rejected rejected = promoted.rejected();
            e.array(3).number(rejected.room()).number(rejected.quota()).number(rejected.busy());
            e.array(4).number(stats.probes().successes()).number(stats.probes().failures())
                .number(stats.probes().unmounted()).number(stats.probes().timeouts());
            gds(e, stats.gds());
            pages(e, stats.pages());
        }, d -> new MasterStats(d.number(), d.number(), d.number(), d.number(), d.number(), d.number(), d.number(),
            d.number(), d.number(), d.number(), d.number(), d.number(), d.number(), d.number(), d.number(),
            d.number(), d.number(), d.number(), d.number(), d.number(), d.number(), d.number(), d.number(),
            d.number(), later(d), group(d, Gets.NONE, r -> new Gets(r.number(), r.number(),
                r.number(), r.number(), r.number(), r.number(), r.number(), later(r), later(r), later(r), later(r))),
            runs(d), runs(d),
            group(d, Allocations.NONE, r -> new Allocations(r.number(), r.number(), later(r))),
            group(d, Promoted.NONE, r -> new Promoted(r.number(), r.number(), r.number(), r.number(), r.number(),
                group(r, Rejected.NONE, s -> new Rejected(s.number(), s.number(), s.number())))),
            group(d, Probes.NONE, r -> new Probes(r.number(), r.number(), r.number(), later(r))),
            group(d, GdsTotals.NONE, r -> new GdsTotals(r.number(), r.number(), r.number(), r.number(),
                r.record(GdsMessages::counts), group(r, GdsTold.NONE, t -> new GdsTold(t.record(GdsMessages::work),
                    t.number(), t.number(), t.number())))),
            group(d, PageTotals.NONE, AdminMessages::pages)));
    }

    private static void pages(final Encoder e, final PageTotals pages) {
        e.array(12).number(pages.capacity()).number(pages.used()).number(pages.replicas()).number(pages.writing())
            .number(pages.allocations()).number(pages.frees()).number(pages.failures()).number(pages.evictions())
            .number(pages.evictedBytes()).number(pages.reaped()).number(pages.stale()).array(3)
            .number(pages.hot().waiting()).number(pages.hot().queued()).number(pages.hot().rejected());
    }

    private static PageTotals pages(final Decoder d) {
        return new PageTotals(d.number(), d.number(), d.number(), d.number(), d.number(), d.number(), d.number(),
            d.number(), d.number(), d.number(), d.number(),
            d.record(h -> new Hot(h.number(), h.number(), h.number())));
    }

    private static void gds(final Encoder e, final GdsTotals gds) {
        GdsMessages.counts(e.array(6).number(gds.storages()).number(gds.capacity()).number(gds.used())
            .number(gds.replicas()), gds.counts());
        final GdsTold told = gds.told();
        GdsMessages.work(e.array(4), told.work());
        e.number(told.values()).number(told.uncertain()).number(told.detours());
    }

    /** A number that older writers leave out. */
    private static long later(final Decoder d) {
        return d.has() ? d.number() : 0;
    }

    private static void write(final Encoder e, final EvictionRuns runs) {
        e.array(3).number(runs.attempts()).number(runs.successes()).number(runs.bytes());
    }

    private static EvictionRuns runs(final Decoder d) {
        return group(d, EvictionRuns.NONE, r -> new EvictionRuns(r.number(), r.number(), r.number()));
    }

    private static <T> T group(final Decoder d, final T none, final Function<Decoder, T> fields) {
        return d.has() ? d.record(fields) : none;
    }

    private static Message<List<TenantInfo>> tenants() {
        return Message.of((e, tenants) -> {
            e.array(1).array(tenants.size());
            tenants.forEach(tenant -> e.array(7).text(tenant.tenant()).number(tenant.requested())
                .number(tenant.effective()).number(tenant.charged()).number(tenant.objects())
                .number(tenant.rejections()).number(tenant.evictedBytes()));
        }, d -> d.records(Integer.MAX_VALUE, t -> new TenantInfo(t.tenant(), t.number(), t.number(), t.number(),
            t.number(), t.number(), later(t))));
    }
}
