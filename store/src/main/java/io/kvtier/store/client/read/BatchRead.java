package io.kvtier.store.client.read;

import io.kvtier.store.BatchResult;
import io.kvtier.store.GetOutcome;
import io.kvtier.store.client.call.BatchCalls;
import io.kvtier.store.client.owner.OwnerReads;
import io.kvtier.store.client.request.ObjectRead;
import io.kvtier.store.client.request.ReadRequest;
import io.kvtier.store.client.transfer.Move;
import io.kvtier.store.client.transfer.RemoteTransfer;
import io.kvtier.store.protocol.Batch;
import io.kvtier.store.protocol.ObjectCommand;
import io.kvtier.store.protocol.ObjectCommand.ReadDone;
import io.kvtier.store.protocol.ObjectCommand.ReadStart;
import io.kvtier.store.protocol.ReadReply;
import io.kvtier.store.replica.Replica;
import io.kvtier.transport.Direction;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * A part of a batch that the master is asked for at once: copies are under way at the same time, and those of one owner
 * are asked of it in one call. What could not be read at the first attempt is read as if it had been asked for alone.
 *
 * <p><b>Threading:</b> one thread. <b>Lifetime:</b> run once.
 */
final class BatchRead {
    private static final System.Logger LOG = System.getLogger(BatchRead.class.getName());
    /** Copies that are under way at the same time; bounds the memory they take. */
    private static final int WINDOW = 32;

    private final Reader reader;
    private final List<ReadRequest> requests;
    private final BatchResult<GetOutcome>[] results;
    private final int from;
    private final int to;
    private final ObjectRead[] reads;
    private final ArrayDeque<Reader.Copy> moving = new ArrayDeque<>();
    /** Of other clients' disks, by owner. */
    private final Map<String, List<Reader.Copy>> remote = new LinkedHashMap<>();

    /**
     * The values of a batch from one to another.
     *
     * @param results where what became of them goes, each at the index of its request.
     * @param from    index of the first.
     * @param to      index after the last.
     */
    BatchRead(final Reader reader, final List<ReadRequest> requests, final BatchResult<GetOutcome>[] results,
        final int from, final int to) {
        this.reader = reader;
        this.requests = requests;
        this.results = results;
        this.from = from;
        this.to = to;
        this.reads = new ObjectRead[to];
    }

    void run() {
        if (!ask()) {
            return;
        }
        try {
            for (int i = from; i < to; i++) {
                startOne(i);
            }
            while (!moving.isEmpty()) {
                finishOne(moving.remove());
            }
            remote.forEach(this::readFrom);
        } finally {
            // Something is left after an error alone, which is thrown; the same may end these.
            moving.forEach(BatchRead::giveUp);
            letAllGo();
        }
        for (int i = from; i < to; i++) {
            if (results[i] == null) {
                resume(i);
            }
        }
    }

    private static void giveUp(final Reader.Copy copy) {
        try {
            copy.move().finish();
        } catch (final RuntimeException | Error e) {
            LOG.log(System.Logger.Level.DEBUG, "a read that was given up failed", e);
        }
    }

    /** False when nothing came of it. */
    private boolean ask() {
        final List<ReadStart> commands = new ArrayList<>(to - from);
        for (int i = from; i < to; i++) {
            commands.add(new ReadStart(requests.get(i).key(), reader.terms().hold()));
        }
        final long now = System.nanoTime();
        final List<BatchResult<ReadReply>> replies;
        try {
            replies = reader.sources().master().apply(new Batch<ReadReply>(commands));
        } catch (final RuntimeException e) {
            for (int i = from; i < to; i++) {
                results[i] = BatchCalls.failed(e);
            }
            return false;
        }
        for (int i = from; i < to; i++) {
            final BatchResult<ReadReply> reply = replies.get(i - from);
            if (reply.failure() != null) {
                results[i] = BatchCalls.failed(reply.failure());
            } else {
                reads[i] = new ObjectRead(requests.get(i), i);
                reader.answered(reads[i], now, reply.outcome());
            }
        }
        return true;
    }

    private void startOne(final int index) {
        final ObjectRead read = reads[index];
        if (read == null) {
            return;
        }
        try {
            final Replica best = reader.best(read);
            if (best == null) {
                results[index] = new BatchResult<>(reader.none(read), null);
                return;
            }
            final String owner = reader.sources().owners() == null ? null : reader.ownerOf(read, best);
            if (owner != null && !owner.isEmpty()) {
                remote.computeIfAbsent(owner, any -> new ArrayList<>())
                    .add(new Reader.Copy(read, best, read.request().lengthOf(read.object().size()), null));
                return;
            }
            moving.add(reader.start(read, best, false));
            if (moving.size() == WINDOW) {
                finishOne(moving.remove());
            }
        } catch (final RuntimeException e) {
            results[index] = BatchCalls.failed(e);
        }
    }

    private void finishOne(final Reader.Copy copy) {
        final int index = copy.read().index();
        try {
            final GetOutcome outcome = reader.finish(copy);
            results[index] = outcome == null ? null : new BatchResult<>(outcome, null);
        } catch (final RuntimeException e) {
            results[index] = BatchCalls.failed(e);
        }
    }

    private void readFrom(final String owner, final List<Reader.Copy> wanted) {
        for (int at = 0; at < wanted.size(); at += WINDOW) {
            final List<Reader.Copy> part = usable(wanted.subList(at, Math.min(wanted.size(), at + WINDOW)));
            final List<Move> moves = part.isEmpty() ? List.of() : reader.sources().owners().read(owner, part.stream()
                .map(copy -> new OwnerReads.Wanted(copy.read(), copy.replica(), copy.length())).toList());
            for (int i = 0; i < part.size(); i++) {
                final Reader.Copy copy = part.get(i);
                moving.add(new Reader.Copy(copy.read(), copy.replica(), copy.length(), moves.get(i)));
            }
            while (!moving.isEmpty()) {
                finishOne(moving.remove());
            }
        }
    }

    /** Those whose memory can be filled; the others fail, each alone. */
    private List<Reader.Copy> usable(final List<Reader.Copy> wanted) {
        final List<Reader.Copy> good = new ArrayList<>(wanted.size());
        for (final Reader.Copy copy : wanted) {
            try {
                RemoteTransfer.check(copy.read().request().target(copy.length()), Direction.READ);
                good.add(copy);
            } catch (final RuntimeException e) {
                results[copy.read().index()] = BatchCalls.failed(e);
            }
        }
        return good;
    }

    private void letAllGo() {
        final List<ReadDone> held = new ArrayList<>();
        for (int i = from; i < to; i++) {
            if (reads[i] != null && reads[i].object().held() != 0) {
                held.add(new ReadDone(requests.get(i).key(), reads[i].object().held()));
            }
        }
        if (!held.isEmpty()) {
            reader.sources().master().apply(new Batch<ObjectCommand.Ack>(held));
        }
    }

    /** What could not be read at the first attempt: other replicas, one value at a time. */
    private void resume(final int index) {
        try {
            results[index] = new BatchResult<>(reader.get(reads[index]), null);
        } catch (final RuntimeException e) {
            results[index] = BatchCalls.failed(e);
        }
    }
}
