package io.kvtier.store.client.work;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kvtier.kit.LeakCheck;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.client.call.Counters;
import io.kvtier.store.client.master.MasterLink;
import io.kvtier.store.client.transfer.Move;
import io.kvtier.store.client.transfer.ReplicaMemory;
import io.kvtier.store.protocol.Command;
import io.kvtier.store.protocol.DiskCommand;
import io.kvtier.store.protocol.Master;
import io.kvtier.store.protocol.ObjectCommand;
import io.kvtier.store.protocol.OffloadTask;
import io.kvtier.store.protocol.PutStartReply;
import io.kvtier.store.protocol.WorkKind;
import io.kvtier.store.replica.ReplicaDescriptor;
import io.kvtier.store.replica.SegmentAddress;
import java.lang.foreign.MemorySegment;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** Threads that a store has one of: without them nothing is copied, removed or lent any more. */
@ExtendWith(LeakCheck.class)
class ThreadsThatLiveOnTest {
    private static final UUID CLIENT = UUID.randomUUID();
    private static final String CUT = "a test's page that is gone";

    /** A master with one value after the other to be copied down. */
    private static final class Tasks implements Master {
        private final AtomicInteger fetches = new AtomicInteger();
        private final LinkedBlockingQueue<DiskCommand.OffloadResult> told = new LinkedBlockingQueue<>();

        @Override
        @SuppressWarnings("unchecked") // Each case answers with the type that its command names.
        public <R> R apply(final Command<R> command) {
            return (R) switch (command) {
                case DiskCommand.FetchOffloads fetch ->
                    fetches.getAndIncrement() % 2 == 0 ? List.of(task()) : List.of();
                case DiskCommand.OffloadDone done -> {
                    told.add(done.result());
                    yield Command.Ack.OK;
                }
                default -> throw new IllegalStateException(command.toString());
            };
        }

        private static OffloadTask task() {
            return new OffloadTask(ObjectKey.of("key"), 1, 1,
                new ReplicaDescriptor.Memory(SegmentAddress.local(UUID.randomUUID()), 0, 100));
        }
    }

    /** Memory that is gone. */
    private static final class Cut implements ReplicaMemory {
        @Override
        public Move startRead(final ReplicaDescriptor.Memory replica, final long offset, final long length,
            final List<MemorySegment> target, final long timeoutMs, final boolean alone) {
            throw new InternalError(CUT);
        }

        @Override
        public Move startWrite(final List<ReplicaDescriptor.Memory> replicas, final List<MemorySegment> source,
            final long timeoutMs, final boolean alone) {
            throw new InternalError(CUT);
        }

        @Override
        public OwnRange own(final ReplicaDescriptor.Memory replica, final long bytes) {
            throw new InternalError(CUT);
        }

        @Override
        public void close() {
            // Nothing is left.
        }
    }

    @Test
    void shouldTellOfAnOffloadWhoseMemoryIsGoneAndTakeTheNext() throws InterruptedException {
        final Tasks master = new Tasks();
        try (Offloader offloader =
            new Offloader(CLIENT, master, new Offloader.Places(null, null), new Cut(), new Counters(), 60_000,
                () -> { })) {
            offloader.start();
            assertEquals(DiskCommand.OffloadResult.DISK_FAILED, master.told.take());
            offloader.wake();
            assertEquals(DiskCommand.OffloadResult.DISK_FAILED, master.told.take());
        }
    }

    /** A link that hears of work each time that it asks, and whose first question ends in a way nobody foresaw. */
    private static final class Announcing implements MasterLink {
        private final Throwable first;
        private final AtomicInteger asked = new AtomicInteger();

        Announcing(final Throwable first) {
            this.first = first;
        }

        @Override
        public <R> R apply(final Command<R> command) {
            throw new IllegalStateException(command.toString());
        }

        @Override
        public PutStartReply putStart(final ObjectCommand.PutStart command, final long waitMs) {
            throw new IllegalStateException(command.toString());
        }

        @Override
        public int awaitWork(final UUID clientId, final long timeoutMs) {
            if (asked.getAndIncrement() == 0) {
                if (first instanceof Error error) {
                    throw error;
                }
                throw (RuntimeException) first;
            }
            return WorkKind.OFFLOADS.bit();
        }

        @Override
        public void endWaits() {
            // It never waits.
        }

        @Override
        public void close() {
            // It has nothing.
        }
    }

    @Test
    void shouldHearOfWorkAfterAQuestionThatEndedInAnUnforeseenWay() throws InterruptedException {
        for (final Throwable first : List.of(new IllegalStateException("a test's exception"),
            new LinkageError("a test's error"))) {
            final LinkedBlockingQueue<WorkKind> heard = new LinkedBlockingQueue<>();
            final WorkLoop loop = new WorkLoop(new Announcing(first), CLIENT, heard::add);
            loop.start();
            // What was announced and not heard may be anything.
            final Set<WorkKind> all = EnumSet.noneOf(WorkKind.class);
            for (int i = 0; i < WorkKind.values().length; i++) {
                all.add(heard.take());
            }
            assertEquals(EnumSet.allOf(WorkKind.class), all);
            assertEquals(WorkKind.OFFLOADS, heard.take());
            loop.close();
        }
    }
}
