package io.kvtier.store.client.work;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.PatternBytes;
import io.kvtier.kit.ReferenceXxh64;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.StoreException;
import io.kvtier.store.client.transfer.Move;
import io.kvtier.store.client.transfer.ReplicaMemory;
import io.kvtier.store.client.transfer.Staging;
import io.kvtier.store.protocol.Command;
import io.kvtier.store.protocol.Command.Ack;
import io.kvtier.store.protocol.DiskCommand.PromotionEnd;
import io.kvtier.store.protocol.DiskCommand.PromotionStart;
import io.kvtier.store.protocol.Master;
import io.kvtier.store.protocol.PageCommand.FetchPromotions;
import io.kvtier.store.protocol.PageCommand.PromotionTask;
import io.kvtier.store.protocol.PromotionReply;
import io.kvtier.store.replica.PageLayout;
import io.kvtier.store.replica.ReplicaDescriptor;
import io.kvtier.store.replica.SegmentAddress;
import io.kvtier.store.storage.shared.DistributedDiskReader;
import io.kvtier.store.storage.shared.FileSystemAdapter;
import io.kvtier.store.storage.shared.OpenFiles;
import io.kvtier.store.storage.shared.PosixFileSystem;
import io.kvtier.transport.TransferConfig;
import io.kvtier.transport.TransferEngine;
import io.kvtier.transport.file.FileOpener;
import io.kvtier.transport.file.PosixTransport;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** Copies from the shared disk to memory, and how they are ended. */
@ExtendWith(LeakCheck.class)
class PromoterTest {
    private static final UUID ME = new UUID(1, 1);
    private static final int SIZE = 10_000;
    private static final byte[] VALUE = PatternBytes.of(1, SIZE);
    private static final ObjectKey A = ObjectKey.of("a");
    private static final ObjectKey B = ObjectKey.of("t", "b");

    @TempDir
    private Path folder;
    private final Staging staging = new Staging();
    private final Tasks master = new Tasks();
    private final Written memory = new Written();
    private FileSystemAdapter files;
    private OpenFiles open;
    private Promoter promoter;

    /** A master that gives each batch of tasks once. */
    private static final class Tasks implements Master {
        private final Deque<List<PromotionTask>> batches = new ArrayDeque<>();
        private final List<PromotionEnd> ended = new ArrayList<>();
        private boolean declines;
        private ErrorCode startFails;

        @Override
        @SuppressWarnings("unchecked") // Each answer is of its command's type.
        public <R> R apply(final Command<R> command) {
            return (R) switch (command) {
                case FetchPromotions fetch -> batches.isEmpty() ? List.of() : batches.remove();
                case PromotionStart start -> started(start);
                case PromotionEnd end -> {
                    ended.add(end);
                    yield Ack.OK;
                }
                default -> throw new AssertionError("not asked for: " + command);
            };
        }

        private PromotionReply started(final PromotionStart start) {
            if (startFails != null) {
                throw new StoreException(startFails, "told to");
            }
            return declines ? PromotionReply.DECLINED : new PromotionReply(start.key().equals(A) ? 70 : 71,
                new ReplicaDescriptor.Memory(SegmentAddress.local(new UUID(5, 5)), start.version() * 4096, SIZE));
        }
    }

    /** Memory that keeps what is written, by offset. */
    private static final class Written implements ReplicaMemory {
        private final Map<Long, byte[]> values = new HashMap<>();
        private String problem;
        private boolean settled = true;

        @Override
        public Move startRead(final ReplicaDescriptor.Memory replica, final long offset, final long length,
            final List<MemorySegment> target, final long timeoutMs, final boolean alone) {
            throw new AssertionError("nothing is read from memory");
        }

        @Override
        public Move startWrite(final List<ReplicaDescriptor.Memory> replicas, final List<MemorySegment> source,
            final long timeoutMs, final boolean alone) {
            values.put(replicas.getFirst().offset(), PatternBytes.copyOf(source.getFirst()));
            return new Move() {
                @Override
                public String finish() {
                    return problem;
                }

                @Override
                public boolean isSettled() {
                    return settled;
                }
            };
        }

        @Override
        public OwnRange own(final ReplicaDescriptor.Memory replica, final long bytes) {
            return null;
        }

        @Override
        public void close() {
            // Nothing is open.
        }
    }

    @BeforeEach
    void start() throws IOException {
        final PageLayout layout = new PageLayout(folder.toString(), 1, 4096, 1 << 20);
        final byte[] bucket = new byte[1 << 20];
        System.arraycopy(VALUE, 0, bucket, 8192, SIZE);
        Files.write(Path.of(layout.path(0)), bucket);
        files = new PosixFileSystem(FileOpener.POSIX,
            TransferEngine.open(TransferConfig.DEFAULT, List.of(new PosixTransport(1, true))));
        open = new OpenFiles(files);
        promoter = new Promoter(ME, master, new DistributedDiskReader(layout, open), memory, staging, 600_000);
    }

    @AfterEach
    void close() {
        open.close();
        files.close();
        staging.close();
    }

    private PromotionTask task(final ObjectKey key, final long version, final long offset) {
        return new PromotionTask(key, version, new ReplicaDescriptor.DistributedDisk(folder + "/bucket_00.data", offset,
            SIZE), ReferenceXxh64.of(VALUE));
    }

    @Test
    void shouldCopyAllThatWaits() {
        master.batches.add(List.of(task(A, 3, 8192)));
        master.batches.add(List.of(task(B, 4, 8192)));

        promoter.run();

        assertEquals(List.of(new PromotionEnd(ME, A, 70, true, true), new PromotionEnd(ME, B, 71, true, true)),
            master.ended);
        assertArrayEquals(VALUE, memory.values.get(3L * 4096));
        assertArrayEquals(VALUE, memory.values.get(4L * 4096));
    }

    /** Another value is at one's place by now, and the other's file ends before it. */
    @Test
    void shouldGiveMemoryBackForWhatIsNotTheValueAndGoOn() {
        master.batches.add(List.of(task(A, 3, 4096), task(B, 4, (1 << 20) - 4096)));
        master.batches.add(List.of(task(A, 5, 8192)));

        promoter.run();

        assertEquals(List.of(new PromotionEnd(ME, A, 70, false, true), new PromotionEnd(ME, B, 71, false, true),
            new PromotionEnd(ME, A, 70, true, true)), master.ended);
        assertEquals(List.of(5L * 4096), List.copyOf(memory.values.keySet()), "no wrong byte went to memory");
    }

    @Test
    void shouldSayWhenBytesMayStillArrive() {
        memory.problem = "its owner does not answer";
        memory.settled = false;
        master.batches.add(List.of(task(A, 3, 8192)));
        promoter.run();
        assertEquals(List.of(new PromotionEnd(ME, A, 70, false, false)), master.ended);
    }

    @Test
    void shouldDoNothingWithoutMemoryAndWhenStopped() {
        master.declines = true;
        master.batches.add(List.of(task(A, 3, 8192)));
        promoter.run();
        master.declines = false;
        master.startFails = ErrorCode.RPC_FAIL;
        master.batches.add(List.of(task(A, 3, 8192)));
        promoter.run();
        master.startFails = null;
        master.batches.add(List.of(task(A, 3, 8192)));
        promoter.stop();
        promoter.run();
        assertEquals(List.of(), master.ended);
        assertEquals(Map.of(), memory.values);
        assertEquals(1, master.batches.size(), "it is left to others");
    }
}
