package io.kvtier.store.cli.bench;

import io.kvtier.store.BatchResult;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.PutOptions;
import io.kvtier.store.protocol.Batch;
import io.kvtier.store.protocol.Command;
import io.kvtier.store.protocol.Master;
import io.kvtier.store.protocol.ObjectCommand.Exists;
import io.kvtier.store.protocol.ObjectCommand.PutEnd;
import io.kvtier.store.protocol.ObjectCommand.PutStart;
import io.kvtier.store.protocol.ObjectCommand.ReadStart;
import io.kvtier.store.protocol.ObjectCommand.Scope;
import io.kvtier.store.protocol.PutStartReply;
import io.kvtier.store.protocol.ReadReply;
import io.kvtier.store.protocol.SegmentCommand.Medium;
import io.kvtier.store.protocol.SegmentCommand.Mount;
import io.kvtier.store.protocol.SegmentCommand.SegmentSpec;
import io.kvtier.store.replica.SegmentAddress;
import io.kvtier.transport.AccessToken;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.UUID;

/**
 * What is asked of a master, in the name of a client that lends memory which does not exist: no bytes are moved.
 *
 * <p><b>Threading:</b> thread-safe; what it makes is for one thread each.
 */
final class MasterLoad {
    private static final long VALUE_BYTES = 4096;
    private static final int FILL_BATCH = 1024;

    private final Master master;
    private final UUID clientId = UUID.randomUUID();

    MasterLoad(final Master master) {
        this.master = master;
    }

    /** Lends room for that many objects. When they are there, and more come, the oldest go. */
    void lend(final long objects) {
        master.apply(new Mount(clientId, new SegmentSpec("bench", Medium.MEMORY, objects * VALUE_BYTES, VALUE_BYTES,
            new SegmentAddress(UUID.randomUUID(), "tcp://127.0.0.1:9/bench", AccessToken.random()), true)));
    }

    /** Puts objects to be asked for. */
    void fill(final int objects) throws IOException {
        for (int from = 0; from < objects; from += FILL_BATCH) {
            final List<ObjectKey> keys = new ArrayList<>(FILL_BATCH);
            for (int i = from; i < Math.min(objects, from + FILL_BATCH); i++) {
                keys.add(key(i));
            }
            putAll(keys, from);
        }
    }

    /** Puts new objects, one after the other: start and end. */
    Crowd.Work put(final int thread) {
        final NewKeys names = new NewKeys(thread);
        return () -> {
            final ObjectKey key = names.next();
            end(key, master.apply(start(key, names.last)));
            return 1;
        };
    }

    /** Puts new objects, many at once: a batch of starts, a batch of ends. */
    Crowd.Work putBatch(final int thread, final int count) {
        final NewKeys names = new NewKeys(thread);
        return () -> {
            final List<ObjectKey> keys = new ArrayList<>(count);
            for (int i = 0; i < count; i++) {
                keys.add(names.next());
            }
            putAll(keys, names.last);
            return count;
        };
    }

    /** Asks where objects are. */
    Crowd.Work get(final int thread, final int objects) {
        final SplittableRandom random = new SplittableRandom(thread);
        return () -> {
            found(master.apply(new ReadStart(key(random.nextInt(objects)), false)));
            return 1;
        };
    }

    /** Asks where objects are, many at once. */
    Crowd.Work getBatch(final int thread, final int objects, final int count) {
        final SplittableRandom random = new SplittableRandom(thread);
        return () -> {
            final List<ReadStart> reads = new ArrayList<>(count);
            for (int i = 0; i < count; i++) {
                reads.add(new ReadStart(key(random.nextInt(objects)), false));
            }
            for (final BatchResult<ReadReply> reply : master.apply(new Batch<ReadReply>(reads))) {
                found(reply.orThrow());
            }
            return count;
        };
    }

    /** Asks whether objects are there. */
    Crowd.Work exists(final int thread, final int objects) {
        final SplittableRandom random = new SplittableRandom(thread);
        return () -> {
            final ObjectKey key = key(random.nextInt(objects));
            if (!master.apply(new Exists(key))) {
                throw new IOException("the master does not know " + key);
            }
            return 1;
        };
    }

    private static ObjectKey key(final int number) {
        return ObjectKey.of("object-" + number);
    }

    private PutStart start(final ObjectKey key, final long attempt) {
        return new PutStart(clientId, attempt, key, VALUE_BYTES, PutOptions.DEFAULT, false);
    }

    private PutEnd endOf(final ObjectKey key, final PutStartReply reply) throws IOException {
        if (reply instanceof PutStartReply.Started started && started.replicas().size() == 1) {
            return new PutEnd(clientId, key, started.version(), Scope.ALL, false, 0);
        }
        throw new IOException("the master does not take " + key + ": " + reply);
    }

    private void end(final ObjectKey key, final PutStartReply reply) throws IOException {
        master.apply(endOf(key, reply));
    }

    private void putAll(final List<ObjectKey> keys, final long attempt) throws IOException {
        final List<PutStart> starts = new ArrayList<>(keys.size());
        keys.forEach(key -> starts.add(start(key, attempt)));
        final List<BatchResult<PutStartReply>> replies = master.apply(new Batch<PutStartReply>(starts));
        final List<PutEnd> ends = new ArrayList<>(keys.size());
        for (int i = 0; i < keys.size(); i++) {
            ends.add(endOf(keys.get(i), replies.get(i).orThrow()));
        }
        for (final BatchResult<Command.Ack> result : master.apply(new Batch<Command.Ack>(ends))) {
            result.orThrow();
        }
    }

    private static void found(final ReadReply reply) throws IOException {
        if (!reply.found() || reply.size() != VALUE_BYTES || reply.replicas().size() != 1) {
            throw new IOException("the master has " + reply + " for an object of " + VALUE_BYTES + " bytes");
        }
    }

    /** Keys that nobody else has. */
    private static final class NewKeys {
        private final String prefix;
        private long last;

        NewKeys(final int thread) {
            this.prefix = "new-" + thread + '-';
        }

        ObjectKey next() {
            return ObjectKey.of(prefix + ++last);
        }
    }
}
