package io.kvtier.transport.shm;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.alloc.HostRegion;
import io.kvtier.alloc.MappedRegion;
import io.kvtier.alloc.MemoryKind;
import io.kvtier.alloc.RegionSlice;
import io.kvtier.alloc.SharedRegion;
import io.kvtier.bindings.Availability;
import io.kvtier.bindings.NativeResources;
import io.kvtier.bindings.NativeTag;
import io.kvtier.bindings.posix.Errno;
import io.kvtier.bindings.posix.ErrnoException;
import io.kvtier.bindings.posix.OpenMode;
import io.kvtier.bindings.posix.PosixFile;
import io.kvtier.kit.MemoryDirectory;
import io.kvtier.kit.Mounts;
import io.kvtier.kit.PatternBytes;
import io.kvtier.kit.Threads;
import io.kvtier.transport.AccessToken;
import io.kvtier.transport.Segment;
import io.kvtier.transport.Transfer;
import io.kvtier.transport.TransferConfig;
import io.kvtier.transport.TransferEngine;
import io.kvtier.transport.TransferException;
import io.kvtier.transport.TransferFailure;
import io.kvtier.transport.TransferRequest;
import io.kvtier.transport.Transport;
import io.kvtier.transport.TransportContract;
import io.kvtier.transport.TransportKind;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The owner of the memory is this process too, with a mapping of its own; for other processes see ShmPeersTest. */
class ShmTransportTest extends TransportContract {
    private static final int PAGE = 4096;

    @TempDir(factory = MemoryDirectory.class)
    private Path directory;
    private final Map<String, SharedRegion> owned = new HashMap<>();

    @AfterEach
    void closeOwned() throws IOException {
        owned.values().forEach(SharedRegion::close);
        try (Stream<Path> left = Files.list(directory).filter(path -> path.toString().contains("kvtier-"))) {
            assertEquals(List.of(), left.toList());
        }
    }

    @Override
    protected TransportKind kind() {
        return TransportKind.SHM;
    }

    @Override
    protected Transport newTransport() {
        return new ShmTransport(directory);
    }

    private SharedRegion share(final String name, final byte[] content, final AccessToken token) {
        final SharedRegion region =
            SharedRegion.create(directory, content.length, token == null ? null : token.bytes());
        region.segment().copyFrom(MemorySegment.ofArray(content));
        owned.put(name, region);
        return region;
    }

    @Override
    protected Segment open(final TransferEngine with, final String name, final byte[] content) {
        return with.openSegment(ShmTransport.addressOf(share(name, content, null)));
    }

    @Override
    protected byte[] content(final String name) {
        return PatternBytes.copyOf(owned.get(name).segment());
    }

    private static TransferFailure refusal(final Runnable call) {
        final TransferFailure failure = assertThrows(TransferException.class, call::run).failure();
        assertEquals(TransferFailure.Kind.INVALID, failure.kind());
        return failure;
    }

    private static void cut(final SharedRegion region, final long bytes) {
        try (PosixFile file = PosixFile.open(region.path().toString(), OpenMode.READ_WRITE)) {
            file.resize(bytes);
        }
    }

    @Test
    void shouldNameTheFileInTheAddress() {
        final SharedRegion region = share("s", new byte[1], null);

        assertEquals("shm://" + region.path(), ShmTransport.addressOf(region));
        final Segment segment = engine(TransferConfig.DEFAULT).openSegment(ShmTransport.addressOf(region));
        assertEquals(Segment.Kind.SHARED, segment.kind());
        assertNull(segment.region());
    }

    @ParameterizedTest
    @CsvSource({"0, 10001", "9999, 2", "10000, 1", "20000, 1", "9223372036854770000, 1"})
    void shouldMoveNothingWhenTheRangeEndsOutsideTheSegment(final long offset, final long length) {
        final byte[] model = PatternBytes.of(1, 10_000);
        // The first slices of the request are inside; and the file goes on to the end of its last page.
        final TransferEngine engine = engine(new TransferConfig(PAGE, 30_000));
        final Segment segment = open(engine, "s", model);
        final HostRegion local = region(20_000);
        PatternBytes.fill(local.segment(), 2);

        refusal(() -> engine.submit(List.of(TransferRequest.write(local.slice(0, length), segment, offset))));
        refusal(() -> engine.submit(List.of(TransferRequest.read(local.slice(0, length), segment, offset))));

        assertArrayEquals(model, content("s"));
        assertArrayEquals(PatternBytes.of(2, 20_000), PatternBytes.copyOf(local.segment()));
    }

    @Test
    void shouldTakeConfinedMemoryOnlyFromItsOwnThread() {
        final byte[] model = PatternBytes.of(1, 100);
        final TransferEngine engine = engine(TransferConfig.DEFAULT);
        final Segment segment = open(engine, "s", model);
        try (Arena arena = Arena.ofConfined()) {
            final RegionSlice confined = RegionSlice.of(arena.allocate(100));
            engine.submit(List.of(TransferRequest.read(confined, segment, 0))).await();
            assertArrayEquals(model, PatternBytes.copyOf(confined.segment()));

            Threads.start(() -> {
                refusal(() -> engine.submit(List.of(TransferRequest.read(confined, segment, 0))));
            }).join();
        }
    }

    @Test
    void shouldMoveBetweenSharedMemoryAndMappedFilesAsWell() throws IOException {
        final byte[] model = PatternBytes.of(1, 3 * PAGE);
        final TransferEngine engine = engine(new TransferConfig(PAGE, 30_000));
        final Segment segment = open(engine, "s", model);
        final SharedRegion other = share("other", new byte[3 * PAGE], null);
        engine.submit(List.of(TransferRequest.read(other.slice(0, 3 * PAGE), segment, 0))).await();
        assertArrayEquals(model, content("other"));

        final Path path = Files.write(directory.resolve("file"), PatternBytes.of(2, 3 * PAGE));
        try (MappedRegion mapped = MappedRegion.map(path.toString(), 0, 3 * PAGE, true)) {
            engine.submit(List.of(TransferRequest.write(mapped.slice(1, 2 * PAGE), segment, 5))).await();
        }
        System.arraycopy(PatternBytes.of(2, 3 * PAGE), 1, model, 5, 2 * PAGE);
        assertArrayEquals(model, content("s"));

        final SharedRegion itself = owned.get("s");
        engine.submit(List.of(TransferRequest.read(itself.slice(0, PAGE), segment, 2 * PAGE))).await();
        System.arraycopy(model, 2 * PAGE, model, 0, PAGE);
        assertArrayEquals(model, content("s"));
    }

    @Test
    void shouldServeNoMemoryOfADevice() {
        final Transport transport = newTransport();
        assertFalse(transport.capability().memory().contains(MemoryKind.DEVICE));
        assertTrue(transport.capability().availability().available());
        transport.close();
    }

    @Test
    void shouldRefuseToWriteWhatMayOnlyBeRead() throws Exception {
        final byte[] model = PatternBytes.of(1, 100);
        final Path elsewhere = Files.createDirectory(directory.resolve("elsewhere"));
        final SharedRegion region = share("s", model, null);
        final TransferEngine engine = engine(TransferConfig.DEFAULT);
        final HostRegion local = region(200);
        PatternBytes.fill(local.segment(), 2);
        try (Mounts mount = Mounts.readOnly(directory, elsewhere)) {
            final Segment segment = engine.openSegment("shm://" + mount.at().resolve(region.path().getFileName()));

            final TransferFailure failure =
                refusal(() -> engine.submit(List.of(TransferRequest.write(local.slice(0, 100), segment, 0))));
            assertTrue(failure.message().contains("read-only"), failure.message());
            engine.submit(List.of(TransferRequest.read(local.slice(100, 100), segment, 0))).await();
            segment.close();
        }
        assertArrayEquals(model, content("s"));
        assertArrayEquals(model, PatternBytes.copyOf(local.segment().asSlice(100)));
    }

    @Test
    void shouldBeOpenedWithItsTokenOrNoneAndNeverWithAnother() {
        final AccessToken token = AccessToken.random();
        final String address = ShmTransport.addressOf(share("s", new byte[100], token));
        final String bare = ShmTransport.addressOf(share("bare", new byte[100], null));
        final TransferEngine engine = engine(TransferConfig.DEFAULT);

        engine.openSegment(address, token);
        engine.openSegment(address);
        // Although it is open by now.
        assertThrows(IllegalArgumentException.class, () -> engine.openSegment(address, AccessToken.random()));
        assertThrows(IllegalArgumentException.class, () -> engine.openSegment(bare, token));
    }

    @Test
    void shouldMapOnceForAllSegmentsOfANameAndUnmapWithTheLast() {
        final SharedRegion region = share("s", new byte[100], null);
        final TransferEngine engine = engine(TransferConfig.DEFAULT);
        final HostRegion local = region(100);

        final Segment one = engine.openSegment(ShmTransport.addressOf(region));
        final Segment two = engine.openSegment(ShmTransport.addressOf(region));
        assertEquals(2, NativeResources.snapshot().get(NativeTag.MAPPED_REGION).handles());
        one.close();
        engine.submit(List.of(TransferRequest.read(local.slice(0, 100), two, 0))).await();
        assertEquals(2, NativeResources.snapshot().get(NativeTag.MAPPED_REGION).handles());
        two.close();
        assertEquals(1, NativeResources.snapshot().get(NativeTag.MAPPED_REGION).handles());
    }

    @Test
    void shouldKeepWhatIsOpenAndOpenItNoMoreOnceItsOwnerHasClosedIt() {
        final byte[] model = PatternBytes.of(1, 100);
        final TransferEngine engine = engine(TransferConfig.DEFAULT);
        final Segment segment = open(engine, "s", model);
        final HostRegion local = region(100);
        owned.get("s").close();

        assertEquals(Errno.ENOENT,
            assertThrows(ErrnoException.class, () -> engine.openSegment(segment.name())).errno());
        engine.submit(List.of(TransferRequest.read(local.slice(0, 100), segment, 0))).await();
        assertArrayEquals(model, PatternBytes.copyOf(local.segment()));
        engine.submit(List.of(TransferRequest.write(local.slice(0, 100), segment, 0))).await();
    }

    @ParameterizedTest
    @ValueSource(ints = {0, PAGE, 10 * PAGE})
    void shouldRefuseToOpenAnythingElse(final int length) throws IOException {
        final Path path = Files.write(directory.resolve("file"), PatternBytes.of(1, length));
        final TransferEngine engine = engine(TransferConfig.DEFAULT);

        assertThrows(IllegalArgumentException.class, () -> engine.openSegment("shm://" + path));
        assertThrows(IllegalArgumentException.class, () -> engine.openSegment("shm://" + directory));
        assertEquals(Errno.ENOENT,
            assertThrows(ErrnoException.class, () -> engine.openSegment("shm://" + path + "x")).errno());
        assertArrayEquals(PatternBytes.of(1, length), Files.readAllBytes(path));
    }

    @Test
    void shouldRefuseToOpenWhatIsShorterThanItsHeaderSays() throws IOException {
        final SharedRegion region = share("s", new byte[3 * PAGE], null);
        cut(region, 3 * PAGE);
        final TransferEngine engine = engine(TransferConfig.DEFAULT);

        final IllegalArgumentException refusal = assertThrows(IllegalArgumentException.class,
            () -> engine.openSegment(ShmTransport.addressOf(region)));
        assertTrue(refusal.getMessage().contains("it was cut"), refusal.getMessage());
        // A writable mapping that is made longer than the file would have let it grow.
        assertEquals(3 * PAGE, Files.size(region.path()));
    }

    /** Both ways, whichever side is the file that was cut. */
    @ParameterizedTest
    @CsvSource({"true, true", "true, false", "false, true", "false, false"})
    void shouldFailAndNotCrashWhenTheFileIsCutUnderTheSegment(final boolean reads, final boolean segmentIsCut) {
        final int length = 3 * PAGE;
        final TransferEngine engine = engine(TransferConfig.DEFAULT);
        final Segment segment = open(engine, "s", PatternBytes.of(1, length));
        final SharedRegion local = share("local", PatternBytes.of(2, length), null);
        final TransferRequest request = reads ? TransferRequest.read(local.slice(0, length), segment, 0)
            : TransferRequest.write(local.slice(0, length), segment, 0);
        engine.submit(List.of(request)).await();
        cut(segmentIsCut ? owned.get("s") : local, 2 * PAGE);

        // Often enough for the compiler: the JVM tells compiled code of the fault later than interpreted code.
        for (int round = 0; round < 10_000; round++) {
            final Transfer transfer = engine.submit(List.of(request));

            assertTrue(transfer.isDone());
            final TransferFailure failure =
                assertThrows(TransferException.class, transfer::await).failure();
            assertEquals(TransferFailure.Kind.FAILED, failure.kind());
            assertTrue(failure.message().contains("was cut"), failure.message());
        }
        // What is still there still moves.
        engine.submit(List.of(TransferRequest.read(region(PAGE).slice(0, PAGE), segment, 0))).await();
    }

    /** The file is cut at any moment of a copy: that one may still be whole, no later one may say so. */
    @Test
    void shouldFailEachCopyThatBeginsAfterTheCut() throws Exception {
        final TransferEngine engine = engine(TransferConfig.DEFAULT);
        final HostRegion local = region(MIB);
        for (int round = 0; round < 50; round++) {
            final String name = "s" + round;
            final Segment segment = open(engine, name, new byte[MIB]);
            final TransferRequest request = round % 2 == 0 ? TransferRequest.read(local.slice(0, MIB), segment, 0)
                : TransferRequest.write(local.slice(0, MIB), segment, 0);
            final AtomicLong copies = new AtomicLong();
            final AtomicBoolean cut = new AtomicBoolean();
            final CompletableFuture<Void> copier = Threads.start(() -> {
                while (true) {
                    final boolean late = cut.get();
                    final Transfer transfer = engine.submit(List.of(request));
                    if (transfer.failure() != null) {
                        assertEquals(TransferFailure.Kind.FAILED, transfer.failure().kind());
                        return;
                    }
                    assertFalse(late, "a copy of memory that was gone went well");
                    copies.incrementAndGet();
                }
            });
            while (copies.get() < 3 && !copier.isDone()) {
                Thread.onSpinWait();
            }
            cut(owned.get(name), (round % 5 + 1L) * MIB / 8);
            cut.set(true);
            copier.get();
            segment.close();
            owned.remove(name).close();
        }
    }

    @Test
    void shouldTouchNoMoreOnceASliceHasFailed() {
        final TransferEngine engine = engine(TransferConfig.DEFAULT);
        final Segment good = open(engine, "good", new byte[100]);
        final Segment bad = open(engine, "bad", new byte[3 * PAGE]);
        final HostRegion local = region(3 * PAGE);
        PatternBytes.fill(local.segment(), 1);
        cut(owned.get("bad"), PAGE);

        final Transfer transfer = engine.submit(List.of(
            TransferRequest.write(local.slice(0, 3 * PAGE), bad, 0),
            TransferRequest.write(local.slice(0, 100), good, 0)));

        assertEquals("shm://" + owned.get("bad").path(), transfer.failure().segment());
        assertEquals(0, transfer.movedBytes());
        assertArrayEquals(new byte[100], content("good"));
    }

    @Test
    void shouldGiveRightBytesToAllWhenManyOpenAndCloseAtOnce() throws Exception {
        final byte[] model = PatternBytes.of(1, 100_000);
        final SharedRegion region = share("s", model, null);
        final TransferEngine engine = engine(TransferConfig.DEFAULT);
        final int threads = 8;
        final CyclicBarrier start = new CyclicBarrier(threads);
        final List<CompletableFuture<Void>> all = new ArrayList<>();
        final HostRegion local = region(threads * 100_000L);
        for (int i = 0; i < threads; i++) {
            final RegionSlice mine = local.slice(i * 100_000L, 100_000);
            all.add(Threads.start(() -> {
                for (int round = 0; round < 100; round++) {
                    awaitAt(start, round);
                    try (Segment segment = engine.openSegment(ShmTransport.addressOf(region))) {
                        mine.segment().fill((byte) 0);
                        engine.submit(List.of(TransferRequest.read(mine, segment, 0))).await();
                    }
                    assertArrayEquals(model, PatternBytes.copyOf(mine.segment()));
                }
            }));
        }
        for (final CompletableFuture<Void> one : all) {
            one.get();
        }
        assertEquals(1, NativeResources.snapshot().get(NativeTag.MAPPED_REGION).handles());
    }

    /** Now and then all set off together; a barrier in each round would keep them from drifting apart. */
    private static void awaitAt(final CyclicBarrier barrier, final int round) {
        if (round % 10 == 0) {
            try {
                barrier.await();
            } catch (final Exception e) {
                throw new AssertionError(e);
            }
        }
    }

    /** Who copies gets right bytes until it is told that the segment is closed, and never memory that is gone. */
    @Test
    void shouldEndCopiesWellBeforeItUnmapsWhenClosedUnderThem() throws Exception {
        final byte[] model = PatternBytes.of(1, MIB);
        final SharedRegion region = share("s", model, null);
        final TransferEngine engine = engine(TransferConfig.DEFAULT);
        final HostRegion local = region(2 * MIB);
        for (int round = 0; round < 20; round++) {
            final Segment segment = engine.openSegment(ShmTransport.addressOf(region));
            final AtomicLong copies = new AtomicLong();
            final List<CompletableFuture<TransferFailure>> copiers = new ArrayList<>();
            for (int i = 0; i < 2; i++) {
                final RegionSlice mine = local.slice((long) i * MIB, MIB);
                copiers.add(Threads.start(() -> copyUntilRefused(engine, segment, mine, copies)));
            }
            while (copies.get() < 4) {
                Thread.onSpinWait();
            }
            segment.close();
            for (final CompletableFuture<TransferFailure> copier : copiers) {
                assertEquals(TransferFailure.Kind.INVALID, copier.get().kind());
            }
            assertArrayEquals(model, PatternBytes.copyOf(local.segment().asSlice(0, MIB)));
        }
    }

    private static TransferFailure copyUntilRefused(final TransferEngine engine, final Segment segment,
        final RegionSlice local, final AtomicLong copies) {
        while (true) {
            final Transfer transfer;
            try {
                transfer = engine.submit(List.of(TransferRequest.read(local, segment, 0)));
            } catch (final TransferException e) {
                return e.failure();
            }
            transfer.await();
            copies.incrementAndGet();
        }
    }

    @Test
    void shouldSayWhyAndWhatToDoWhereMemoryCannotBeShared() {
        final Path absent = directory.resolve("absent");
        final Transport transport = new ShmTransport(absent);
        final Availability answer = transport.capability().availability();
        assertFalse(answer.available());
        for (final String part : List.of(absent.toString(), "ENOENT")) {
            assertTrue(answer.reason().contains(part), answer.reason());
        }
        assertTrue(answer.remedy().contains("--shm-size"), answer.remedy());

        final SharedRegion region = share("s", new byte[100], null);
        try (TransferEngine engine = TransferEngine.open(TransferConfig.DEFAULT, List.of(transport))) {
            final IllegalStateException refusal = assertThrows(IllegalStateException.class,
                () -> engine.openSegment(ShmTransport.addressOf(region)));
            assertTrue(refusal.getMessage().contains("ENOENT"), refusal.getMessage());
        }
    }

    @Test
    void shouldStillServeOthersWhereThereIsNoRoomForMore() throws Exception {
        final Path small = Files.createDirectory(directory.resolve("small"));
        try (Mounts full = Mounts.tmpfs(small, 4 * PAGE);
            SharedRegion region = SharedRegion.create(full.at(), 3 * PAGE);
            TransferEngine engine =
                TransferEngine.open(TransferConfig.DEFAULT, List.of(new ShmTransport(small)))) {
            PatternBytes.fill(region.segment(), 1);
            final Availability answer = engine.availability(TransportKind.SHM);
            assertTrue(answer.available());
            assertTrue(answer.reason().contains("no room"), answer.reason());

            final HostRegion local = region(3 * PAGE);
            engine.submit(List.of(TransferRequest.read(local.slice(0, 3 * PAGE),
                engine.openSegment(ShmTransport.addressOf(region)), 0))).await();
            assertArrayEquals(PatternBytes.of(1, 3 * PAGE), PatternBytes.copyOf(local.segment()));
        }
    }
}
