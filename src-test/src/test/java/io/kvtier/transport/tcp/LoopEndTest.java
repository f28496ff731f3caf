package io.kvtier.transport.tcp;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.Threads;
import io.kvtier.transport.Uninterrupted;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;

/** A loop does all that it took before it ends, and ends what belongs to it, whatever one of them does. */
class LoopEndTest {
    private final List<String> done = new CopyOnWriteArrayList<>();

    private final class Failing implements Loop.Member {
        private final String name;

        Failing(final String name) {
            this.name = name;
        }

        @Override
        public long tick(final long now) {
            return Loop.NEVER;
        }

        @Override
        public void stop() {
            done.add(name);
            throw new IllegalStateException("a test's exception");
        }
    }

    private static void fail() {
        throw new LinkageError("a test's error");
    }

    @Test
    void shouldDoAllThatItTookAndStopAllMembersWhenSomeThrow() throws InterruptedException {
        final Loop loop = new Loop("test-loop", item -> done.add((String) item), () -> { }, () -> false);
        final CountDownLatch inside = new CountDownLatch(1);
        final CountDownLatch goOn = new CountDownLatch(1);
        loop.execute(() -> {
            loop.add(new Failing("one"));
            loop.add(new Failing("two"));
            inside.countDown();
            Uninterrupted.await(goOn::await);
        });
        inside.await();
        // All of these are taken in one turn, the last of the loop.
        final Thread stopper = Thread.ofPlatform().daemon().unstarted(loop::stop);
        loop.execute(LoopEndTest::fail);
        loop.put("before");
        stopper.start();
        assertTrue(Threads.awaitWaiting(stopper));
        loop.execute(LoopEndTest::fail);
        loop.put("behind");
        goOn.countDown();

        stopper.join();
        assertEquals(List.of("before", "behind", "one", "two"), done);
    }
}
