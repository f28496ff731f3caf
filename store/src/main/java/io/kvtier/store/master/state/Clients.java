package io.kvtier.store.master.state;

import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreException;
import io.kvtier.store.protocol.SegmentCommand.ClientInfo;
import io.kvtier.store.protocol.SegmentCommand.ClientStatus;
import io.kvtier.store.protocol.SegmentCommand.Ping;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;

/** The clients that the master hears of, in the order of their last sign of life. */
final class Clients {
    private static final int MAX_EXPIRED = 1 << 16;
    private final long ttlMs;
    /** In the order of the last sign of life: a client that gives one goes to the end, and nothing else moves it. */
    private final Map<UUID, Client> known = new LinkedHashMap<>();

    /** The number of the client that became known last. */
    private long last;

    /** Those that were taken for dead and have not been told so yet; the latest of them. */
    private final Set<UUID> expired = new LinkedHashSet<>();

    private static final class Client {
        private final UUID id;
        /** Rising in the order in which clients became known. */
        private final long number;
        private String name = "";
        private String host = "";
        private String endpoint = "";
        private long lastMs;
        private boolean lends;

        Client(final UUID id, final long number) {
            this.id = id;
            this.number = number;
        }
    }

    Clients(final long ttlMs) {
        this.ttlMs = ttlMs;
    }

    /**
     * A ping; NEED_REMOUNT from a client that has lent nothing since it became known, for the first such answer may be
     * lost.
     */
    ClientStatus ping(final Ping ping, final long nowMs) {
        expired.remove(ping.clientId());
        final Client client = seen(ping.clientId(), nowMs);
        client.name = ping.name();
        client.host = ping.host();
        client.endpoint = ping.endpoint();
        return client.lends ? ClientStatus.OK : ClientStatus.NEED_REMOUNT;
    }

    /**
     * Refuses what a client lends that does not know yet that it was taken for dead: its next ping would be answered as
     * if all that it lent before were still there.
     */
    void checkLender(final UUID clientId) {
        if (expired.contains(clientId)) {
            throw new StoreException(ErrorCode.UNAVAILABLE_IN_CURRENT_STATUS, "client " + clientId
                + " was not heard of for " + ttlMs + " ms and taken for dead; it must ping first, and then lend "
                + "everything anew");
        }
    }

    /** A sign of life of a client that lends something; it is known from here on. */
    void appeared(final UUID clientId, final long nowMs) {
        seen(clientId, nowMs).lends = true;
    }

    private Client seen(final UUID clientId, final long nowMs) {
        final Client old = known.remove(clientId);
        final Client client = old == null ? new Client(clientId, ++last) : old;
        known.put(clientId, client);
        client.lastMs = nowMs;
        return client;
    }

    /** Whether a client became known before another one that is known now, or is not known at all. */
    boolean isBefore(final UUID clientId, final UUID other) {
        final Client one = known.get(clientId);
        final Client two = known.get(other);
        return two != null && (one == null || one.number < two.number);
    }

    /** The one instance of an id that all records share. */
    UUID shared(final UUID clientId) {
        final Client client = known.get(clientId);
        return client == null ? clientId : client.id;
    }

    /** The host a client runs on; empty when that is not known. */
    String host(final UUID clientId) {
        final Client client = known.get(clientId);
        return client == null ? "" : client.host;
    }

    /** A client that was silent for too long, and is not known any more; null when there is none. */
    UUID nextExpired(final long nowMs) {
        if (known.isEmpty()) {
            return null;
        }
        final Client eldest = known.values().iterator().next();
        if (nowMs - eldest.lastMs < ttlMs) {
            return null;
        }
        known.remove(eldest.id);
        expired.add(eldest.id);
        if (expired.size() > MAX_EXPIRED) {
            expired.remove(expired.iterator().next());
        }
        return eldest.id;
    }

    List<ClientInfo> list(final long nowMs) {
        final List<ClientInfo> infos = new ArrayList<>(known.size());
        known.values().forEach(client -> infos.add(new ClientInfo(client.id, client.name, client.host,
            client.endpoint, nowMs - client.lastMs)));
        return infos;
    }

    int size() {
        return known.size();
    }
}
