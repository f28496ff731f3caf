package io.kvtier.store.master.state;

import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreException;
import java.util.LinkedHashSet;
import java.util.Set;
import java.util.UUID;

/**
 * Which folder of which file system the shared files are in: the volume that the marker beside them names, as clients
 * have found it. Who has found another one is elsewhere, on another file system or in the folder behind a mount that is
 * missing: it would not find what others wrote, would say that it is wrong, and others would not find what it writes.
 *
 * <p>The first one who says so decides, and a snapshot, as long as somebody has the files mounted or values lie there.
 */
final class SharedVolume {
    private final String folder;
    private final Clients clients;
    /** Null while nobody has said so. */
    private UUID volume;
    /** Who has found it there, the first one first. */
    private final Set<UUID> finders = new LinkedHashSet<>();

    /**
     * Nobody has said anything.
     *
     * @param folder  as all hosts name it.
     * @param clients where they run.
     */
    SharedVolume(final String folder, final Clients clients) {
        this.folder = folder;
        this.clients = clients;
    }

    /** For a snapshot; null when nobody has said anything. */
    UUID save() {
        return volume;
    }

    /** The volume that counts, with whether values lie in the files, or may; null when any would do. */
    UUID wanted(final boolean inUse) {
        return inUse || !finders.isEmpty() ? volume : null;
    }

    /** What {@link #save} gave. */
    void restore(final UUID saved) {
        volume = saved;
    }

    /**
     * Refuses a client that has found another volume than the one that counts.
     *
     * @param clientId the client.
     * @param found    what it has found; null when it did not say so.
     * @param inUse    whether values lie in the files, or may.
     * @throws StoreException INVALID_PARAMS, which names both.
     */
    void check(final UUID clientId, final UUID found, final boolean inUse) {
        if (volume == null || found == null || volume.equals(found)) {
            return;
        }
        final UUID other = finders.stream().filter(one -> !one.equals(clientId)).findFirst().orElse(null);
        if (other == null && !inUse) {
            return;
        }
        throw new StoreException(ErrorCode.INVALID_PARAMS, named(clientId) + " has volume " + found + " at " + folder
            + (other == null ? ", and the values that this master knows lie in volume " + volume
            : ", and " + named(other) + " has volume " + volume + " there")
            + ": they are not the same folder of the same file system, or it is not mounted on one of the hosts; "
            + "kvtier.cluster in the folder names the volume: mount the same one everywhere, at the same place");
    }

    /** A client that was {@link #check}ed has the files mounted. */
    void found(final UUID clientId, final UUID found) {
        if (found == null) {
            return;
        }
        if (!found.equals(volume)) {
            finders.clear();
            volume = found;
        }
        finders.add(clientId);
    }

    /** A client has them no more. */
    void clientGone(final UUID clientId) {
        finders.remove(clientId);
    }

    private String named(final UUID clientId) {
        final String host = clients.host(clientId);
        return "client " + clientId + (host.isEmpty() ? "" : " on host " + host);
    }
}
