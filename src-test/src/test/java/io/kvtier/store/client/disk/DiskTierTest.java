package io.kvtier.store.client.disk;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.alloc.HostRegion;
import io.kvtier.bindings.NativeTag;
import io.kvtier.bindings.posix.Errno;
import io.kvtier.bindings.posix.OpenMode;
import io.kvtier.kit.Faults;
import io.kvtier.kit.FaultyFiles;
import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.MemoryDirectory;
import io.kvtier.kit.PatternBytes;
import io.kvtier.store.DataType;
import io.kvtier.store.DiskBackend;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.StoreConfig;
import io.kvtier.store.StoreException;
import io.kvtier.store.client.call.Counters;
import io.kvtier.store.client.engine.Engines;
import io.kvtier.store.client.engine.StoreHooks;
import io.kvtier.store.client.request.ReadRequest;
import io.kvtier.store.client.transfer.EmbeddedMemory;
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
import io.kvtier.transport.file.FileOpener;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.EnumSource;

/** What a disk does with copies that turn out to be bad, over a master that a test plays. */
@ExtendWith(LeakCheck.class)
@ParameterizedClass
@EnumSource(DiskBackend.class)
class DiskTierTest {
    private static final int UNIT = 4096;
    private static final int SIZE = UNIT - 100;
    private static final String NODE = "node-1";
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
    @Parameter
    private DiskBackend kind;

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
        withTier(null, body);
    }

    private void withTier(final DiskBackend said, final Runnable body) {
        withTier(said, true, new FaultyFiles(faults), body);
    }

    private void withTier(final DiskBackend said, final boolean direct, final FileOpener opener, final Runnable body) {
        final StoreConfig config = StoreConfig.builder().directIo(direct).memoryBytes(UNIT).disk(directory, 16 * UNIT)
            .diskBackend(said).diskNode(NODE).ioThreads(1)
            .promoteOnHit(false).build();
        final StoreHooks hooks = new StoreHooks(() -> 0, opener,
            Environment.of(Map.of(DiskBackend.VARIABLE, kind.configName())));
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

    /** Another host's writes are not in this one's cache: nobody can ask for reads through it. */
    @Test
    void shouldPassTheCacheOfASharedFileSystemWhateverItIsTold() {
        final Set<OpenMode> modes = ConcurrentHashMap.newKeySet();
        withTier(null, false, (path, mode) -> {
            if (path.matches(".*\\.(bucket|kv|data)")) {
                modes.add(mode);
            }
            return FileOpener.POSIX.open(path, mode);
        }, () -> {
            copyDown();
            assertNull(read());
        });
        assertEquals(kind == DiskBackend.DISTRIBUTED, modes.contains(OpenMode.READ_WRITE_DIRECT), modes::toString);
    }

    private static String firstFile(final DiskBackend backend) {
        return switch (backend) {
            case OFFSET_ALLOCATOR -> "kv_cache.data";
            case BUCKET -> "kv_buckets.header";
            case FILE_PER_KEY -> "kv_files.header";
            case DISTRIBUTED -> NODE + "/kv_node.header";
        };
    }

    @Test
    void shouldUseTheFilesThatTheVariableSaysUnlessItIsToldOthers() {
        withTier(() -> assertTrue(Files.exists(directory.resolve(firstFile(kind)))));
        for (final DiskBackend said : DiskBackend.values()) {
            if (said == kind) {
                withTier(said, () -> { });
            } else {
                final StoreException refusal = assertThrows(StoreException.class, () -> withTier(said, () -> { }));
                assertEquals(ErrorCode.FILE_OPEN_FAIL, refusal.code());
                assertTrue(refusal.getMessage().contains(said.configName()), refusal.getMessage());
                assertTrue(refusal.getMessage().contains(kind.configName()), refusal.getMessage());
            }
        }
    }

    @Test
    void shouldGiveACopyUpWhoseFileIsGone() {
        withTier(() -> {
            copyDown();
            try (Stream<Path> files = Files.walk(directory)) {
                for (final Path file : files.filter(path -> path.toString().matches(".*\\.(bucket|kv|data)"))
                    .toList()) {
                    Files.delete(file);
                }
            } catch (final IOException e) {
                throw new UncheckedIOException(e);
            }

            final String problem = read();

            if (isOpenAllTheTime()) {
                assertNull(problem);
                return;
            }
            assertTrue(problem.contains("cannot be opened"), problem);
            assertEquals(0, tier.values());
        });
    }

    /** That a process has too many files open says nothing of the copy. */
    @Test
    void shouldKeepACopyWhoseFileCannotBeOpenedJustNow() {
        withTier(() -> {
            copyDown();
            faults.failNth(Faults.Call.OPEN, 1, Errno.EMFILE);

            final String problem = read();

            faults.heal();
            assertEquals(1, tier.values());
            if (isOpenAllTheTime()) {
                assertNull(problem);
                return;
            }
            assertTrue(problem.contains("cannot be opened"), problem);
            assertNull(read());
        });
    }

    private boolean isOpenAllTheTime() {
        return kind == DiskBackend.OFFSET_ALLOCATOR;
    }
}
