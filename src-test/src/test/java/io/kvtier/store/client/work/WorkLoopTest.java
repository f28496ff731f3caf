package io.kvtier.store.client.work;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.Threads;
import io.kvtier.store.client.master.MasterLink;
import io.kvtier.store.protocol.Command;
import io.kvtier.store.protocol.ObjectCommand;
import io.kvtier.store.protocol.PutStartReply;
import io.kvtier.store.protocol.WorkKind;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A client that waits for work at a master that does not let it wait. */
class WorkLoopTest {
    private final SynchronousQueue<Thread> asking = new SynchronousQueue<>();
    private final List<WorkKind> received = new CopyOnWriteArrayList<>();
    private volatile int work;

    /** It answers at once, as a master does at which as many wait as may. */
    private final MasterLink master = new MasterLink() {
        @Override
        public int awaitWork(final UUID clientId, final long timeoutMs) {
            asking.offer(Thread.currentThread());
            return work;
        }

        @Override
        public PutStartReply putStart(final ObjectCommand.PutStart command, final long waitMs) {
            throw new UnsupportedOperationException();
        }

        @Override
        public <R> R apply(final Command<R> command) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void endWaits() {
            // It waits for nothing.
        }

        @Override
        public void close() {
            // Nothing is open.
        }
    };

    @Test
    @Timeout(value = 1, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
    void shouldPauseBeforeItAsksAgainWhatWasNotWaitedFor() throws InterruptedException {
        try (WorkLoop loop = new WorkLoop(master, new UUID(1, 2), received::add)) {
            loop.start();
            assertTrue(Threads.awaitWaiting(asking.take()));
            assertEquals(List.of(), received);
            work = WorkKind.DROPS.bit();
            while (!received.contains(WorkKind.DROPS)) {
                Thread.onSpinWait();
            }
            work = 0;
        }
    }
}
