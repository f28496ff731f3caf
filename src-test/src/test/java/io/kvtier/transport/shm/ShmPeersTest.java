package io.kvtier.transport.shm;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.alloc.HostRegion;
import io.kvtier.alloc.SharedRegion;
import io.kvtier.bindings.NativeTag;
import io.kvtier.bindings.posix.Errno;
import io.kvtier.bindings.posix.ErrnoException;
import io.kvtier.kit.Commands;
import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.MemoryDirectory;
import io.kvtier.kit.NotExercised;
import io.kvtier.kit.PatternBytes;
import io.kvtier.kit.Threads;
import io.kvtier.transport.AccessToken;
import io.kvtier.transport.Segment;
import io.kvtier.transport.TransferConfig;
import io.kvtier.transport.TransferEngine;
import io.kvtier.transport.TransferException;
import io.kvtier.transport.TransferFailure;
import io.kvtier.transport.TransferRequest;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Two processes and the memory that they share. */
@ExtendWith(LeakCheck.class)
class ShmPeersTest {
    private static final int PAGE = 4096;
    private static final int BYTES = (1 << 20) + 100;
    private static final AccessToken TOKEN = AccessToken.of("000102030405060708090a0b0c0d0e0f");

    @TempDir(factory = MemoryDirectory.class)
    private Path directory;
    private final HostRegion local = HostRegion.allocate(NativeTag.TEST, BYTES);
    private final TransferEngine engine = TransferEngine.open(TransferConfig.DEFAULT, List.of(new ShmTransport()));

    @AfterEach
    void close() {
        engine.close();
        local.close();
    }

    private void read(final Segment segment) {
        engine.submit(List.of(TransferRequest.read(local.slice(0, BYTES), segment, 0))).await();
    }

    private void write(final Segment segment) {
        engine.submit(List.of(TransferRequest.write(local.slice(0, BYTES), segment, 0))).await();
    }

    private static Path fileOf(final Segment segment) {
        return Path.of(segment.name().substring("shm://".length()));
    }

    @Test
    void shouldMoveBytesBothWaysWhenTheOwnerIsAnotherProcess() throws Exception {
        try (ShmPeer owner = ShmPeer.owner(directory, BYTES, TOKEN)) {
            final Segment segment = engine.openSegment(owner.address(), TOKEN);
            assertTrue(fileOf(segment).getFileName().toString().startsWith("kvtier-" + owner.pid() + '-'));
            assertEquals("fill", owner.ask("fill 1"));
            read(segment);
            assertArrayEquals(PatternBytes.of(1, BYTES), PatternBytes.copyOf(local.segment()));

            PatternBytes.fill(local.segment(), 2);
            write(segment);
            assertEquals("true", owner.ask("check 2"));
            assertEquals("false", owner.ask("check 1"));
            assertEquals(List.of(), SharedRegion.removeStale(directory));
            owner.end();

            assertFalse(Files.exists(fileOf(segment)));
            assertEquals(Errno.ENOENT,
                assertThrows(ErrnoException.class, () -> engine.openSegment(segment.name(), TOKEN)).errno());
            read(segment);
            assertArrayEquals(PatternBytes.of(2, BYTES), PatternBytes.copyOf(local.segment()));
        }
    }

    @Test
    void shouldMoveBytesBothWaysWhenTheUserIsAnotherProcess() throws Exception {
        try (SharedRegion region = SharedRegion.create(directory, BYTES);
            ShmPeer user = ShmPeer.user(List.of(), ShmTransport.addressOf(region), BYTES)) {
            PatternBytes.fill(region.segment(), 1);
            assertEquals("open", user.ask("open"));
            assertEquals("true", user.ask("read 1"));
            assertEquals("write", user.ask("write 2"));
            assertArrayEquals(PatternBytes.of(2, BYTES), PatternBytes.copyOf(region.segment()));
        }
    }

    @Test
    void shouldGoOnCopyingWhenTheOwnerIsKilledAndFindWhatItLeft() throws Exception {
        try (ShmPeer owner = ShmPeer.owner(directory, BYTES, TOKEN)) {
            final Segment segment = engine.openSegment(owner.address());
            owner.ask("fill 1");
            final AtomicLong copies = new AtomicLong();
            final AtomicBoolean enough = new AtomicBoolean();
            final CompletableFuture<Void> copier = Threads.start(() -> {
                while (!enough.get()) {
                    read(segment);
                    copies.incrementAndGet();
                }
            });
            awaitMore(copies, copier);
            owner.kill();
            awaitMore(copies, copier);
            enough.set(true);
            copier.get();

            assertArrayEquals(PatternBytes.of(1, BYTES), PatternBytes.copyOf(local.segment()));
            final Path left = fileOf(segment);
            // What is open is shared; anew it would be the memory of nobody.
            try (TransferEngine other =
                TransferEngine.open(TransferConfig.DEFAULT, List.of(new ShmTransport(directory)))) {
                final IllegalStateException refusal =
                    assertThrows(IllegalStateException.class, () -> other.openSegment(segment.name()));
                assertTrue(refusal.getMessage().contains("removeStale"), refusal.getMessage());
            }
            try (SharedRegion mine = SharedRegion.create(directory, 100)) {
                assertEquals(List.of(left), SharedRegion.findStale(directory));
                assertEquals(List.of(left), SharedRegion.removeStale(directory));
                assertFalse(Files.exists(left));
                assertTrue(Files.exists(mine.path()));
            }
            assertEquals(Errno.ENOENT,
                assertThrows(ErrnoException.class, () -> engine.openSegment(segment.name())).errno());
            local.segment().fill((byte) 0);
            read(segment);
            assertArrayEquals(PatternBytes.of(1, BYTES), PatternBytes.copyOf(local.segment()));
        }
    }

    private static void awaitMore(final AtomicLong copies, final CompletableFuture<?> copier) {
        final long from = copies.get();
        while (copies.get() < from + 3 && !copier.isDone()) {
            Thread.onSpinWait();
        }
    }

    @Test
    void shouldKeepItsMemoryAndItsFileWhenAUserIsKilledInACopy() throws Exception {
        try (SharedRegion region = SharedRegion.create(directory, BYTES)) {
            try (ShmPeer user = ShmPeer.user(List.of(), ShmTransport.addressOf(region), BYTES)) {
                assertEquals("open", user.ask("open"));
                user.begin("hammer 1");
                awaitFirstCopy(region);
                user.kill();
            }
            assertEquals(List.of(), SharedRegion.removeStale(directory));
            final Segment segment = engine.openSegment(ShmTransport.addressOf(region));
            read(segment);
            // It wrote the same again and again: whenever it died, the bytes are these.
            assertArrayEquals(PatternBytes.of(1, BYTES), PatternBytes.copyOf(local.segment()));
            PatternBytes.fill(local.segment(), 2);
            write(segment);
            assertArrayEquals(PatternBytes.of(2, BYTES), PatternBytes.copyOf(region.segment()));
        }
    }

    private static void awaitFirstCopy(final SharedRegion region) {
        final byte[] expected = PatternBytes.of(1, BYTES);
        while (!Arrays.equals(expected, PatternBytes.copyOf(region.segment()))) {
            Thread.onSpinWait();
        }
    }

    @Test
    void shouldFailAndNotCrashWhenTheOwnerCutsItsFileUnderCopies() throws Exception {
        try (ShmPeer owner = ShmPeer.owner(directory, BYTES, TOKEN)) {
            final Segment segment = engine.openSegment(owner.address());
            final AtomicLong copies = new AtomicLong();
            final CompletableFuture<TransferFailure> copier = Threads.start(() -> copyUntilFailure(segment, copies));
            awaitMore(copies, copier);
            assertEquals("cut", owner.ask("cut " + 2 * PAGE));
            awaitMore(copies, copier);
            segment.close();

            final TransferFailure failure = copier.get();
            assertEquals(TransferFailure.Kind.FAILED, failure.kind());
            assertTrue(failure.message().contains("was cut"), failure.message());
        }
    }

    /** Closing the segment is the end too: then the copies are refused. */
    private TransferFailure copyUntilFailure(final Segment segment, final AtomicLong copies) {
        while (true) {
            try {
                write(segment);
            } catch (final TransferException e) {
                return e.failure();
            }
            copies.incrementAndGet();
        }
    }

    /** Root may do everything; the other process gives that right up. */
    @ParameterizedTest
    @CsvSource({"rw-------, open, true, write", "r--------, open, true, INVALID", "---------, errno 13, , "})
    void shouldDoWhatThePermissionsOfTheFileAllow(final String permissions, final String opens, final String reads,
        final String writes) throws Exception {
        try (SharedRegion region = SharedRegion.create(directory, BYTES)) {
            PatternBytes.fill(region.segment(), 1);
            Files.setPosixFilePermissions(region.path(), PosixFilePermissions.fromString(permissions));
            try (ShmPeer user = ShmPeer.user(withoutPrivilege(), ShmTransport.addressOf(region), BYTES)) {
                assertEquals(opens, user.ask("open"));
                if (reads != null) {
                    assertEquals(reads, user.ask("read 1"));
                    final String answer = user.ask("write 2");
                    assertTrue(answer.startsWith(writes), answer);
                }
            }
            assertArrayEquals(PatternBytes.of("write".equals(writes) ? 2 : 1, BYTES),
                PatternBytes.copyOf(region.segment()));
        }
    }

    private static List<String> withoutPrivilege() throws IOException, InterruptedException {
        if ((int) Files.getAttribute(Path.of("/proc/self"), "unix:uid") != 0) {
            return List.of();
        }
        final List<String> prefix = List.of("setpriv", "--bounding-set=-dac_override,-dac_read_search",
            "--inh-caps=-dac_override,-dac_read_search");
        final Commands.Result result = Commands.run(Stream.concat(prefix.stream(), Stream.of("true")).toList());
        NotExercised.require("setpriv", result.code() == 0, "code " + result.code() + ", " + result.output().strip());
        return prefix;
    }
}
