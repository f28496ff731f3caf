package io.kvtier.store.client;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.kvtier.alloc.HostRegion;
import io.kvtier.bindings.NativeTag;
import io.kvtier.bindings.posix.Errno;
import io.kvtier.kit.Faults;
import io.kvtier.kit.FaultyFiles;
import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.MemoryDirectory;
import io.kvtier.kit.PatternBytes;
import io.kvtier.store.DataType;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.StoreConfig;
import io.kvtier.store.config.Environment;
import io.kvtier.store.protocol.Command;
import io.kvtier.store.protocol.Command.Ack;
import io.kvtier.store.protocol.DiskCommand;
import io.kvtier.store.protocol.DiskCommand.OffloadResult;
import io.kvtier.store.protocol.Master;
import io.kvtier.store.protocol.ObjectCommand;
import io.kvtier.store.protocol.OffloadTask;
import io.kvtier.store.protocol.ReadReply;
import io.kvtier.store.protocol.WorkKind;
import io.kvtier.store.replica.ReplicaDescriptor;
import io.kvtier.store.replica.SegmentAddress;
import io.kvtier.transport.Uninterrupted;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.UUID;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.LinkedBlockingQueue;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** What a disk does with copies that turn out to be bad, over a master that a test plays. */
@ExtendWith(LeakCheck.class)
class DiskTierTest {
    private static final int UNIT = 4096;
    private static final int SIZE = UNIT - 100;
    private static final ObjectKey KEY = ObjectKey.of("key");
    private static final long VERSION = 1;

    @TempDir(factory = MemoryDirectory.class)
    private Path directory;
    private final Faults faults = new Faults();
    private final Queue<OffloadTask> tasks = new ConcurrentLinkedQueue<>();
    private final BlockingQueue<OffloadResult> offloaded = new LinkedBlockingQueue<>();
    private final byte[] bytes = PatternBytes.of(7, SIZE);
    private DiskTier tier;
    private Runnable onUnreadable = () -> { };

    /** One that wants the value whatever happens, has it copied down when the test says so, and gives no memory. */
    private final class Played implements Master {
        @Override
        @SuppressWarnings("unchecked") // Each command is given the answer of its type.
        public <R> R apply(final Command<R> command) {
            return (R) switch (command) {
                case DiskCommand.MountDisk mount -> Ack.OK;
                case DiskCommand.FetchOffloads fetch -> tasks.isEmpty() ? List.of() : List.of(tasks.remove());
                case DiskCommand.OffloadDone done -> {
                    offloaded.add(done.result());
                    yield Ack.OK;
                }
                case ObjectCommand.Query query -> reply(SIZE);
                case ObjectCommand.ReplicaUnreadable unreadable -> {
                    onUnreadable.run();
                    yield Ack.OK;
                }
                default -> throw new AssertionError(command);
            };
        }
    }

    private static ReadReply reply(final long size) {
        return new ReadReply(VERSION, size, List.of(), 0, false, 0, 0, DataType.UNKNOWN);
    }

    private void copyDown() {
        tasks.add(new OffloadTask(KEY, VERSION, 1, new ReplicaDescriptor.Memory(
            SegmentAddress.local(UUID.randomUUID()), 0, SIZE)));
        tier.workQueued(WorkKind.OFFLOADS);
        assertEquals(OffloadResult.STORED, Uninterrupted.get(offloaded::take));
    }

    /** Null when the value was read and is right, else why not. */
    private String read() {
        return read(SIZE);
    }

    private String read(final int size) {
        final MemorySegment target = MemorySegment.ofArray(new byte[size]);
        final String problem = tier.startRead(
            new DiskTier.Wanted(ReadRequest.whole(KEY, List.of(target)), reply(size), 1), size, true).finish();
        if (problem == null) {
            assertArrayEquals(bytes, PatternBytes.copyOf(target));
        }
        return problem;
    }

    private void withTier(final Runnable body) {
        final StoreConfig config = StoreConfig.builder().memoryBytes(UNIT).disk(directory, 16 * UNIT).ioThreads(1)
            .promoteOnHit(false).build();
        final StoreHooks hooks = new StoreHooks(() -> 0, new FaultyFiles(faults), Environment.of(Map.of()));
        try (HostRegion region = HostRegion.allocate(NativeTag.TEST, UNIT)) {
            region.segment().asSlice(0, SIZE).copyFrom(MemorySegment.ofArray(bytes));
            try (DiskTier opened = DiskTier.open(DiskSettings.of(config),
                Engines.embedded(hooks, config), UUID.randomUUID(), new Played(),
                new EmbeddedMemory(region), new Counters())) {
                tier = opened;
                tier.mount("");
                body.run();
            }
        }
    }

    @Test
    void shouldRemoveACopyThatCannotBeRead() {
        withTier(() -> {
            copyDown();
            assertNull(read());
            faults.failNth(Faults.Call.READ, 1, Errno.EIO);

            assertNotNull(read());

            assertEquals(0, tier.values());
            assertEquals("it is not on the disk any more", read());
        });
    }

    @Test
    void shouldRemoveACopyOfAnotherSize() {
        withTier(() -> {
            copyDown();

            assertEquals("it has another size on the disk", read(SIZE - 1));

            assertEquals(0, tier.values());
        });
    }

    /** The master forgets the bad copy, and may have the value copied down again before the disk has removed it. */
    @Test
    void shouldKeepTheCopyThatWasStoredAfterTheBadOneWasReported() {
        withTier(() -> {
            copyDown();
            faults.failNth(Faults.Call.READ, 1, Errno.EIO);
            onUnreadable = this::copyDown;

            assertNotNull(read());

            onUnreadable = () -> { };
            assertEquals(1, tier.values());
            assertNull(read());
        });
    }
}
