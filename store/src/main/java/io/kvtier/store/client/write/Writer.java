package io.kvtier.store.client.write;

import io.kvtier.store.BatchResult;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.PutOutcome;
import io.kvtier.store.StoreException;
import io.kvtier.store.client.call.BatchCalls;
import io.kvtier.store.client.call.Counters;
import io.kvtier.store.client.device.BlockDevices;
import io.kvtier.store.client.gds.GdsStarts;
import io.kvtier.store.client.gds.GdsTier;
import io.kvtier.store.client.gds.GdsWrite;
import io.kvtier.store.client.master.PutStarts;
import io.kvtier.store.client.request.PutRequest;
import io.kvtier.store.client.transfer.ReplicaMemory;
import io.kvtier.store.protocol.Batch;
import io.kvtier.store.protocol.Command.Ack;
import io.kvtier.store.protocol.Master;
import io.kvtier.store.protocol.ObjectCommand.PutEnd;
import io.kvtier.store.protocol.ObjectCommand.PutRevoke;
import io.kvtier.store.protocol.ObjectCommand.PutStart;
import io.kvtier.store.protocol.ObjectCommand.Scope;
import io.kvtier.store.protocol.PutStartReply;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Puts: asks the master for room, waits for room where some is coming, copies, and tells the master how it ended.
 *
 * <p>A value is written by a deadline, counted from before the master was asked: long after it the master may give the
 * memory to others, and a late write would be theirs.
 *
 * <p><b>Threading:</b> thread-safe.
 */
public final class Writer {
    /** Values of one round of a batch; a value becomes readable, and may be evicted, when its round has ended. */
    private static final int ROUND_ITEMS = 1024;
    private static final long ROUND_BYTES = 64L << 20;
    /** Copies of one batch that are under way at the same time. */
    private static final int WINDOW = 32;
    private static final System.Logger LOG = System.getLogger(Writer.class.getName());

    private final UUID clientId;
    private final AtomicLong attempts = new AtomicLong();
    private final Master master;
    private final PutStarts starts;
    private final Places places;
    private final Counters counters;
    private final long writeTimeoutMs;

    /**
     * Where values go.
     *
     * @param memory  reaches replicas in memory.
     * @param devices reaches those on block devices; null where there are none.
     * @param file    this client's own for GDS replicas; null without one.
     */
    public record Places(ReplicaMemory memory, BlockDevices devices, GdsTier file) {
    }

    /** The values of a batch, and what became of them. */
    private record Round(List<PutRequest> values, BatchResult<PutOutcome>[] results) {
        void failed(final int index, final Throwable why) {
            results[index] = BatchCalls.failed(why);
        }

        void done(final int index, final PutOutcome outcome) {
            results[index] = new BatchResult<>(outcome, null);
        }
    }

    /**
     * A writer.
     *
     * @param starts         starts puts.
     * @param places         where values go.
     * @param writeTimeoutMs milliseconds from before the master is asked until all bytes must be written.
     */
    public Writer(final UUID clientId, final Master master, final PutStarts starts, final Places places,
        final Counters counters, final long writeTimeoutMs) {
        this.clientId = clientId;
        this.master = master;
        this.starts = starts;
        this.places = places;
        this.counters = counters;
        this.writeTimeoutMs = writeTimeoutMs;
    }

    /** Puts one value; blocks until it can be read, or there is no room in time. */
    public PutOutcome put(final PutRequest value) {
        final PutStart command = command(value);
        final long beganNanos = System.nanoTime();
        try (GdsWrite file = room(command)) {
            if (file != null) {
                return put(value, command, file, new GdsStarts(master, starts).start(command, file));
            }
        }
        if (!holdsFile(command)) {
            return put(value, command, null, starts.start(command));
        }
        return putWithoutRoom(value, command, beganNanos);
    }

    /** Room in this client's own file; null for none. */
    private GdsWrite room(final PutStart command) {
        return places.file() == null ? null : places.file().reserve(command.key(), command.size());
    }

    private boolean holdsFile(final PutStart command) {
        return places.file() != null && places.file().holds(command.size());
    }

    /** The file is full. Memory is enough; what only the file can hold waits for room there. */
    private PutOutcome putWithoutRoom(final PutRequest value, final PutStart command, final long beganNanos) {
        final BatchResult<PutStarts.Answer> first = started(command);
        if (!GdsStarts.isForTheFile(first.failure() == null ? new BatchResult<>(first.outcome().reply(), null)
            : new BatchResult<>(null, first.failure()))) {
            places.file().wentWithout(command.size());
            return put(value, command, null, first.orThrow());
        }
        final long deadlineNanos = beganNanos + TimeUnit.MILLISECONDS.toNanos(starts.putTimeoutMs());
        try (GdsWrite file = places.file().awaitRoom(command, starts, deadlineNanos)) {
            if (file != null) {
                return put(value, command, file, new GdsStarts(master, starts).start(command, file));
            }
        }
        places.file().wentWithout(command.size());
        return refused(command, first.orThrow().reply());
    }

    private BatchResult<PutStarts.Answer> started(final PutStart command) {
        try {
            return new BatchResult<>(starts.start(command), null);
        } catch (final StoreException e) {
            return new BatchResult<>(null, e);
        }
    }

    private PutOutcome put(final PutRequest value, final PutStart command, final GdsWrite file,
        final PutStarts.Answer answer) {
        if (!(answer.reply() instanceof PutStartReply.Started started)) {
            return refused(command, answer.reply());
        }
        final ValueWrite write = new ValueWrite(0, value, started, command.size(), file);
        write(write, answer.askedNanos());
        if (!write.isGood()) {
            revokeQuietly(write);
            throw write.thrown();
        }
        final List<Scope> written = write.written();
        for (int i = 0; i < written.size(); i++) {
            requireDone(write, master.apply(end(write, written.get(i))), i);
        }
        ended(write);
        return PutOutcome.STORED;
    }

    /** Puts many values, each of which may fail alone; blocks as {@link #put}. */
    public List<BatchResult<PutOutcome>> putBatch(final List<PutRequest> values) {
        @SuppressWarnings({"unchecked", "rawtypes"}) // An array of a generic type cannot be made otherwise.
        final BatchResult<PutOutcome>[] results = new BatchResult[values.size()];
        final Round round = new Round(values, results);
        List<Integer> left = new ArrayList<>(values.size());
        for (int i = 0; i < values.size(); i++) {
            left.add(i);
        }
        while (!left.isEmpty()) {
            left = putRound(round, left);
        }
        return Arrays.asList(results);
    }

    /**
     * Puts the first of some values, as many as fit a round. A key that comes twice waits for the next round, so that
     * it is answered as if they came one after the other. Returns those that are left.
     */
    private List<Integer> putRound(final Round round, final List<Integer> indices) {
        final List<Integer> now = new ArrayList<>();
        final List<Integer> later = new ArrayList<>();
        final List<PutStart> commands = new ArrayList<>();
        final Set<ObjectKey> keys = new HashSet<>();
        long bytes = 0;
        for (final int index : indices) {
            final PutStart command = command(round.values().get(index));
            final boolean room = now.isEmpty() || now.size() < ROUND_ITEMS && bytes + command.size() <= ROUND_BYTES;
            if (room && later.isEmpty() && keys.add(command.key())) {
                now.add(index);
                commands.add(command);
                bytes += command.size();
            } else {
                later.add(index);
            }
        }
        final List<Integer> waiting = startAll(round, now, commands);
        for (final int index : waiting) {
            try {
                round.done(index, put(round.values().get(index)));
            } catch (final RuntimeException e) {
                round.failed(index, e);
            }
        }
        return later;
    }

    /** Returns the values that may yet find room. */
    private List<Integer> startAll(final Round round, final List<Integer> indices, final List<PutStart> commands) {
        final List<Integer> waiting = new ArrayList<>();
        final GdsStarts.Rooms rooms = new GdsStarts.Rooms(master, places.file(), commands);
        try (rooms) {
            final long asked = System.nanoTime();
            final List<BatchResult<PutStartReply>> replies;
            try {
                replies = rooms.start();
            } catch (final RuntimeException e) {
                indices.forEach(index -> round.failed(index, e));
                return List.of();
            }
            final List<ValueWrite> writes = new ArrayList<>();
            for (int i = 0; i < indices.size(); i++) {
                final int index = indices.get(i);
                try {
                    if (mayFindRoom(replies.get(i), commands.get(i), rooms.of(i))) {
                        waiting.add(index);
                        continue;
                    }
                    if (rooms.of(i) == null && places.file() != null) {
                        places.file().wentWithout(commands.get(i).size());
                    }
                    switch (replies.get(i).orThrow()) {
                        case PutStartReply.Started started -> writes.add(new ValueWrite(index,
                            round.values().get(index), started, commands.get(i).size(), rooms.of(i)));
                        case PutStartReply other -> round.done(index, refused(commands.get(i), other));
                    }
                } catch (final RuntimeException e) {
                    round.failed(index, e);
                }
            }
            writeAll(writes, asked);
            endAll(round, writes);
        }
        return waiting;
    }

    /** Whether waiting may help: for memory, or for the file where that has no room for the value and nothing else. */
    private boolean mayFindRoom(final BatchResult<PutStartReply> reply, final PutStart command, final GdsWrite room) {
        return reply.failure() == null && reply.outcome() instanceof PutStartReply.NoSpace none && none.mayComeFree()
            || room == null && holdsFile(command) && GdsStarts.isForTheFile(reply);
    }

    private void writeAll(final List<ValueWrite> writes, final long askedNanos) {
        final ArrayDeque<ValueWrite> moving = new ArrayDeque<>();
        try {
            for (final ValueWrite write : writes) {
                write.prepare();
                write.start(places.memory(), places.devices(), leftMs(askedNanos), writes.size() == 1);
                moving.add(write);
                if (moving.size() == WINDOW) {
                    moving.remove().finish(leftMs(askedNanos));
                }
            }
        } finally {
            moving.forEach(write -> write.finish(leftMs(askedNanos)));
        }
    }

    private void endAll(final Round round, final List<ValueWrite> writes) {
        final List<ValueWrite> good = writes.stream().filter(ValueWrite::isGood).toList();
        writes.stream().filter(write -> !write.isGood()).forEach(write -> {
            revokeQuietly(write);
            round.failed(write.index(), write.failure());
        });
        endGood(round, good);
    }

    /** Of most of them there is one thing to say; of others two. */
    private void endGood(final Round round, final List<ValueWrite> good) {
        final List<PutEnd> ends = new ArrayList<>(good.size());
        good.forEach(write -> write.written().forEach(scope -> ends.add(end(write, scope))));
        if (ends.isEmpty()) {
            return;
        }
        try {
            final List<BatchResult<Ack>> acks = master.apply(new Batch<>(ends));
            int next = 0;
            for (final ValueWrite write : good) {
                final int count = write.written().size();
                endOne(round, write, acks.subList(next, next + count));
                next += count;
            }
        } catch (final RuntimeException e) {
            good.forEach(write -> round.failed(write.index(), e));
        }
    }

    private void endOne(final Round round, final ValueWrite write, final List<BatchResult<Ack>> acks) {
        try {
            for (int i = 0; i < acks.size(); i++) {
                requireDone(write, acks.get(i).orThrow(), i);
            }
            ended(write);
            round.done(write.index(), PutOutcome.STORED);
        } catch (final RuntimeException e) {
            round.failed(write.index(), e);
        }
    }

    private void write(final ValueWrite write, final long askedNanos) {
        try {
            write.prepare();
            write.start(places.memory(), places.devices(), leftMs(askedNanos), true);
        } finally {
            write.finish(leftMs(askedNanos));
        }
    }

    /** Milliseconds until the bytes must be written; 0 when it is too late. */
    private long leftMs(final long askedNanos) {
        return Math.max(0, writeTimeoutMs - TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - askedNanos));
    }

    private PutStart command(final PutRequest value) {
        return new PutStart(clientId, attempts.incrementAndGet(), value.key(), value.byteSize(), value.options(),
            value.replace());
    }

    private PutEnd end(final ValueWrite write, final Scope scope) {
        return new PutEnd(clientId, write.value().key(), write.started().version(), scope, write.isChecksummed(),
            write.checksum());
    }

    /** The first end makes the value readable; of what a later one is about, it may have gone since. */
    private static void requireDone(final ValueWrite write, final Ack ack, final int number) {
        if (ack == Ack.STALE && number == 0) {
            throw new StoreException(ErrorCode.INVALID_WRITE, "the master had given up the write of "
                + write.value().key() + " when its " + write.size() + " bytes were there: it took too long, the memory "
                + "was taken back, or somebody replaced the value; nothing was stored, put it again");
        }
    }

    private void ended(final ValueWrite write) {
        write.committed();
        if (write.isInMemory()) {
            counters.memoryWrittenBytes().add(write.size());
        }
        // The side that failed, where the other one was enough.
        write.missing().forEach(scope -> revokeQuietly(write, scope));
    }

    private void revokeQuietly(final ValueWrite write) {
        revokeQuietly(write, Scope.ALL);
    }

    /** What a master that cannot be told does not hear of it gives up by itself in time. */
    private void revokeQuietly(final ValueWrite write, final Scope scope) {
        try {
            master.apply(new PutRevoke(clientId, write.value().key(), write.started().version(), scope,
                write.isSettled()));
        } catch (final StoreException e) {
            LOG.log(System.Logger.Level.WARNING, "the master could not be told that the write of {0} is given up; it "
                + "frees the room after a while by itself: {1}", write.value().key(), e.getMessage());
        }
    }

    private PutOutcome refused(final PutStart command, final PutStartReply reply) {
        return switch (reply) {
            case PutStartReply.Taken taken -> taken.outcome();
            case PutStartReply.NoSpace none -> PutOutcome.NO_SPACE;
            // The file has no room for it now; memory never has.
            case PutStartReply.TooLarge ignored when places.file() != null && places.file().holds(command.size()) ->
                PutOutcome.NO_SPACE;
            case PutStartReply.TooLarge large -> throw new StoreException(ErrorCode.INVALID_PARAMS, "value "
                + command.key() + " has " + command.size() + " bytes, and no piece of memory of the store holds more "
                + "than " + large.largest() + "; raise memoryBytes (of a node: --memory-bytes) or cut the value");
            case PutStartReply.Started started -> throw new IllegalStateException("not refused: " + started);
        };
    }
}
