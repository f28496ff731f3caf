package io.kvtier.store.client.shared;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.alloc.RegionSlice;
import io.kvtier.bindings.posix.Errno;
import io.kvtier.kit.Faults;
import io.kvtier.kit.Faults.Call;
import io.kvtier.kit.FaultyFiles;
import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.ManualClock;
import io.kvtier.kit.PatternBytes;
import io.kvtier.kit.Threads;
import io.kvtier.kit.ReferenceXxh64;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.PutOptions;
import io.kvtier.store.StoreException;
import io.kvtier.store.StoreStats.SharedWrites;
import io.kvtier.store.client.shared.DistributedPageBackend.Item;
import io.kvtier.store.client.shared.DistributedPageBackend.Outcome;
import io.kvtier.store.client.shared.DistributedPageBackend.Result;
import io.kvtier.store.client.shared.DistributedPageBackend.Wanted;
import io.kvtier.store.config.MasterSettings;
import io.kvtier.store.master.EmbeddedMaster;
import io.kvtier.store.master.state.Effects;
import io.kvtier.store.protocol.Command;
import io.kvtier.store.protocol.Master;
import io.kvtier.store.protocol.ObjectCommand;
import io.kvtier.store.protocol.PageCommand;
import io.kvtier.store.protocol.PageCommand.BucketInfo;
import io.kvtier.store.protocol.PageCommand.PageMapping;
import io.kvtier.store.protocol.PutStartReply;
import io.kvtier.store.protocol.SegmentCommand;
import io.kvtier.store.protocol.WorkKind;
import io.kvtier.store.replica.PageLayout;
import io.kvtier.store.replica.SegmentAddress;
import io.kvtier.store.storage.shared.BucketFiles;
import io.kvtier.store.storage.shared.DistributedDiskReader;
import io.kvtier.store.storage.shared.DistributedPageWriter;
import io.kvtier.store.storage.shared.FileSystemAdapter;
import io.kvtier.store.storage.shared.OpenFiles;
import io.kvtier.store.storage.shared.PosixFileSystem;
import io.kvtier.transport.TransferConfig;
import io.kvtier.transport.TransferEngine;
import io.kvtier.transport.file.PosixTransport;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** Values into pages and out of them, over a real master of this process and files that fail when told to. */
@ExtendWith(LeakCheck.class)
class DistributedPageBackendTest {
    private static final UUID ME = new UUID(1, 1);
    private static final UUID OTHER = new UUID(2, 2);
    private static final int PAGE = 4096;
    private static final int BUCKETS = 4;
    private static final int PAGES = 64;
    private static final long WRITE_MS = 600_000;

    @TempDir
    private Path folder;
    private final ManualClock clock = new ManualClock(1000);
    private final Faults faults = new Faults();
    private final Arena arena = Arena.ofShared();
    private final Map<ObjectKey, byte[]> contents = new HashMap<>();
    /** What was asked of the master, in order. */
    private final List<Command<?>> asked = Collections.synchronizedList(new ArrayList<>());
    private Consumer<Command<?>> before = command -> { };
    private Consumer<Command<?>> after = command -> { };
    private EmbeddedMaster master;
    private FileSystemAdapter files;
    private OpenFiles open;
    private DistributedPageBackend backend;
    private long writeMs = WRITE_MS;
    private long attempts;

    @BeforeEach
    void start() {
        final PageLayout layout = layout();
        final MasterSettings.Pages off = MasterSettings.Pages.OFF;
        master = new EmbeddedMaster(MasterSettings.embedded(1, 0, 10_000, 0).withPages(new MasterSettings.Pages(layout,
            "c1", 1, 0, false, off.promotion())), clock, new Effects() {
                @Override
                public void workQueued(final UUID clientId, final WorkKind kind) {
                    // Nobody fetches it here.
                }

                @Override
                public void spaceFreed() {
                    // Nobody waits here.
                }
            });
        master.apply(new SegmentCommand.Ping(ME, "me", "host", ""));
        master.apply(new SegmentCommand.Mount(ME, new SegmentCommand.SegmentSpec("memory",
            SegmentCommand.Medium.MEMORY, 1L << 30, PAGE, SegmentAddress.local(new UUID(9, 9)), true)));
        for (final UUID client : List.of(ME, OTHER)) {
            master.apply(new SegmentCommand.Ping(client, "c", "host", ""));
            master.apply(new PageCommand.MountDistributedDisk(client, layout, null, false));
        }
        files = new PosixFileSystem(new FaultyFiles(faults), TransferEngine.open(TransferConfig.DEFAULT,
            List.of(new PosixTransport(new FaultyFiles(faults), 1, true))));
        BucketFiles.prepare(layout, files);
        open = new OpenFiles(files);
        backend = backend(ME);
        faults.heal();
    }

    private DistributedPageBackend backend(final UUID client) {
        return new DistributedPageBackend(client, new Master() {
            @Override
            public <R> R apply(final Command<R> command) {
                asked.add(command);
                before.accept(command);
                final R reply = master.apply(command);
                after.accept(command);
                return reply;
            }
        }, PAGE, new DistributedPageWriter(open), new DistributedDiskReader(layout(), open), () -> writeMs);
    }

    private PageLayout layout() {
        return new PageLayout(folder.toString(), BUCKETS, PAGE, (long) PAGES * PAGE);
    }

    @AfterEach
    void close() {
        open.close();
        files.close();
        master.close();
        arena.close();
    }

    private Item item(final ObjectKey key, final int size) {
        final PutStartReply.Started started = (PutStartReply.Started) master.apply(
            new ObjectCommand.PutStart(ME, ++attempts, key, size, PutOptions.DEFAULT, true));
        master.apply(new ObjectCommand.PutEnd(ME, key, started.version(), ObjectCommand.Scope.ALL, false, 0));
        final byte[] content = PatternBytes.of(attempts, size);
        contents.put(key, content);
        final MemorySegment memory = arena.allocate(size + 7L);
        memory.asSlice(0, size).copyFrom(MemorySegment.ofArray(content));
        return new Item(key, started.version(), RegionSlice.of(memory), size, 0);
    }

    /** Values of two tenants with the same keys, of one page to a few; three quarters of the disk. */
    private List<Item> items(final int count) {
        return IntStream.range(0, count).mapToObj(i ->
            item(ObjectKey.of(i % 2 == 0 ? "" : "t", "k" + i / 2), 1 + i * 997 % (4 * PAGE))).toList();
    }

    private PageMapping mapping(final ObjectKey key) {
        return master.apply(new PageCommand.GetDistributedPageMapping(key));
    }

    private long allocatedPages() {
        return master.apply(new PageCommand.DistributedBuckets()).stream().mapToLong(BucketInfo::allocated).sum();
    }

    private static List<Outcome> outcomes(final List<Result> results) {
        return results.stream().map(Result::outcome).toList();
    }

    private static long pages(final long size) {
        return (size + PAGE - 1) / PAGE;
    }

    private long asked(final Class<?> kind) {
        return asked.stream().filter(kind::isInstance).count();
    }

    private void assertStored(final Item item) throws IOException {
        final PageMapping mapping = mapping(item.key());
        assertEquals(item.version(), mapping.version(), () -> "of " + item.key());
        assertEquals(ReferenceXxh64.of(contents.get(item.key())), mapping.checksum());
        final byte[] found = new byte[(int) item.size()];
        try (RandomAccessFile file = new RandomAccessFile(mapping.place().filePath(), "r")) {
            file.seek(mapping.place().offset());
            file.readFully(found);
        }
        assertArrayEquals(contents.get(item.key()), found, () -> "of " + item.key());
    }

    @Test
    void shouldStoreABatchOfTwoTenantsWithOneSyncAFile() throws IOException {
        final List<Item> items = items(40);
        final long syncs = faults.count(Call.SYNC);

        assertEquals(Collections.nCopies(40, Outcome.STORED), outcomes(backend.store(items)));

        for (final Item item : items) {
            assertStored(item);
        }
        final long used = items.stream().map(item -> mapping(item.key()).place().filePath()).distinct().count();
        assertEquals(used, faults.count(Call.SYNC) - syncs);
        assertEquals(List.of(PageCommand.BatchAllocateDistributedPage.class,
            PageCommand.NotifyDistributedDiskSuccess.class), asked.stream().<Class<?>>map(Object::getClass).toList());
        final long pages = items.stream().mapToLong(item -> pages(item.size())).sum();
        assertEquals(pages, allocatedPages());
        assertEquals(new SharedWrites(40, pages, items.stream().mapToLong(Item::size).sum(), 0, 0), backend.stats());
        assertEquals(List.of(), backend.recovered(), "the master knows what is there");
    }

    @Test
    void shouldLoadWhatIsThereInOneStep() throws IOException {
        final List<Item> items = items(20);
        backend.store(items);
        final Item corrupt = items.get(7);
        try (RandomAccessFile file = new RandomAccessFile(mapping(corrupt.key()).place().filePath(), "rw")) {
            file.seek(mapping(corrupt.key()).place().offset());
            file.write(~contents.get(corrupt.key())[0]);
        }
        asked.clear();
        final List<Wanted> wanted = new ArrayList<>();
        items.forEach(item -> wanted.add(new Wanted(item.key(), arena.allocate(item.size() + 1))));
        wanted.add(new Wanted(ObjectKey.of("missing"), arena.allocate(10)));
        wanted.add(new Wanted(items.get(3).key(), arena.allocate(items.get(3).size() - 1)));

        final List<Long> sizes = backend.load(wanted, 0);

        for (int i = 0; i < items.size(); i++) {
            final Item item = items.get(i);
            assertEquals(item == corrupt ? -1 : item.size(), sizes.get(i), () -> "of " + item.key());
            if (item != corrupt) {
                assertArrayEquals(contents.get(item.key()),
                    PatternBytes.copyOf(wanted.get(i).target().asSlice(0, item.size())));
            }
        }
        assertEquals(List.of(-1L, -1L), sizes.subList(20, 22));
        assertEquals(1, asked.size());
    }

    /** Exactly the values that are durable are told of, and the pages of the others come back. */
    @Test
    void shouldTellOfExactlyWhatIsDurableAndGiveBackTheRest() throws IOException {
        final List<Item> items = items(12);
        faults.failNth(Call.WRITE, 5, Errno.EIO);

        final List<Result> results = backend.store(items);

        final List<Item> failed = IntStream.range(0, 12).filter(i -> results.get(i).outcome() == Outcome.FAILED)
            .mapToObj(items::get).toList();
        assertEquals(1, failed.size(), results::toString);
        assertEquals(11, Collections.frequency(outcomes(results), Outcome.STORED));
        assertEquals(PageMapping.NONE, mapping(failed.getFirst().key()));
        for (final Item item : items) {
            if (item != failed.getFirst()) {
                assertStored(item);
            }
        }
        assertEquals(1, backend.stats().failures());
        assertEquals(1, backend.stats().leaksPrevented());
        assertEquals(11, backend.stats().values());
        assertEquals(List.of(Outcome.STORED), outcomes(backend.store(failed)), "it gets other pages");
        assertStored(failed.getFirst());
    }

    @Test
    void shouldLeaveNoPageBehindWhenAFileCannotBeOpened() {
        final List<Item> items = items(8);
        faults.failAlways(Call.OPEN, Errno.EMFILE);
        assertEquals(Collections.nCopies(8, Outcome.FAILED), outcomes(backend.store(items)));
        assertEquals(0, allocatedPages(), "nothing was sent there, so nothing rests");
        assertEquals(8, backend.stats().leaksPrevented());
        assertEquals(0, asked(PageCommand.NotifyDistributedDiskSuccess.class));
    }

    /** Who wrote it does not matter: the kernel tells one caller only. */
    @Test
    void shouldTellOfNothingThatAFailedSyncMayHaveLost() {
        final Item item = item(ObjectKey.of("a"), 10_000);
        faults.failNth(Call.SYNC, 1, Errno.EIO);
        final List<Result> results = backend.store(List.of(item));
        assertEquals(List.of(Outcome.FAILED), outcomes(results));
        assertTrue(results.getFirst().cause().getMessage().contains("EIO"), results::toString);
        assertEquals(PageMapping.NONE, mapping(item.key()));
        assertEquals(0, asked(PageCommand.NotifyDistributedDiskSuccess.class));
        assertEquals(1, backend.stats().leaksPrevented());
        assertEquals(3, allocatedPages(), "what was sent may show there later: they rest");
        assertEquals(List.of(Outcome.STORED), outcomes(backend.store(List.of(item))));
    }

    @Test
    void shouldKeepPagesWhenTheMasterMayHaveHeardOfThem() throws IOException {
        final Item heard = item(ObjectKey.of("heard"), 5000);
        after = failing(PageCommand.NotifyDistributedDiskSuccess.class);
        assertEquals(List.of(Outcome.UNKNOWN), outcomes(backend.store(List.of(heard))));
        assertStored(heard);
        final Item lost = item(ObjectKey.of("lost"), 5000);
        after = command -> { };
        before = failing(PageCommand.NotifyDistributedDiskSuccess.class);
        assertEquals(List.of(Outcome.UNKNOWN), outcomes(backend.store(List.of(lost))));
        assertEquals(PageMapping.NONE, mapping(lost.key()));
        assertEquals(0, asked(PageCommand.BatchFreeDistributedPage.class));
        before = command -> { };
        assertEquals(List.of(Outcome.NOT_NEEDED, Outcome.STORED), outcomes(backend.store(List.of(heard, lost))),
            "the task is named again");
        assertStored(lost);
        assertEquals(4, allocatedPages(), "the same pages, not others beside them");
    }

    private Consumer<Command<?>> failing(final Class<?> kind) {
        return command -> {
            if (kind.isInstance(command)) {
                throw new StoreException(ErrorCode.RPC_FAIL, "the connection ended");
            }
        };
    }

    @Test
    void shouldWriteNothingWithoutAnAnswerToItsRequest() {
        final Item item = item(ObjectKey.of("a"), 100);
        after = failing(PageCommand.BatchAllocateDistributedPage.class);
        final long writes = faults.count(Call.WRITE);
        assertThrows(StoreException.class, () -> backend.store(List.of(item)));
        assertEquals(writes, faults.count(Call.WRITE));
        after = command -> { };
        assertEquals(List.of(Outcome.STORED), outcomes(backend.store(List.of(item))));
        assertEquals(1, allocatedPages());
    }

    @Test
    void shouldFailTheSameWhenPagesCannotBeGivenBack() {
        final Item item = item(ObjectKey.of("a"), 100);
        faults.failNth(Call.WRITE, 1, Errno.ENOSPC);
        before = failing(PageCommand.BatchFreeDistributedPage.class);
        assertEquals(List.of(Outcome.FAILED), outcomes(backend.store(List.of(item))));
        assertEquals(0, backend.stats().leaksPrevented());
        assertEquals(PageMapping.NONE, mapping(item.key()));
    }

    @Test
    void shouldSayWhatHasNoRoomAndStoreTheRest() throws IOException {
        final Item large = item(ObjectKey.of("large"), PAGES * PAGE + 1);
        final Item small = item(ObjectKey.of("small"), 10);
        assertEquals(List.of(Outcome.NO_SPACE, Outcome.STORED), outcomes(backend.store(List.of(large, small))));
        assertStored(small);
        assertEquals(0, asked(PageCommand.BatchFreeDistributedPage.class), "there is nothing to give back");
    }

    @Test
    void shouldWriteNothingThatNeedNotBe() {
        final Item removed = item(ObjectKey.of("removed"), 10);
        master.apply(new ObjectCommand.Remove(removed.key(), true));
        final Item stored = item(ObjectKey.of("stored"), 10);
        backend.store(List.of(stored));
        final Item taken = item(ObjectKey.of("taken"), 10);
        master.apply(new PageCommand.AllocateDistributedPage(OTHER,
            new PageCommand.PageRequest(taken.key(), taken.version(), 10, 0)));
        final long writes = faults.count(Call.WRITE);
        assertEquals(Collections.nCopies(3, Outcome.NOT_NEEDED),
            outcomes(backend.store(List.of(removed, stored, taken))));
        assertEquals(writes, faults.count(Call.WRITE));
    }

    @Test
    void shouldNotCountAValueThatWasRemovedWhileItWasWritten() {
        final Item item = item(ObjectKey.of("a"), 10);
        before = command -> {
            if (command instanceof PageCommand.NotifyDistributedDiskSuccess) {
                master.apply(new ObjectCommand.Remove(item.key(), true));
            }
        };
        assertEquals(List.of(Outcome.NOT_NEEDED), outcomes(backend.store(List.of(item))));
        assertEquals(new SharedWrites(0, 0, 0, 0, 0), backend.stats());
        assertEquals(PageMapping.NONE, mapping(item.key()));
    }

    /** The master gives the pages to others when the time is over. */
    @Test
    void shouldBeginNothingWhenTheTimeToWriteIsOver() {
        writeMs = 1;
        final List<Item> items = items(5);
        final long writes = faults.count(Call.WRITE);
        final List<Result> results = backend.store(items);
        assertEquals(Collections.nCopies(5, Outcome.FAILED), outcomes(results));
        assertTrue(results.getFirst().cause().getMessage().contains("time"), results::toString);
        assertEquals(writes, faults.count(Call.WRITE));
        assertEquals(0, allocatedPages());
    }

    /** Not that nobody needs the value: it would never be offloaded, and nobody would hear why. */
    @Test
    void shouldFailWhenTheFileSystemHadItOnlyAfterItsTime() throws IOException {
        writeMs = 2000;
        final Item item = item(ObjectKey.of("a"), 10);
        before = command -> {
            if (command instanceof PageCommand.NotifyDistributedDiskSuccess) {
                final long begin = System.nanoTime();
                Threads.awaitUntil(() -> System.nanoTime() - begin > writeMs * 1_000_000, () -> "no time passes");
                // Its pages are reaped.
                master.apply(new PageCommand.UnmountDistributedDisk(ME));
                master.apply(new PageCommand.MountDistributedDisk(ME, layout(), null, false));
            }
        };
        final Result result = backend.store(List.of(item)).getFirst();
        assertEquals(Outcome.FAILED, result.outcome());
        assertTrue(result.cause().getMessage().contains("put_start_release_timeout_sec"), result::toString);
        assertEquals(PageMapping.NONE, mapping(item.key()));
        before = command -> { };
        final Item next = item(ObjectKey.of("a"), 10);
        assertEquals(List.of(Outcome.STORED), outcomes(backend.store(List.of(next))));
        assertStored(next);
    }

    /** Whose files they are is found out first, which may take long; the master names the values again. */
    @Test
    void shouldAskForNothingBeforeItsFilesWereLookedAt() throws IOException {
        final List<Item> items = items(5);
        writeMs = 0;
        assertEquals(ErrorCode.UNAVAILABLE_IN_CURRENT_STATUS,
            assertThrows(StoreException.class, () -> backend.store(items)).code());
        assertEquals(List.of(), asked);
        writeMs = WRITE_MS;
        assertEquals(Collections.nCopies(5, Outcome.STORED), outcomes(backend.store(items)));
        assertStored(items.getFirst());
    }

    /** Pages of the next master, of other files, which were asked for while the last one's word still counted. */
    @Test
    void shouldWriteToNothingThatAnotherMasterGave() {
        final List<Item> items = items(5);
        final long writes = faults.count(Call.WRITE);
        after = command -> writeMs = 0;
        assertThrows(StoreException.class, () -> backend.store(items));
        assertEquals(writes, faults.count(Call.WRITE));
        assertEquals(0, allocatedPages(), "they are given back");
    }

    @Test
    void shouldWriteNoMoreThanTheValueAndZerosBehindIt() throws IOException {
        final Item item = item(ObjectKey.of("a"), PAGE + 10);
        final Item neighbour = item(ObjectKey.of("b"), PAGE);
        backend.store(List.of(item, neighbour));
        final PageMapping mapping = mapping(item.key());
        final byte[] all = new byte[2 * PAGE];
        try (RandomAccessFile file = new RandomAccessFile(mapping.place().filePath(), "r")) {
            file.seek(mapping.place().offset());
            file.readFully(all);
        }
        assertArrayEquals(Arrays.copyOf(contents.get(item.key()), 2 * PAGE), all);
        assertStored(neighbour);
    }
}
