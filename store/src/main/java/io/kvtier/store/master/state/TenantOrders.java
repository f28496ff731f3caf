package io.kvtier.store.master.state;

import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.Map;

/**
 * For each tenant, what of its may be evicted from memory, in the order in which the {@link EvictionOrder} has it. So
 * making room in a tenant's quota looks at nothing of other tenants.
 */
final class TenantOrders {
    private final Map<String, Order> orders = new HashMap<>();

    private static final class Order {
        private final LinkedHashSet<Residency> plain = new LinkedHashSet<>();
        private final LinkedHashSet<Residency> softPinned = new LinkedHashSet<>();
        private long plainBytes;
        private long softPinnedBytes;
    }

    /** Something may be evicted: as the next one, or as the last one. */
    void add(final Residency residency, final boolean softPinned, final boolean next) {
        final Order order = orders.computeIfAbsent(tenant(residency), name -> new Order());
        final LinkedHashSet<Residency> list = softPinned ? order.softPinned : order.plain;
        if (next) {
            list.addFirst(residency);
        } else {
            list.addLast(residency);
        }
        count(order, softPinned, residency.bytes());
    }

    /** Something may not be evicted any more; it has the replicas that it was added with. */
    void remove(final Residency residency, final boolean softPinned) {
        final Order order = orders.get(tenant(residency));
        (softPinned ? order.softPinned : order.plain).remove(residency);
        count(order, softPinned, -residency.bytes());
        if (order.plain.isEmpty() && order.softPinned.isEmpty()) {
            orders.remove(tenant(residency));
        }
    }

    /** What a tenant loses next, or null. */
    Residency oldest(final String tenant, final boolean evenSoftPinned) {
        final Order order = orders.get(tenant);
        if (order == null) {
            return null;
        }
        if (!order.plain.isEmpty()) {
            return order.plain.getFirst();
        }
        return evenSoftPinned ? order.softPinned.getFirst() : null;
    }

    /** Value bytes that a tenant can lose. */
    long bytes(final String tenant, final boolean evenSoftPinned) {
        final Order order = orders.get(tenant);
        if (order == null) {
            return 0;
        }
        return order.plainBytes + (evenSoftPinned ? order.softPinnedBytes : 0);
    }

    private static void count(final Order order, final boolean softPinned, final long bytes) {
        if (softPinned) {
            order.softPinnedBytes += bytes;
        } else {
            order.plainBytes += bytes;
        }
    }

    private static String tenant(final Residency residency) {
        return residency.entry().key().tenant();
    }
}
