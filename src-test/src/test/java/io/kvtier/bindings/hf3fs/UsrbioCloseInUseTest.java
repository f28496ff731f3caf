package io.kvtier.bindings.hf3fs;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kvtier.bindings.NativeTag;
import io.kvtier.bindings.posix.OpenMode;
import io.kvtier.bindings.posix.PosixFile;
import io.kvtier.kit.PatternBytes;
import io.kvtier.kit.Threads;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadLocalRandom;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/**
 * Owners closed by one thread at any moment while others use them: each use ends with what it should, or is refused,
 * and the simulation, which knows what the library would do, has nothing to say.
 */
class UsrbioCloseInUseTest extends OverSimulatedUsrbio {
    private static final int BLOCK = 4096;
    private static final int LENGTH = 5 * BLOCK + 3;
    private static final int THREADS = 3;
    private static final int ROUNDS = 60;
    private static final int MOST_SPINS = 20_000;

    private final byte[] content = PatternBytes.of(1, LENGTH);

    /** Uses in several threads until each is refused; this thread closes at some moment meanwhile. */
    private static void race(final Runnable use, final Runnable close) throws Exception {
        final CountDownLatch started = new CountDownLatch(THREADS);
        final List<CompletableFuture<Void>> users = new ArrayList<>();
        for (int i = 0; i < THREADS; i++) {
            users.add(Threads.start(() -> {
                started.countDown();
                boolean refused = false;
                while (!refused) {
                    try {
                        use.run();
                    } catch (final IllegalStateException e) {
                        if (!e.getMessage().contains("closed") && !e.getMessage().contains("no longer registered")) {
                            throw e;
                        }
                        refused = true;
                    }
                }
            }));
        }
        started.await();
        for (int spins = ThreadLocalRandom.current().nextInt(MOST_SPINS); spins > 0; spins--) {
            Thread.onSpinWait();
        }
        close.run();
        for (final CompletableFuture<Void> user : users) {
            user.get();
        }
    }

    private Hf3fsFile open(final Path path) {
        try (PosixFile opened = PosixFile.open(path.toString(), OpenMode.READ_WRITE)) {
            return Hf3fsFile.register(usrbio, opened);
        }
    }

    private UsrbioChannel channel() {
        return UsrbioChannel.open(usrbio, mount(), new UsrbioOptions(2, 2, BLOCK, 5_000, false, -1));
    }

    private void transfer(final UsrbioChannel channel, final Hf3fsFile file) {
        channel.write(file, MemorySegment.ofArray(content), 0);
        final byte[] read = new byte[LENGTH];
        assertEquals(LENGTH, channel.read(file, MemorySegment.ofArray(read), 0));
        assertArrayEquals(content, read);
    }

    @Test
    void shouldEndOrRefuseEveryTransferWhenTheChannelIsClosed() throws Exception {
        final Path path = fileOf("file", LENGTH);
        for (int round = 0; round < ROUNDS; round++) {
            try (Hf3fsFile file = open(path)) {
                final UsrbioChannel channel = channel();
                race(() -> transfer(channel, file), channel::close);
            }
        }
    }

    @Test
    void shouldEndOrRefuseEveryTransferWhenTheFileIsClosed() throws Exception {
        final Path path = fileOf("file", LENGTH);
        try (UsrbioChannel channel = channel()) {
            for (int round = 0; round < ROUNDS; round++) {
                final Hf3fsFile file = open(path);
                race(() -> transfer(channel, file), file::close);
                // The descriptor is free, and may be another file's now.
                assertEquals(0, made(NativeTag.USRBIO_FILE).handles());
            }
        }
    }

    @Test
    void shouldEndOrRefuseEveryEntryWhenItsMemoryIsClosed() throws Exception {
        final Path path = fileOf("file", LENGTH);
        try (Hf3fsFile file = open(path)) {
            for (int round = 0; round < ROUNDS; round++) {
                final IoVector vector = IoVector.create(usrbio, mount(), (long) THREADS * BLOCK, BLOCK, -1);
                final Queue<Integer> blocks = new ConcurrentLinkedQueue<>(IntStream.range(0, THREADS).boxed().toList());
                race(() -> {
                    final int block = blocks.remove();
                    try (IoRing ring = IoRing.create(usrbio, mount(), IoRingOptions.of(1, true))) {
                        ring.prepare(vector, (long) block * BLOCK, BLOCK, file, 0, 1);
                        ring.submit();
                        assertEquals(1, ring.await(1, 1_000_000_000L));
                        assertEquals(BLOCK, ring.result(0));
                    } finally {
                        blocks.add(block);
                    }
                }, vector::close);
                assertEquals(0, made(NativeTag.USRBIO_MEMORY).handles());
            }
        }
    }
}
