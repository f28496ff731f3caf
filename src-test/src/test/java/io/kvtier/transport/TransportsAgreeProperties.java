package io.kvtier.transport;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kvtier.alloc.HostRegion;
import io.kvtier.bindings.NativeTag;
import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.PatternBytes;
import io.kvtier.transport.file.PosixTransport;
import io.kvtier.transport.file.UringConfig;
import io.kvtier.transport.file.UringTransport;
import io.kvtier.transport.memory.MemoryTransport;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.SplittableRandom;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;

/**
 * Random batches, whose requests go by different transports at once to the same file and to memory: whatever moved
 * them, a byte array says what there must be.
 */
class TransportsAgreeProperties {
    private static final int SLOT = 16 << 10;
    private static final int SLOTS = 24;
    private static final int BYTES = SLOT * SLOTS;
    private static final TransportKind[] FILE_TRANSPORTS = {TransportKind.POSIX, TransportKind.IO_URING, null};

    /** One engine, a file and a region as segments, and what they must hold. */
    private static final class Rig implements AutoCloseable {
        private final Path path;
        private final HostRegion local = HostRegion.allocate(NativeTag.TEST, BYTES);
        private final HostRegion remote = HostRegion.allocate(NativeTag.TEST, BYTES);
        private final TransferEngine engine;
        private final Segment[] segments;
        private final byte[][] models = {PatternBytes.of(1, BYTES), PatternBytes.of(2, BYTES)};
        private final byte[] localModel = PatternBytes.of(3, BYTES);
        private final SplittableRandom random;

        Rig(final long seed, final boolean direct, final int sliceUnits) throws IOException {
            random = new SplittableRandom(seed);
            path = Files.write(Files.createTempFile(Path.of("target"), "agree", ".data"), models[0]);
            PatternBytes.fill(remote.segment(), 2);
            PatternBytes.fill(local.segment(), 3);
            engine = TransferEngine.open(new TransferConfig(4096L * sliceUnits, 30_000), List.of(new MemoryTransport(),
                new UringTransport(UringConfig.DEFAULT, direct), new PosixTransport(2, direct)));
            segments = new Segment[] {engine.openSegment(path.toAbsolutePath().toUri().toString()),
                engine.register("remote", remote)};
        }

        /** Requests that do not touch one another's bytes, each within a slot of its own on both sides. */
        void batch(final Transfer transfer) {
            final int[] theirs = shuffled();
            final int[] ours = shuffled();
            final int requests = 1 + random.nextInt(SLOTS);
            for (int i = 0; i < requests; i++) {
                final int which = random.nextInt(2);
                final int length = random.nextInt(SLOT + 1);
                final int offset = theirs[i] * SLOT + random.nextInt(SLOT - length + 1);
                final int at = ours[i] * SLOT + random.nextInt(SLOT - length + 1);
                transfer.prefer(which == 0 ? FILE_TRANSPORTS[random.nextInt(FILE_TRANSPORTS.length)] : null, false);
                if (random.nextBoolean()) {
                    transfer.write(local, at, length, segments[which], offset);
                    System.arraycopy(localModel, at, models[which], offset, length);
                } else {
                    transfer.read(local, at, length, segments[which], offset);
                    System.arraycopy(models[which], offset, localModel, at, length);
                }
            }
        }

        private int[] shuffled() {
            final int[] order = new int[SLOTS];
            for (int i = 1; i < SLOTS; i++) {
                final int j = random.nextInt(i + 1);
                order[i] = order[j];
                order[j] = i;
            }
            return order;
        }

        void check() throws IOException {
            assertArrayEquals(localModel, PatternBytes.copyOf(local.segment()));
            assertArrayEquals(models[1], PatternBytes.copyOf(remote.segment()));
            assertArrayEquals(models[0], Files.readAllBytes(path));
            for (final TransportKind kind : FILE_TRANSPORTS) {
                engine.submit(engine.newTransfer().prefer(kind, false).read(local, 0, BYTES, segments[0], 0));
                segments[0].close();
                segments[0] = engine.openSegment(path.toAbsolutePath().toUri().toString());
                assertArrayEquals(models[0], PatternBytes.copyOf(local.segment()), String.valueOf(kind));
            }
        }

        @Override
        public void close() throws IOException {
            engine.close();
            local.close();
            remote.close();
            Files.delete(path);
        }
    }

    @Property(tries = 60)
    void allTransportsDoWhatTheModelDoes(@ForAll final long seed, @ForAll final boolean direct,
        @ForAll @IntRange(min = 1, max = 5) final int sliceUnits) {
        LeakCheck.around(() -> {
            try (Rig rig = new Rig(seed, direct, sliceUnits)) {
                final Transfer transfer = rig.engine.newTransfer();
                for (int round = 0; round < 8; round++) {
                    rig.batch(transfer);
                    rig.engine.submit(transfer);
                    transfer.await();
                    assertEquals(transfer.bytes(), transfer.movedBytes());
                    transfer.clear();
                }
                rig.check();
            } catch (final IOException e) {
                throw new UncheckedIOException(e);
            }
        });
    }
}
