package io.kvtier.store.master.state;

import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreException;
import io.kvtier.store.protocol.Batch;
import io.kvtier.store.protocol.Command.Ack;
import io.kvtier.store.protocol.DiskCommand;
import io.kvtier.store.protocol.DiskCommand.KeyFileResult;
import io.kvtier.store.protocol.DiskCommand.KeyFileTask;
import io.kvtier.store.protocol.DiskCommand.StoredVersion;
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
    /** What a file system that is full loses at once of what lies in it. */
    private static final int PART_OF_FULL = 20;
    /** An eviction must not take long; what it has passed over is not the oldest any more when the next one comes. */
    private static final int MOST_LOOKED_AT = 1024;

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

    /** Absolute; empty where values get no files. */
    String folder() {
        return files.folder().path();
    }

    Ack mount(final DiskCommand.MountKeyFiles mount, final long nowMs) {
        clients.checkLender(mount.clientId());
        clients.appeared(mount.clientId(), nowMs);
        if (!files.folder().isOn()) {
            return Ack.STALE;
        }
        files.mount(mount.clientId(), mount.capacity());
        return Ack.OK;
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
        PlacedReplica source = memory == null || KeyFileReplicas.of(entry) != null ? null : memory.first();
        while (source != null && !(files.isMounted(source.segment().clientId()) && source.segment().isReadable())) {
            source = source.sibling();
        }
        if (source == null
            || heldBytes + source.allocated() > tiers.segments().capacity(Medium.MEMORY) / MEMORY_PART
            || !makeRoom(files.missing(entry.record().size()), nowMs)) {
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

    /** Evicts the oldest files until so many bytes are gone; false when they are not. */
    private boolean makeRoom(final long bytes, final long nowMs) {
        if (bytes <= 0) {
            return true;
        }
        final long before = files.used();
        if (!files.evicts() || bytes > before) {
            return false;
        }
        for (int i = 0; i < MOST_LOOKED_AT && before - files.used() < bytes; i++) {
            final StoredVersion version = files.oldest();
            final ObjectEntry entry = tiers.catalogue().find(version.key(), version.version());
            if (!tiers.disk().evict(entry, KeyFileReplicas.of(entry), false, nowMs)) {
                files.spareOldest();
            }
        }
        return before - files.used() >= bytes;
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
        final boolean wanted = done.result() == KeyFileResult.WRITTEN && entry != null
            && entry == write.source().owner() && tiers.isReadable(entry) && DiskReplicas.isOf(entry, done.checksum());
        if (!wanted) {
            // Where files are still to be deleted, there will be room, and this is not the first who found none.
            final boolean full = done.result() == KeyFileResult.NO_ROOM && !files.isDropping();
            giveUp(write, nowMs);
            if (full) {
                makeRoom(Math.min(files.used(), Math.max(write.source().allocated(), files.used() / PART_OF_FULL)),
                    nowMs);
            }
            return Ack.STALE;
        }
        end(write, nowMs);
        files.stored(entry, write.task().filePath(), done.checksum());
        return Ack.OK;
    }

    List<Boolean> find(final DiskCommand.FindKeyFiles find) {
        if (find.paths().size() > Batch.MAX_ITEMS) {
            throw new StoreException(ErrorCode.INVALID_PARAMS, "there are " + find.paths().size()
                + " files in one command; at most " + Batch.MAX_ITEMS + " can be");
        }
        return files.find(find.clientId(), find.paths(), find.last());
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
