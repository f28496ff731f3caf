package io.kvtier.bindings.cufile;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.bindings.Availability;
import io.kvtier.bindings.cuda.Cuda;
import io.kvtier.bindings.cuda.CudaContext;
import io.kvtier.bindings.cuda.CudaCopies;
import io.kvtier.bindings.cuda.CudaStream;
import io.kvtier.bindings.cuda.DeviceMemory;
import io.kvtier.bindings.cuda.DevicePointer;
import io.kvtier.bindings.cuda.PinnedMemory;
import io.kvtier.bindings.posix.OpenMode;
import io.kvtier.bindings.posix.PosixFile;
import io.kvtier.kit.Commands;
import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.NotExercised;
import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * GPU to file to GPU, through the library. Switched on by {@code MOONCAKE_RUN_GDS_TEST=1} with a folder in
 * {@code MOONCAKE_GDS_TEST_PATH}. A hang is a failure: every test has a time limit of its own.
 */
@ExtendWith(LeakCheck.class)
@Timeout(value = 90, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class GdsSmokeTest {
    private static final CuFileConfig COUNTING = new CuFileConfig(CuFileConfig.DEFAULT.posixPool(),
        CuFileConfig.Compatibility.AS_CONFIGURED, 3);
    private static final long KIB = 1 << 10;
    private static final long MIB = 1 << 20;

    static Path folder() {
        return Path.of(System.getenv("MOONCAKE_GDS_TEST_PATH"));
    }

    @BeforeEach
    void requireGpu() {
        requireGds();
    }

    static void requireGds() {
        final boolean asked = "1".equals(System.getenv("MOONCAKE_RUN_GDS_TEST"))
            && System.getenv("MOONCAKE_GDS_TEST_PATH") != null;
        NotExercised.require("gds", asked, "set MOONCAKE_RUN_GDS_TEST=1 and MOONCAKE_GDS_TEST_PATH");
        final Availability cuFile = CuFile.availability();
        NotExercised.require("gds", cuFile.available(), cuFile.reason());
    }

    /** Everything that a test needs, closed in the opposite order. */
    private static final class Setup implements AutoCloseable {
        final CudaContext context = Cuda.devices().getFirst().retainPrimaryContext();
        final CudaContext.Guard guard = context.enter();
        // The mode is proved by counts; LeakCheck sees to it that the driver is closed in the end.
        final CuFileDriver driver = CuFile.system().open(COUNTING);
        final Path path;
        final PosixFile file;
        final CuFileHandle handle;
        final DeviceMemory memory;
        final CuFileBuffer buffer;
        final PinnedMemory expected;
        final PinnedMemory actual;

        Setup(final long bytes) throws IOException {
            path = Files.createTempFile(folder(), "gds", ".bin");
            file = PosixFile.open(path.toString(), OpenMode.READ_WRITE_DIRECT);
            file.preallocate(0, bytes);
            handle = CuFileHandle.register(driver, file);
            memory = DeviceMemory.allocate(context, bytes);
            buffer = CuFileBuffer.register(driver, memory);
            expected = PinnedMemory.allocate(context, bytes);
            actual = PinnedMemory.allocate(context, bytes);
            final SplittableRandom random = new SplittableRandom(bytes);
            for (long at = 0; at < bytes; at += Long.BYTES) {
                expected.segment().set(ValueLayout.JAVA_LONG_UNALIGNED, at, random.nextLong());
            }
            toDevice();
        }

        void toDevice() {
            CudaCopies.toDevice(context, expected.segment(), memory.pointer());
            context.synchronize();
        }

        void wipe() {
            CudaCopies.fill(context, memory.pointer(), (byte) 0);
            context.synchronize();
        }

        long mismatch(final long from, final long to) {
            CudaCopies.toHost(context, memory.pointer(), actual.segment());
            return expected.segment().asSlice(from, to - from).mismatch(actual.segment().asSlice(from, to - from));
        }

        @Override
        public void close() throws IOException {
            actual.close();
            expected.close();
            buffer.close();
            memory.close();
            handle.close();
            file.close();
            Files.delete(path);
            driver.close();
            guard.close();
            context.close();
        }
    }

    @ParameterizedTest
    @ValueSource(longs = {4 << 10, 64 << 10, 1 << 20, 16 << 20, 64 << 20, 256 << 20})
    void shouldBringBackWhatWasWrittenWhenSynchronous(final long bytes) throws IOException {
        try (Setup setup = new Setup(bytes)) {
            assertEquals(bytes, setup.handle.write(setup.buffer, 0, bytes, 0));
            setup.wipe();
            assertEquals(bytes, setup.handle.read(setup.buffer, 0, bytes, 0));
            assertEquals(-1, setup.mismatch(0, bytes));
        }
    }

    /** Moves all of the buffer in entries of one size, in as many submissions as the driver needs. */
    private static int runBatches(final Setup setup, final boolean write, final int entries, final long entryBytes) {
        int submissions = 0;
        try (CuFileBatch batch = CuFileBatch.create(setup.driver, entries)) {
            int added = 0;
            while (added < entries) {
                while (added < entries && batch.add(write, setup.handle, added * entryBytes, setup.buffer,
                    added * entryBytes, entryBytes) != CuFileBatch.NO_ROOM) {
                    added++;
                }
                batch.submit();
                submissions++;
                while (batch.state() == CuFileBatch.State.IN_FLIGHT) {
                    batch.poll(10_000_000, (slot, outcome, result) ->
                        assertEquals(CuFileOutcome.COMPLETE, outcome, "slot " + slot + ", result " + result));
                }
                batch.recycle();
            }
            assertEquals(0, batch.strayEvents());
        }
        return submissions;
    }

    @ParameterizedTest
    @CsvSource({"1,64", "8,64", "64,64", "128,64", "1,1024", "8,1024", "64,1024", "128,1024", "1,4096", "8,4096",
        "64,4096", "128,4096"})
    void shouldCompleteEveryEntryWhenInBatches(final int entries, final long entryKib) throws IOException {
        final long entryBytes = entryKib * KIB;
        final long bytes = entries * entryBytes;
        try (Setup setup = new Setup(bytes)) {
            final int most = setup.driver.batchEntries(entryBytes);
            assertEquals(Math.ceilDiv(entries, most), runBatches(setup, true, entries, entryBytes));
            setup.wipe();
            runBatches(setup, false, entries, entryBytes);
            assertEquals(-1, setup.mismatch(0, bytes));
        }
    }

    @Test
    void shouldSayWhatItRunsOn() throws IOException {
        System.out.println("seen: " + CuFile.availability().reason());
        try (Setup setup = new Setup(4 * MIB)) {
            setup.handle.write(setup.buffer, 0, 4 * MIB, 0);
            System.out.println("seen: version " + CuFile.versionText(CuFile.system().version()) + ", "
                + setup.driver.properties());
            System.out.println("seen: " + setup.driver.posixPool());
            for (final CuFileSize parameter : CuFileSize.values()) {
                System.out.println("seen: " + parameter + " " + setup.driver.parameter(parameter));
            }
            for (final CuFileFlag parameter : CuFileFlag.values()) {
                System.out.println("seen: " + parameter + " " + setup.driver.parameter(parameter));
            }
            final CuFileStatistics before = setup.driver.statistics();
            final CuFileMode mode = setup.driver.probe(setup.handle, setup.buffer, MIB, 0);
            runBatches(setup, false, 4, MIB);
            System.out.println("seen: mode " + mode + "; before a read and a batch of 4 " + before + ", after it "
                + setup.driver.statistics());
            assertTrue(mode != CuFileMode.UNKNOWN && mode != CuFileMode.ABSENT, mode.toString());
        }
    }

    @Test
    void shouldWriteFromInsideARegistration() throws IOException {
        try (Setup setup = new Setup(4 * MIB)) {
            assertEquals(MIB, setup.handle.write(setup.buffer, MIB, MIB, MIB));
            assertEquals(MIB, setup.handle.write(setup.memory.pointer().slice(2 * MIB, MIB), 2 * MIB));
            setup.wipe();
            assertEquals(2 * MIB, setup.handle.read(setup.buffer, MIB, 2 * MIB, MIB));
            assertEquals(-1, setup.mismatch(MIB, 3 * MIB));
        }
    }

    @Test
    void shouldMoveAnySizeFromAnyOffset() throws IOException {
        try (Setup setup = new Setup(4 * MIB)) {
            assertEquals(1000, setup.handle.write(setup.buffer, 100, 1000, 512));
            setup.wipe();
            assertEquals(1000, setup.handle.read(setup.buffer, 100, 1000, 512));
            assertEquals(-1, setup.mismatch(100, 1100));
        }
    }

    @Test
    void shouldUseMemoryThatIsNotRegistered() throws IOException {
        try (Setup setup = new Setup(4 * MIB)) {
            setup.buffer.close();
            assertEquals(4 * MIB, setup.handle.write(setup.memory.pointer(), 0));
            setup.wipe();
            try (CuFileBatch batch = CuFileBatch.create(setup.driver, 4)) {
                for (int i = 0; i < 4; i++) {
                    final DevicePointer part = setup.memory.pointer().slice(i * MIB, MIB);
                    assertEquals(i, batch.add(false, setup.handle, i * MIB, part));
                }
                batch.submit();
                while (batch.state() == CuFileBatch.State.IN_FLIGHT) {
                    batch.poll(10_000_000, (slot, outcome, result) -> assertEquals(CuFileOutcome.COMPLETE, outcome));
                }
            }
            assertEquals(-1, setup.mismatch(0, 4 * MIB));
        }
    }

    @Test
    void shouldReadShortWhenTheFileEnds() throws IOException {
        try (Setup setup = new Setup(4 * MIB)) {
            assertEquals(4096, setup.handle.read(setup.buffer, 0, MIB, 4 * MIB - 4096));
            assertEquals(0, setup.handle.read(setup.buffer, 0, MIB, 8 * MIB));
            try (CuFileBatch batch = CuFileBatch.create(setup.driver, 1)) {
                batch.add(false, setup.handle, 4 * MIB - 4096, setup.buffer, 0, MIB);
                batch.submit();
                while (batch.state() == CuFileBatch.State.IN_FLIGHT) {
                    batch.poll(10_000_000, (slot, outcome, result) ->
                        System.out.println("seen: batch read over the end of the file: " + outcome + ", " + result));
                }
            }
        }
    }

    @Test
    void shouldSayWhyWhenTheLibraryRefuses() throws IOException {
        try (Setup setup = new Setup(MIB)) {
            final CuFileException twice = assertThrows(CuFileException.class,
                () -> CuFileHandle.register(setup.driver, setup.file));
            assertEquals("CU_FILE_HANDLE_ALREADY_REGISTERED", twice.name());
            final CuFileException again = assertThrows(CuFileException.class,
                () -> CuFileBuffer.register(setup.driver, setup.memory));
            System.out.println("seen: the same base registered again: " + again.getMessage());
            assertThrows(IllegalStateException.class, () -> CuFile.system().open(
                new CuFileConfig(List.of(), CuFileConfig.Compatibility.AS_CONFIGURED, 0)));
        }
    }

    @Test
    void shouldRefuseAnEntryOfNoMemoryAndServeTheOthers() throws IOException {
        try (Setup setup = new Setup(4 * MIB); CuFileBatch batch = CuFileBatch.create(setup.driver, 5)) {
            for (int i = 0; i < 3; i++) {
                batch.add(true, setup.handle, i * MIB, setup.buffer, i * MIB, MIB);
            }
            final DeviceMemory other = DeviceMemory.allocate(setup.context, MIB);
            final DevicePointer freed = other.pointer();
            other.close();
            for (final DevicePointer wrong : List.of(new DevicePointer(0x1234_5678_9000L, MIB), freed,
                new DevicePointer(setup.actual.segment().address(), MIB),
                new DevicePointer(setup.memory.pointer().address() + 3 * MIB, MIB + 1))) {
                final IllegalArgumentException e = assertThrows(IllegalArgumentException.class,
                    () -> batch.add(true, setup.handle, 3 * MIB, wrong));
                System.out.println("seen: refused: " + e.getMessage());
                assertThrows(IllegalArgumentException.class, () -> setup.handle.read(wrong, 0));
            }
            assertEquals(3, batch.add(true, setup.handle, 3 * MIB, setup.memory.pointer().slice(3 * MIB, MIB)));
            assertEquals(4, batch.add(false, setup.handle, 3 * MIB, setup.memory, 3 * MIB, MIB));
            batch.submit();
            final List<CuFileOutcome> outcomes = new ArrayList<>();
            while (batch.state() == CuFileBatch.State.IN_FLIGHT) {
                batch.poll(10_000_000, (slot, outcome, result) -> outcomes.add(outcome));
            }
            assertEquals(Collections.nCopies(5, CuFileOutcome.COMPLETE), outcomes);
        }
    }

    @Test
    void shouldServeTwoThreadsWithABatchEach() throws Exception {
        try (Setup setup = new Setup(64 * MIB);
            ExecutorService threads = Executors.newFixedThreadPool(2)) {
            assertEquals(64 * MIB, setup.handle.write(setup.buffer, 0, 64 * MIB, 0));
            setup.wipe();
            final Future<?>[] halves = new Future<?>[2];
            for (int half = 0; half < 2; half++) {
                final long from = half * 32 * MIB;
                halves[half] = threads.submit(() -> {
                    try (CudaContext.Guard guard = setup.context.enter();
                        CuFileBatch batch = CuFileBatch.create(setup.driver, 32)) {
                        assertEquals(setup.context, guard.context());
                        for (int i = 0; i < 32; i++) {
                            batch.add(false, setup.handle, from + i * MIB, setup.buffer, from + i * MIB, MIB);
                        }
                        batch.submit();
                        while (batch.state() == CuFileBatch.State.IN_FLIGHT) {
                            batch.poll(10_000_000, (slot, outcome, result) ->
                                assertEquals(CuFileOutcome.COMPLETE, outcome));
                        }
                    }
                    return null;
                });
            }
            halves[0].get();
            halves[1].get();
            assertEquals(-1, setup.mismatch(0, 64 * MIB));
        }
    }

    @Test
    void shouldCancelWhatIsInFlightWhenClosed() throws IOException {
        try (Setup setup = new Setup(256 * MIB)) {
            setup.handle.write(setup.buffer, 0, 256 * MIB, 0);
            final CuFileBatch batch = CuFileBatch.create(setup.driver, 16);
            for (int i = 0; i < 16; i++) {
                batch.add(false, setup.handle, i * 16 * MIB, setup.buffer, i * 16 * MIB, 16 * MIB);
            }
            batch.submit();
            final int[] ended = new int[CuFileOutcome.values().length];
            final long start = System.nanoTime();
            batch.cancel(1_000_000_000, (slot, outcome, result) -> ended[outcome.ordinal()]++);
            System.out.println("seen: cancel of 16 x 16 MiB took " + (System.nanoTime() - start) / 1_000_000 + " ms; "
                + ended[CuFileOutcome.COMPLETE.ordinal()] + " complete, "
                + ended[CuFileOutcome.CANCELED.ordinal()] + " canceled");
            assertEquals(CuFileBatch.State.DESTROYED, batch.state());
            batch.close();
            assertEquals(0, batch.outstanding());
            // The handle and the buffer go on.
            assertEquals(MIB, setup.handle.read(setup.buffer, 0, MIB, 0));
            // Closing what an entry uses lets the entry end.
            final CuFileBatch last = CuFileBatch.create(setup.driver, 16);
            for (int i = 0; i < 16; i++) {
                last.add(false, setup.handle, i * MIB, setup.buffer, i * MIB, MIB);
            }
            last.submit();
            setup.buffer.close();
            setup.memory.close();
            setup.handle.close();
            last.close();
        }
    }

    /** What logs is settled when the library is used first, so this needs a process in which it was not. */
    static final class Logging {
        private Logging() {
        }

        public static void main(final String[] args) {
            try (CudaContext context = Cuda.devices().getFirst().retainPrimaryContext();
                CudaContext.Guard guard = context.enter();
                CuFileDriver driver = CuFile.system().open(CuFileConfig.DEFAULT.with(CuFileText.LOG_FOLDER, args[0]));
                PosixFile file = PosixFile.open(args[1], OpenMode.READ_WRITE_DIRECT);
                CuFileHandle handle = CuFileHandle.register(driver, file)) {
                System.out.println(guard.context().device() + " " + driver.parameter(CuFileText.LOG_FOLDER));
                CuFileHandle.register(driver, handle.path().equals(args[1]) ? file : null);
            } catch (final CuFileException logged) {
                System.out.println(logged.getMessage());
            }
        }
    }

    @Test
    void shouldTakeAndGiveBackWhereToLog() throws IOException, InterruptedException {
        final Path place = Files.createTempDirectory(folder(), "log");
        final Path file = Files.createTempFile(folder(), "log", ".bin");
        final Commands.Result result = Commands.run(Duration.ofSeconds(60), Commands.javaCommand(Commands.NATIVE_FLAGS,
            Logging.class, place.toString(), file.toString()));
        assertEquals(0, result.code(), result.output());
        assertTrue(result.output().contains("5028"), result.output());
        assertTrue(result.output().contains(place.toString()), result.output());
        final Path log = place.resolve("cufile.log");
        // Version 1.15.1 does not: a fact to look at again with every other one.
        System.out.println("seen: the log is where it was told to be: " + Files.deleteIfExists(log));
        Files.delete(place);
        Files.delete(file);
    }

    @Test
    void shouldEndEveryEntryWhenOneFails() throws IOException {
        try (Setup setup = new Setup(4 * MIB); CuFileBatch batch = CuFileBatch.create(setup.driver, 4)) {
            for (int i = 0; i < 3; i++) {
                batch.add(true, setup.handle, i * MIB, setup.buffer, i * MIB, MIB);
            }
            // No file system has such a place.
            batch.add(true, setup.handle, 1L << 50, setup.buffer, 3 * MIB, MIB);
            batch.submit();
            final CuFileOutcome[] outcomes = new CuFileOutcome[4];
            while (batch.state() == CuFileBatch.State.IN_FLIGHT) {
                batch.poll(10_000_000, (slot, outcome, result) -> outcomes[slot] = outcome);
            }
            System.out.println("seen: a batch with an entry that fails: " + Arrays.toString(outcomes) + ", "
                + batch.state());
            // Its event can be lost as well: then all that is known is that the batch was given up.
            assertTrue(outcomes[3] == CuFileOutcome.FAILED || outcomes[3] == CuFileOutcome.CANCELED);
            for (int i = 0; i < 3; i++) {
                assertTrue(outcomes[i] == CuFileOutcome.COMPLETE || outcomes[i] == CuFileOutcome.CANCELED);
            }
        }
    }

    @Test
    void shouldMoveDataInTheOrderOfAStream() throws IOException {
        try (Setup setup = new Setup(4 * MIB); CudaStream stream = CudaStream.create(setup.context)) {
            try (CuFileStreamTransfer write = CuFileStreamTransfer.submit(true, setup.handle, 0, setup.buffer, 0,
                4 * MIB, stream)) {
                assertEquals(4 * MIB, write.result());
            }
            setup.wipe();
            try (CuFileStreamTransfer read = CuFileStreamTransfer.submit(false, setup.handle, 0, setup.buffer, 0,
                4 * MIB, stream)) {
                assertEquals(4 * MIB, read.result());
            }
            assertEquals(-1, setup.mismatch(0, 4 * MIB));
            setup.wipe();
            try (CuFileStream registered = CuFileStream.register(setup.driver, stream, true);
                CuFileStreamTransfer read = registered.submit(false, setup.handle, 0, setup.buffer, 0, 4 * MIB)) {
                assertEquals(4 * MIB, read.result());
            }
            assertEquals(-1, setup.mismatch(0, 4 * MIB));
            System.out.println("seen: stream transfers of 4 MiB work, in a registered stream too");
        }
    }

    @Test
    void shouldOpenTheDriverAgainAfterItWasClosed() throws IOException {
        for (int round = 0; round < 2; round++) {
            try (Setup setup = new Setup(MIB); CuFileDriver second = CuFile.system().open(COUNTING)) {
                assertEquals(setup.driver.properties(), second.properties());
                setup.handle.write(setup.buffer, 0, MIB, 0);
            }
            final CuFileConfig other = new CuFileConfig(List.of(), CuFileConfig.Compatibility.ALLOWED, 0);
            try (CuFileDriver driver = CuFile.system().open(other)) {
                System.out.println("seen: reopened, round " + round + ", " + driver.posixPool());
                assertFalse(driver.posixPool().isEmpty());
            }
        }
    }
}
