package io.kvtier.store.master.state;

import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreException;
import io.kvtier.store.protocol.Batch;
import io.kvtier.store.protocol.Command.Ack;
import io.kvtier.store.protocol.DiskCommand;
import io.kvtier.store.protocol.DiskCommand.KeyFileTask;
import io.kvtier.store.protocol.SegmentCommand.Medium;
import io.kvtier.store.protocol.WorkKind;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;

/**
 * Values on their way to files of their own: DISK replicas that are not complete. Each is written by the client in
 * whose memory the value lies; that memory is held until the client says how it went, or the time of a write is over.
 * Then the file is deleted, unless the replica is complete: by the client that hears that it is late, too.
 */
final class KeyFileWrites {
    /** What waits to be written keeps at most this part of all memory from being evicted. */
    private static final int MEMORY_PART = 2;

    private final Tiers tiers;
    private final KeyFileReplicas files;
    private final Clients clients;
    private final Effects effects;
    private final long releaseMs;
    /** By task, in the order in which they were queued. */
    private final Map<Long, Write> writes = new LinkedHashMap<>();
    private long heldBytes;

    private record Write(UUID clientId, PlacedReplica source, KeyFileTask task, long queuedMs) {
    }

    KeyFileWrites(final Tiers tiers, final Clients clients, final Effects effects, final long releaseMs) {
        this.tiers = tiers;
        this.files = tiers.disk().files();
        this.clients = clients;
        this.effects = effects;
        this.releaseMs = releaseMs;
    }

    DiskCommand.KeyFileFolder mount(final UUID clientId, final long nowMs) {
        clients.checkLender(clientId);
        clients.appeared(clientId, nowMs);
        return files.folder().isOn()
            ? new DiskCommand.KeyFileFolder(files.folder().path(), files.mount(clientId))
            : new DiskCommand.KeyFileFolder("", false);
    }

    /** A client writes no more files; what it had to write is not written. */
    Ack clientGone(final UUID clientId, final long nowMs) {
        final boolean was = files.unmount(clientId);
        if (was) {
            writes.values().stream().filter(write -> write.clientId().equals(clientId)).toList()
                .forEach(write -> giveUp(write, nowMs));
        }
        return was ? Ack.OK : Ack.STALE;
    }

    /** A value is new: it gets a file where one of those who have it in memory can write one. */
    void begin(final ObjectEntry entry, final long nowMs) {
        final Residency memory = files.folder().isOn() ? entry.residency(Medium.MEMORY) : null;
        PlacedReplica source = memory == null || KeyFileReplicas.has(entry) ? null : memory.first();
        while (source != null && !(files.isMounted(source.segment().clientId()) && source.segment().isReadable())) {
            source = source.sibling();
        }
        if (source == null
            || heldBytes + source.allocated() > tiers.segments().capacity(Medium.MEMORY) / MEMORY_PART) {
            return;
        }
        final String path = files.begin(entry);
        if (path == null) {
            // Another replica of the same put was complete before.
            return;
        }
        final UUID writer = source.segment().clientId();
        final KeyFileTask task = new KeyFileTask(tiers.catalogue().nextReplicaId(), entry.key(),
            entry.record().version(), source.memory(), path);
        tiers.memory().hold(source);
        heldBytes += source.allocated();
        writes.put(task.replicaId(), new Write(writer, source, task, nowMs));
        effects.workQueued(writer, WorkKind.KEY_FILES);
    }

    /** What a client is to write, oldest first, what it has not answered included. */
    List<KeyFileTask> fetch(final UUID clientId, final int max) {
        final List<KeyFileTask> tasks = new ArrayList<>();
        for (final Write write : writes.values()) {
            if (tasks.size() == max) {
                break;
            }
            if (write.clientId().equals(clientId)) {
                tasks.add(write.task());
            }
        }
        return tasks;
    }

    /** A write has ended; STALE when its file is to go. */
    Ack written(final DiskCommand.KeyFileWritten done, final long nowMs) {
        final Write write = writes.get(done.replicaId());
        if (write == null || !write.clientId().equals(done.clientId())) {
            return Ack.STALE;
        }
        final ObjectEntry entry = tiers.catalogue().find(write.task().key(), write.task().version());
        // Memory that was lost while it was read may have had anything in it.
        final boolean wanted = done.success() && entry != null && entry == write.source().owner()
            && tiers.isReadable(entry) && DiskReplicas.isOf(entry, done.checksum());
        if (!wanted) {
            giveUp(write, nowMs);
            return Ack.STALE;
        }
        end(write, nowMs);
        files.stored(entry, write.task().filePath(), done.checksum());
        return Ack.OK;
    }

    List<Boolean> find(final List<String> paths) {
        if (paths.size() > Batch.MAX_ITEMS) {
            throw new StoreException(ErrorCode.INVALID_PARAMS, "there are " + paths.size()
                + " files in one command; at most " + Batch.MAX_ITEMS + " can be");
        }
        return files.find(paths);
    }

    /** Gives up what was not written in time. */
    void expire(final long nowMs) {
        while (!writes.isEmpty()) {
            final Write oldest = writes.values().iterator().next();
            if (nowMs - oldest.queuedMs() < releaseMs) {
                return;
            }
            giveUp(oldest, nowMs);
        }
    }

    private void giveUp(final Write write, final long nowMs) {
        end(write, nowMs);
        files.drop(write.task().filePath());
    }

    private void end(final Write write, final long nowMs) {
        writes.remove(write.task().replicaId());
        heldBytes -= write.source().allocated();
        tiers.memory().release(write.source(), nowMs);
        if (!write.source().isHeld()) {
            effects.spaceFreed();
        }
    }

    /** How many are under way. */
    int pending() {
        return writes.size();
    }
}
