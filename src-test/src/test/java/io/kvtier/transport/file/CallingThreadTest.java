package io.kvtier.transport.file;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.alloc.HostRegion;
import io.kvtier.bindings.NativeTag;
import io.kvtier.bindings.posix.BlockFile;
import io.kvtier.bindings.posix.Errno;
import io.kvtier.bindings.posix.OpenMode;
import io.kvtier.kit.Faults;
import io.kvtier.kit.FaultyFiles;
import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.PatternBytes;
import io.kvtier.transport.Segment;
import io.kvtier.transport.TransferConfig;
import io.kvtier.transport.TransferEngine;
import io.kvtier.transport.TransferException;
import io.kvtier.transport.TransferRequest;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** Which thread does the blocking call: the engine's, or the caller's own when it has nothing else to do. */
@ExtendWith(LeakCheck.class)
class CallingThreadTest {
    private static final int BYTES = 3 * 4096 + 100;

    @TempDir
    private Path directory;
    private final Faults faults = new Faults();
    private final Set<Thread> readers = ConcurrentHashMap.newKeySet();
    private final Set<Thread> openers = ConcurrentHashMap.newKeySet();
    private String address;
    private TransferEngine engine;
    private Segment segment;
    private HostRegion memory;

    @BeforeEach
    void open() throws IOException {
        address = Files.write(directory.resolve("file"), PatternBytes.of(1, BYTES)).toUri().toString();
        engine = TransferEngine.open(new TransferConfig(2 * 4096, 30_000),
            List.of(new PosixTransport(new Watched(new FaultyFiles(faults)), 2, true)));
        segment = engine.openSegment(address);
        memory = HostRegion.allocate(NativeTag.TEST, 4 * 4096);
    }

    @AfterEach
    void close() {
        engine.close();
        memory.close();
    }

    @Test
    void shouldReadOnAPlatformThreadThatWaits() {
        assertTrue(engine.submitAndWaitNext(List.of(request(0, 100, 4096))).isDone());
        assertEquals(Set.of(Thread.currentThread()), readers);
        assertArrayEquals(PatternBytes.copyOf(MemorySegment.ofArray(PatternBytes.of(1, BYTES)).asSlice(100, 4096)),
            PatternBytes.copyOf(memory.segment().asSlice(0, 4096)));
    }

    @Test
    void shouldReadOnTheEnginesThreadsForAVirtualThread() throws InterruptedException {
        final Thread caller = Thread.ofVirtual().start(() ->
            engine.submitAndWaitNext(List.of(request(0, 0, 4096))).await());
        caller.join();
        assertEquals(1, readers.size());
        assertTrue(readers.iterator().next().getName().startsWith("kvtier-io-"), () -> "read by " + readers);
    }

    /** The file system may take its time for either. */
    @Test
    void shouldOpenAndCloseOnTheEnginesThreadsForAVirtualThread() throws InterruptedException {
        openers.clear();
        segment.close();
        assertEquals(Set.of(Thread.currentThread()), openers);
        openers.clear();

        Thread.ofVirtual().start(() -> engine.openSegment(address).close()).join();

        assertFalse(openers.isEmpty());
        assertTrue(openers.stream().noneMatch(Thread::isVirtual), () -> "opened or closed by " + openers);
    }

    @Test
    void shouldLetSeveralSlicesOverlap() {
        engine.submitAndWaitNext(List.of(request(0, 0, 3 * 4096))).await();
        engine.submitAndWaitNext(List.of(request(0, 0, 4096), request(4096, 4096, 4096))).await();
        assertTrue(readers.stream().noneMatch(reader -> reader == Thread.currentThread()), () -> "read by " + readers);
    }

    @Test
    void shouldFailAsOnTheEnginesThreads() {
        faults.failNth(Faults.Call.READ, 1, Errno.EIO);
        final TransferException failed = assertThrows(TransferException.class,
            () -> engine.submitAndWaitNext(List.of(request(0, 0, 4096))).await());
        assertEquals(Errno.EIO, failed.failure().code());
        engine.submitAndWaitNext(List.of(request(0, 0, 4096))).await();
    }

    private TransferRequest request(final long at, final long offset, final long length) {
        return TransferRequest.read(memory.slice(at, length), segment, offset);
    }

    /** Notes who reads, and who opens and closes. */
    private final class Watched implements FileOpener {
        private final FileOpener real;

        Watched(final FileOpener real) {
            this.real = real;
        }

        @Override
        public BlockFile open(final String path, final OpenMode mode) {
            openers.add(Thread.currentThread());
            final BlockFile file = real.open(path, mode);
            return (BlockFile) Proxy.newProxyInstance(getClass().getClassLoader(), new Class<?>[] {BlockFile.class},
                (proxy, method, arguments) -> {
                    if (method.getName().equals("read")) {
                        readers.add(Thread.currentThread());
                    } else if (method.getName().equals("close")) {
                        openers.add(Thread.currentThread());
                    }
                    try {
                        return method.invoke(file, arguments);
                    } catch (final InvocationTargetException e) {
                        throw e.getCause();
                    }
                });
        }
    }
}
