package io.kvtier.store.snapshot;

/**
 * A tenant that has a quota.
 *
 * @param tenant       its name.
 * @param quota        bytes, as an operator set it.
 * @param rejections   puts that were refused.
 * @param evictedBytes bytes of values that it lost to make room in its quota.
 */
public record SavedTenant(String tenant, long quota, long rejections, long evictedBytes) {
}
