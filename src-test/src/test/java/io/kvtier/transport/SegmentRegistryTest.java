package io.kvtier.transport;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.alloc.HostRegion;
import io.kvtier.bindings.NativeTag;
import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.OpenDescriptors;
import io.kvtier.kit.PatternBytes;
import io.kvtier.kit.Threads;
import io.kvtier.transport.file.PosixTransport;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** What is open under a name, when files come and go and threads open and close at once. */
@ExtendWith(LeakCheck.class)
class SegmentRegistryTest {
    private static final int BYTES = 10_000;

    @TempDir
    private Path directory;

    private static TransferEngine posixEngine() {
        return TransferEngine.open(TransferConfig.DEFAULT, List.of(new PosixTransport(1, true)));
    }

    private static byte[] read(final TransferEngine engine, final Segment segment) {
        try (HostRegion local = HostRegion.allocate(NativeTag.TEST, BYTES)) {
            engine.submit(List.of(TransferRequest.read(local.slice(0, BYTES), segment, 0))).await();
            return PatternBytes.copyOf(local.segment());
        }
    }

    @Test
    void shouldOpenTheNewFileAndKeepTheOldOneWhenANameWasGivenToAnother() throws IOException {
        final Path path = Files.write(directory.resolve("f"), PatternBytes.of(1, BYTES));
        final String name = path.toUri().toString();
        try (TransferEngine engine = posixEngine()) {
            final Segment old = engine.openSegment(name);
            Files.write(directory.resolve("g"), PatternBytes.of(2, BYTES));
            Files.move(directory.resolve("g"), path, StandardCopyOption.REPLACE_EXISTING);

            final Segment fresh = engine.openSegment(name);
            final Segment again = engine.openSegment(name);

            assertArrayEquals(PatternBytes.of(1, BYTES), read(engine, old));
            assertArrayEquals(PatternBytes.of(2, BYTES), read(engine, fresh));
            fresh.close();
            assertArrayEquals(PatternBytes.of(2, BYTES), read(engine, again));
            assertArrayEquals(PatternBytes.of(1, BYTES), read(engine, old));
            old.close();
            again.close();
            assertEquals(List.of(), OpenDescriptors.of(path.toRealPath().toString()));
        }
    }

    @Test
    void shouldOpenAFileAnewWithDescriptorsOfItsOwn() throws IOException {
        final Path path = Files.write(directory.resolve("f"), PatternBytes.of(1, BYTES));
        final String name = path.toUri().toString();
        final String real = path.toRealPath().toString();
        final TransferEngine engine = posixEngine();
        final Segment first = engine.openSegment(name);
        final int one = OpenDescriptors.of(real).size();
        final Segment anew = engine.openSegmentAnew(name);
        assertEquals(2 * one, OpenDescriptors.of(real).size());
        final Segment shared = engine.openSegment(name);
        assertEquals(2 * one, OpenDescriptors.of(real).size(), "nobody else gets them");
        first.close();
        shared.close();
        assertEquals(one, OpenDescriptors.of(real).size());
        assertArrayEquals(PatternBytes.of(1, BYTES), read(engine, anew));
        engine.close();
        assertEquals(List.of(), OpenDescriptors.of(real), "the engine closes what is left");
        assertThrows(IllegalStateException.class, () -> engine.openSegmentAnew(name));
    }

    @Test
    void shouldGoOnSharingTheNewFileWhenTheOldOneOfItsNameIsClosed() {
        final SegmentRegistry registry = new SegmentRegistry();
        final OpenSegment old = registry.share(segment("file:///s", 1), () -> segment("file:///s", 1));
        final OpenSegment fresh = registry.share(segment("file:///s", 2), () -> segment("file:///s", 2));
        assertNotSame(old, fresh);

        registry.giveBack(old);

        assertSame(fresh, registry.share(segment("file:///s", 2), () -> segment("file:///s", 2)));
        assertEquals(2, fresh.owners());
        assertEquals(List.of(fresh), registry.close());
    }

    @Test
    void shouldOpenAFileThatWasMissingBefore() throws IOException {
        final Path path = directory.resolve("late");
        try (TransferEngine engine = posixEngine()) {
            final RuntimeException e =
                assertThrows(RuntimeException.class, () -> engine.openSegment(path.toUri().toString()));
            assertTrue(e.getMessage().contains("ENOENT"), e.getMessage());
            Files.write(path, PatternBytes.of(3, BYTES));

            assertArrayEquals(PatternBytes.of(3, BYTES), read(engine, engine.openSegment(path.toUri().toString())));
        }
    }

    @Test
    void shouldOpenOnceForAllWhoWantItAtOnceAndLetOthersOpenMeanwhile() throws InterruptedException {
        final SegmentRegistry registry = new SegmentRegistry();
        final CountDownLatch mayOpen = new CountDownLatch(1);
        final AtomicInteger openings = new AtomicInteger();
        final OpenSegment wanted = segment("file:///slow");
        final List<CompletableFuture<OpenSegment>> all = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            all.add(Threads.start(() -> registry.share(wanted, () -> {
                openings.incrementAndGet();
                Uninterrupted.await(mayOpen::await);
                return segment("file:///slow");
            })));
        }
        while (openings.get() == 0) {
            Thread.onSpinWait();
        }

        final OpenSegment other = registry.share(segment("file:///fast"), () -> segment("file:///fast"));
        assertEquals("file:///fast", other.address().name());
        assertFalse(all.stream().anyMatch(CompletableFuture::isDone));
        mayOpen.countDown();

        final OpenSegment first = all.getFirst().join();
        all.forEach(one -> assertTrue(one.join() == first));
        assertEquals(1, openings.get());
        assertEquals(4, first.owners());
        assertEquals(2, registry.close().size());
    }

    @Test
    void shouldLetTheNextOneTryWhenTheFirstCouldNotOpen() {
        final SegmentRegistry registry = new SegmentRegistry();
        final CountDownLatch mayFail = new CountDownLatch(1);
        final CompletableFuture<OpenSegment> first =
            Threads.start(() -> registry.share(segment("file:///s"), () -> {
                Uninterrupted.await(mayFail::await);
                throw new IllegalStateException("not now");
            }));
        final CompletableFuture<OpenSegment> second = new CompletableFuture<>();
        final AtomicInteger openings = new AtomicInteger();
        final Thread waiter = Thread.ofPlatform().start(() -> second.complete(registry.share(segment("file:///s"),
            () -> {
                openings.incrementAndGet();
                return segment("file:///s");
            })));
        // Either it waits for the first one, or it came before it and has opened by itself.
        Threads.awaitWaiting(waiter);
        mayFail.countDown();

        second.join();
        assertEquals(1, openings.get());
        first.exceptionally(e -> null).join();
        assertEquals(1, registry.close().size());
    }

    @Test
    void shouldCloseWhatIsOpenedWhileItCloses() {
        final SegmentRegistry registry = new SegmentRegistry();
        final AtomicInteger closes = new AtomicInteger();
        final TransportSegment handle = new TransportSegment() {
            @Override
            public long byteSize() {
                return 1;
            }

            @Override
            public void close() {
                closes.incrementAndGet();
            }
        };

        assertThrows(IllegalStateException.class, () -> registry.share(segment("file:///s"), () -> {
            registry.close();
            return new OpenSegment(target("file:///s"), null, Map.of(TransportKind.POSIX, handle),
                Map.of());
        }));

        assertEquals(1, closes.get());
        assertThrows(IllegalStateException.class, () -> registry.share(segment("file:///s"), () -> null));
    }

    private static SegmentTarget target(final String name) {
        return new SegmentTarget(SegmentAddress.parse(name), null, AccessToken.NONE);
    }

    private static OpenSegment segment(final String name) {
        return segment(name, null);
    }

    private static OpenSegment segment(final String name, final Object identity) {
        return new OpenSegment(target(name), identity, Map.of(), Map.of());
    }
}
