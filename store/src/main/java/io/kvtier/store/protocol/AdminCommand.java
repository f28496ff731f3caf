package io.kvtier.store.protocol;

import java.util.List;

/**
 * What an operator asks, and the passing of time.
 *
 * @param <R> what the master answers.
 */
public sealed interface AdminCommand<R> extends Command<R> {
    /** Nothing but the time at which it is applied, for when nobody else asks anything. Never comes from a client. */
    record Tick() implements AdminCommand<TickReply> {
    }

    /**
     * Answer to {@link Tick}.
     *
     * @param busy whether another one should follow soon: more is to be done of what takes long.
     */
    record TickReply(boolean busy) {
    }

    /** Asks for counters. */
    record Statistics() implements AdminCommand<MasterStats> {
    }

    /**
     * Evicts from memory, oldest first: the wanted share of the objects that have memory replicas; of soft-pinned ones
     * only as many as are needed for the least share.
     *
     * @param share wanted, 0 to 1.
     * @param least 0 to {@code share}.
     */
    record Evict(double share, double least) implements AdminCommand<EvictReply> {
    }

    /**
     * Answer to {@link Evict}.
     *
     * @param objects objects that lost their memory replicas, or are on their way to a disk.
     * @param bytes   bytes of those replicas, without what lay in segments that are gone.
     */
    record EvictReply(long objects, long bytes) {
    }

    /**
     * Gives a tenant a quota of memory, counted in value bytes times replicas.
     *
     * @param tenant the tenant.
     * @param bytes  more than 0.
     */
    record SetQuota(String tenant, long bytes) implements AdminCommand<Ack> {
    }

    /**
     * Takes a tenant's quota away; TENANT_NOT_EMPTY while it has objects.
     *
     * @param tenant the tenant.
     */
    record DeleteQuota(String tenant) implements AdminCommand<Ack> {
    }

    /** Lists tenants. */
    record Quotas() implements AdminCommand<List<TenantInfo>> {
    }

    /**
     * What is known of a tenant.
     *
     * @param tenant     its name.
     * @param requested  quota in bytes; 0 for a tenant that has none.
     * @param effective  what it amounts to while all quotas together exceed the memory there is.
     * @param charged    bytes that count against it.
     * @param objects    objects, those being written included.
     * @param rejections puts that were refused for want of quota.
     * @param evictedBytes bytes of its values that were taken from memory to make room in its quota; those that went
     *                   to a disk count when they are sent there.
     */
    record TenantInfo(String tenant, long requested, long effective, long charged, long objects, long rejections,
                      long evictedBytes) {
    }
}
