package io.kvtier.store.client.gds;

import io.kvtier.store.BatchResult;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreException;
import io.kvtier.store.client.call.BatchCalls;
import io.kvtier.store.client.master.PutStarts;
import io.kvtier.store.protocol.Batch;
import io.kvtier.store.protocol.Master;
import io.kvtier.store.protocol.ObjectCommand.AddGdsReplicaStart;
import io.kvtier.store.protocol.ObjectCommand.CreateGdsOnlyObject;
import io.kvtier.store.protocol.ObjectCommand.PutStart;
import io.kvtier.store.protocol.PutStartReply;
import io.kvtier.transport.Closings;
import java.util.ArrayList;
import java.util.List;

/**
 * Starts puts that have room in this client's own file: beside the memory that the master gives, or there alone where
 * it has none, for want of room or of the tenant's quota. So a put with room in the file does not wait for memory.
 *
 * @param master the master.
 * @param starts start puts that have to do without the file.
 */
public record GdsStarts(Master master, PutStarts starts) {
    /** Starts one put; the file is told what the master said. */
    public PutStarts.Answer start(final PutStart command, final GdsWrite file) {
        final long asked = System.nanoTime();
        PutStartReply reply = null;
        StoreException refusal = null;
        try {
            reply = master.apply(command);
        } catch (final StoreException e) {
            if (!isQuota(e)) {
                throw e;
            }
            refusal = e;
        }
        if (reply instanceof PutStartReply.Started started) {
            file.answered(started.version(), asked(file.besides(started.version())));
            return new PutStarts.Answer(started, asked);
        }
        if (reply instanceof PutStartReply.Taken) {
            return new PutStarts.Answer(reply, asked);
        }
        final long askedAgain = System.nanoTime();
        final PutStartReply alone = startAlone(command, file);
        if (alone != null) {
            return new PutStarts.Answer(alone, askedAgain);
        }
        if (refusal != null) {
            throw refusal;
        }
        return reply instanceof PutStartReply.NoSpace ? starts.start(command) : new PutStarts.Answer(reply, asked);
    }

    /** Whether nothing but the file can hold a value: the master has no memory for it, and expects none. */
    public static boolean isForTheFile(final BatchResult<PutStartReply> reply) {
        return reply.failure() == null ? reply.outcome() instanceof PutStartReply.NoSpace none && !none.mayComeFree()
            || reply.outcome() instanceof PutStartReply.TooLarge : isQuota(reply.failure());
    }

    private static boolean isQuota(final StoreException e) {
        return e.code() == ErrorCode.TENANT_QUOTA_EXCEEDED;
    }

    private BatchResult<Long> asked(final AddGdsReplicaStart command) {
        try {
            return new BatchResult<>(master.apply(command), null);
        } catch (final StoreException e) {
            return new BatchResult<>(null, e);
        }
    }

    /** Null when that cannot be. */
    private PutStartReply startAlone(final PutStart command, final GdsWrite file) {
        final CreateGdsOnlyObject create = file.alone(command);
        try {
            final PutStartReply reply = master.apply(create);
            file.created(reply);
            return reply;
        } catch (final StoreException e) {
            file.failed(e);
            return null;
        }
    }

    /**
     * The puts of a round of a batch, and the room that each has in the file.
     *
     * <p><b>Lifetime:</b> closed when the round has ended, which settles what became of the room.
     */
    public static final class Rooms implements AutoCloseable {
        private final Master master;
        private final List<PutStart> commands;
        /** One a put, null for none; empty without a file. */
        private final List<GdsWrite> rooms = new ArrayList<>();

        /**
         * Reserves room.
         *
         * @param file this client's own; null without one.
         */
        public Rooms(final Master master, final GdsTier file, final List<PutStart> commands) {
            this.master = master;
            this.commands = commands;
            try (Closings opened = new Closings()) {
                for (int i = 0; file != null && i < commands.size(); i++) {
                    final GdsWrite room = file.reserve(commands.get(i).key(), commands.get(i).size());
                    rooms.add(room);
                    if (room != null) {
                        opened.keep(room, GdsWrite::close);
                    }
                }
                opened.stayOpen();
            }
        }

        /** The room of a put; null for none. */
        public GdsWrite of(final int index) {
            return rooms.isEmpty() ? null : rooms.get(index);
        }

        /** Starts all of them; one answer each. */
        public List<BatchResult<PutStartReply>> start() {
            final List<BatchResult<PutStartReply>> replies =
                new ArrayList<>(master.apply(new Batch<PutStartReply>(commands)));
            if (!rooms.isEmpty()) {
                startBeside(replies);
                startAlone(replies);
            }
            return replies;
        }

        private void startBeside(final List<BatchResult<PutStartReply>> replies) {
            final List<AddGdsReplicaStart> offers = new ArrayList<>();
            final List<Integer> indices = new ArrayList<>();
            for (int i = 0; i < replies.size(); i++) {
                if (rooms.get(i) != null && replies.get(i).outcome() instanceof PutStartReply.Started started) {
                    offers.add(rooms.get(i).besides(started.version()));
                    indices.add(i);
                }
            }
            final List<BatchResult<Long>> answers = BatchCalls.apply(master, offers);
            for (int k = 0; k < indices.size(); k++) {
                rooms.get(indices.get(k)).answered(offers.get(k).version(), answers.get(k));
            }
        }

        private void startAlone(final List<BatchResult<PutStartReply>> replies) {
            final List<CreateGdsOnlyObject> creates = new ArrayList<>();
            final List<Integer> indices = new ArrayList<>();
            for (int i = 0; i < replies.size(); i++) {
                if (rooms.get(i) != null && isWithoutMemory(replies.get(i))) {
                    creates.add(rooms.get(i).alone(commands.get(i)));
                    indices.add(i);
                }
            }
            final List<BatchResult<PutStartReply>> answers = BatchCalls.apply(master, creates);
            for (int k = 0; k < indices.size(); k++) {
                final int index = indices.get(k);
                final BatchResult<PutStartReply> answer = answers.get(k);
                if (answer.failure() == null) {
                    rooms.get(index).created(answer.outcome());
                    replies.set(index, answer);
                } else {
                    rooms.get(index).failed(answer.failure());
                }
            }
        }

        private static boolean isWithoutMemory(final BatchResult<PutStartReply> reply) {
            return reply.failure() == null ? reply.outcome() instanceof PutStartReply.NoSpace
                || reply.outcome() instanceof PutStartReply.TooLarge : isQuota(reply.failure());
        }

        @Override
        public void close() {
            try (Closings steps = new Closings()) {
                rooms.forEach(room -> {
                    if (room != null) {
                        steps.add(room::close);
                    }
                });
            }
        }
    }
}
