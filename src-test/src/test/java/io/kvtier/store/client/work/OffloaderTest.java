package io.kvtier.store.client.work;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.alloc.HostRegion;
import io.kvtier.alloc.MemoryRegion;
import io.kvtier.alloc.RegionSlice;
import io.kvtier.alloc.SharedRegion;
import io.kvtier.bindings.NativeTag;
import io.kvtier.bindings.posix.OpenMode;
import io.kvtier.bindings.posix.PosixFile;
import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.MemoryDirectory;
import io.kvtier.kit.Threads;
import io.kvtier.store.DataType;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.StoreException;
import io.kvtier.store.client.call.Counters;
import io.kvtier.store.client.transfer.Move;
import io.kvtier.store.client.transfer.ReplicaMemory;
import io.kvtier.store.protocol.Command;
import io.kvtier.store.protocol.Command.Ack;
import io.kvtier.store.protocol.DiskCommand;
import io.kvtier.store.protocol.DiskCommand.OffloadResult;
import io.kvtier.store.protocol.Master;
import io.kvtier.store.protocol.ObjectCommand;
import io.kvtier.store.protocol.OffloadTask;
import io.kvtier.store.protocol.ReadReply;
import io.kvtier.store.replica.ReplicaDescriptor;
import io.kvtier.store.replica.SegmentAddress;
import io.kvtier.store.storage.StorageBackend;
import io.kvtier.store.storage.StorageBackend.Outcome;
import io.kvtier.transport.AccessToken;
import java.lang.foreign.MemorySegment;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.util.List;
import java.util.Queue;
import java.util.UUID;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What the offloader does when the memory that it copies from is gone. */
@ExtendWith(LeakCheck.class)
class OffloaderTest {
    private static final int UNIT = 4096;
    private static final int SIZE = 100;

    @TempDir(factory = MemoryDirectory.class)
    private Path directory;
    private final Queue<MemoryRegion> sources = new ConcurrentLinkedQueue<>();
    private final List<OffloadResult> told = new CopyOnWriteArrayList<>();
    /** Of the value, as the master knows it; 0 for none. */
    private volatile long version;
    /** Of a value, and how many are given at once. */
    private volatile int size = SIZE;
    private volatile int fetched = 1;
    /** Whether the master cannot be told how an offload ended. */
    private volatile boolean lost;

    /** A master with one value after the other to be offloaded, of which each lies in the next source. */
    private final class Tasks implements Master {
        @Override
        @SuppressWarnings("unchecked") // Each command is given the answer of its type.
        public <R> R apply(final Command<R> command) {
            return (R) switch (command) {
                case DiskCommand.FetchOffloads fetch ->
                    sources.stream().limit(fetched).map(source -> task()).toList();
                case DiskCommand.OffloadDone done -> {
                    told.add(done.result());
                    if (lost) {
                        throw new StoreException(ErrorCode.RPC_FAIL, "lost");
                    }
                    yield Ack.OK;
                }
                case ObjectCommand.Query query -> version == 0 ? ReadReply.NOT_FOUND
                    : new ReadReply(version, SIZE, List.of(), 0, false, 0, 0, DataType.UNKNOWN);
                default -> throw new AssertionError(command);
            };
        }

        private OffloadTask task() {
            return new OffloadTask(ObjectKey.of("key"), 1, 1, new ReplicaDescriptor.Memory(
                new SegmentAddress(UUID.randomUUID(), "", AccessToken.NONE), 0, size));
        }
    }

    /** The memory of one source after the other. */
    private final class Sources implements ReplicaMemory {
        @Override
        public Move startRead(final ReplicaDescriptor.Memory replica, final long offset, final long length,
            final List<MemorySegment> target, final long timeoutMs, final boolean alone) {
            throw new AssertionError();
        }

        @Override
        public Move startWrite(final List<ReplicaDescriptor.Memory> replicas, final List<MemorySegment> source,
            final long timeoutMs, final boolean alone) {
            throw new AssertionError();
        }

        @Override
        public OwnRange own(final ReplicaDescriptor.Memory replica, final long bytes) {
            final RegionSlice slice = sources.remove().slice(0, bytes);
            return new OwnRange() {
                @Override
                public RegionSlice slice() {
                    return slice;
                }

                @Override
                public void close() {
                    // Belongs to the test.
                }
            };
        }

        @Override
        public void close() {
            // Has nothing.
        }
    }

    /** Memory comes free part by part, and the disk writes one while another is made durable. */
    @Test
    void shouldStoreTwoPartsOfABatchAtATime() {
        size = 5 << 20;
        fetched = 2;
        final CountDownLatch inside = new CountDownLatch(2);
        try (HostRegion one = HostRegion.allocate(NativeTag.TEST, size);
             HostRegion other = HostRegion.allocate(NativeTag.TEST, size);
             Offloader offloader = new Offloader(UUID.randomUUID(), new Tasks(), disk(owner -> {
                 inside.countDown();
                 return awaited(inside) ? Outcome.STORED : Outcome.NO_SPACE;
             }), new Sources(), new Counters(), 10_000, () -> { })) {
            sources.addAll(List.of(one, other));
            offloader.start();
            Threads.awaitUntil(() -> told.size() == 2, told::toString);
            assertEquals(List.of(OffloadResult.STORED, OffloadResult.STORED), told);
        }
    }

    private static boolean awaited(final CountDownLatch latch) {
        try {
            return latch.await(10, TimeUnit.SECONDS);
        } catch (final InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    /** A disk on which this becomes of everything. */
    private static StorageBackend disk(final Function<StorageBackend.Owner, Outcome> outcome) {
        return (StorageBackend) Proxy.newProxyInstance(OffloaderTest.class.getClassLoader(),
            new Class<?>[] {StorageBackend.class}, (proxy, method, arguments) -> {
                if (!method.getName().equals("store")) {
                    throw new AssertionError(method.getName());
                }
                return ((List<?>) arguments[0]).stream()
                    .map(item -> new StorageBackend.Result(outcome.apply(
                        (StorageBackend.Owner) arguments[1]), 0, null)).toList();
            });
    }

    @Test
    void shouldAnswerAndGoOnWhenThePageOfAValueIsGone() {
        try (SharedRegion cut = SharedRegion.create(directory, UNIT);
            HostRegion good = HostRegion.allocate(NativeTag.TEST, UNIT)) {
            try (PosixFile file = PosixFile.open(cut.path().toString(), OpenMode.READ_WRITE)) {
                file.resize(UNIT);
            }
            sources.add(cut);
            sources.add(good);
            try (Offloader offloader = new Offloader(UUID.randomUUID(), new Tasks(), disk(owner -> Outcome.STORED),
                new Sources(), new Counters(), Long.MAX_VALUE, () -> { })) {
                offloader.start();
                while (told.size() < 2 && offloader.isRunning()) {
                    Thread.onSpinWait();
                }
            }
            assertEquals(List.of(OffloadResult.DISK_FAILED, OffloadResult.STORED), told);
        }
    }

    /** A disk that failed is sent nothing for a while; one that has no room for a value is, but not that one. */
    @ParameterizedTest
    @CsvSource({"STORED,STORED", "REMOVED_MEANWHILE,OBSOLETE", "TOO_LARGE,VALUE_REFUSED", "NO_SPACE,VALUE_REFUSED",
        "FAILED,DISK_FAILED"})
    void shouldTellTheMasterWhatBecameOfAValue(final Outcome outcome, final OffloadResult expected) {
        final Counters counters = new Counters();
        try (HostRegion memory = HostRegion.allocate(NativeTag.TEST, UNIT)) {
            sources.add(memory);
            try (Offloader offloader = new Offloader(UUID.randomUUID(), new Tasks(), disk(owner -> outcome),
                new Sources(), counters, Long.MAX_VALUE, () -> { })) {
                offloader.start();
                while (told.isEmpty() && offloader.isRunning()) {
                    Thread.onSpinWait();
                }
            }
        }
        assertEquals(List.of(expected), told);
        assertEquals(outcome == Outcome.STORED ? SIZE : 0, counters.diskWrittenBytes().sum());
    }

    /** It is no longer the value, or there is none, when the master knows another version. */
    @ParameterizedTest
    @CsvSource({"0,OBSOLETE", "1,STORED", "2,OBSOLETE"})
    void shouldWantOnlyTheVersionThatTheMasterKnows(final long known, final OffloadResult expected) {
        version = known;
        try (HostRegion memory = HostRegion.allocate(NativeTag.TEST, UNIT)) {
            sources.add(memory);
            try (Offloader offloader = new Offloader(UUID.randomUUID(), new Tasks(), disk(owner ->
                owner.isCurrent(ObjectKey.of("key"), 1) ? Outcome.STORED : Outcome.REMOVED_MEANWHILE), new Sources(),
                new Counters(), Long.MAX_VALUE, () -> { })) {
                offloader.start();
                while (told.isEmpty() && offloader.isRunning()) {
                    Thread.onSpinWait();
                }
            }
        }
        assertEquals(List.of(expected), told);
    }

    /** The disk is mounted once more then, so that what lies on it is known. */
    @Test
    void shouldSayThatTheMasterDoesNotKnowAllWhenItCouldNotBeTold() {
        lost = true;
        try (HostRegion memory = HostRegion.allocate(NativeTag.TEST, UNIT)) {
            sources.add(memory);
            final Offloader offloader = new Offloader(UUID.randomUUID(), new Tasks(), disk(owner -> Outcome.STORED),
                new Sources(), new Counters(), Long.MAX_VALUE, () -> { });
            try (offloader) {
                assertFalse(offloader.takeUnsettled());
                offloader.start();
                while (told.isEmpty() && offloader.isRunning()) {
                    Thread.onSpinWait();
                }
            }
            assertTrue(offloader.takeUnsettled());
            assertFalse(offloader.takeUnsettled(), "said once");
        }
    }
}
