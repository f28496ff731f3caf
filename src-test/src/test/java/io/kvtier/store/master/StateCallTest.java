package io.kvtier.store.master;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.LeakCheck;
import io.kvtier.store.snapshot.files.SnapshotArchive;
import io.kvtier.store.snapshot.files.SnapshotStore;
import java.io.InputStream;
import java.nio.file.NoSuchFileException;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** What a snapshot does in the state may fail, with an error too: that is the snapshot's trouble and nobody else's. */
@ExtendWith(LeakCheck.class)
class StateCallTest {
    /** Whoever applies it goes on; who waits for it is told. */
    private static void assertTold(final StateCall<?> call, final Throwable why) {
        assertTrue(call.apply(null, null), "it is over");
        call.deliver();
        assertSame(why, assertThrows(why.getClass(), call::await));
    }

    @Test
    void shouldTellWhoWaitsOfAnError() {
        final OutOfMemoryError why = new OutOfMemoryError("thrown by a test");
        assertTold(new StateCall<>(running -> {
            throw why;
        }), why);
    }

    @Test
    void shouldTellWhoWaitsOfAnException() {
        final IllegalStateException why = new IllegalStateException("thrown by a test");
        assertTold(new StateCall<>(running -> {
            throw why;
        }), why);
    }

    @Test
    void shouldGiveWhatCameOfIt() {
        final StateCall<String> call = new StateCall<>(running -> "result");
        assertTrue(call.apply(null, null));
        call.deliver();
        assertEquals("result", call.await());
    }

    /** Has no blobs, and none can be begun. */
    private record Broken(CountDownLatch tried) implements SnapshotStore {
        @Override
        public List<String> names() {
            return List.of();
        }

        @Override
        public Writing create(final String name) {
            tried.countDown();
            throw new OutOfMemoryError("thrown by a test");
        }

        @Override
        public InputStream read(final String name) throws NoSuchFileException {
            throw new NoSuchFileException(name);
        }

        @Override
        public void delete(final String name) {
            throw new AssertionError("there is nothing");
        }
    }

    @Test
    void shouldGoOnTakingSnapshotsAfterAnError() throws InterruptedException {
        final CountDownLatch tried = new CountDownLatch(2);
        try (Snapshots snapshots = new Snapshots(null, new SnapshotArchive(new Broken(tried), "c", 1), 1, 1)) {
            snapshots.start();
            assertTrue(tried.await(60, TimeUnit.SECONDS), "it is tried again after the first error");
        }
    }
}
