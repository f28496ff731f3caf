package io.kvtier.transport.gds;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.alloc.DeviceRegion;
import io.kvtier.bindings.cufile.gen.CuFileTypes;
import io.kvtier.kit.Dying;
import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.PatternBytes;
import io.kvtier.kit.Threads;
import io.kvtier.transport.Segment;
import io.kvtier.transport.Transfer;
import io.kvtier.transport.TransferConfig;
import io.kvtier.transport.TransferEngine;
import io.kvtier.transport.TransferException;
import io.kvtier.transport.TransferFailure;
import io.kvtier.transport.TransferOptions;
import io.kvtier.transport.TransferRequest;
import io.kvtier.transport.TransportKind;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Everything that the library may do to a transfer. */
@ExtendWith(LeakCheck.class)
class GdsTransportTest {
    private static final int BLOCK = GdsRig.BLOCK;

    @TempDir
    private Path directory;
    private GdsRig rig;

    @BeforeEach
    void open() {
        rig = new GdsRig(directory);
    }

    @AfterEach
    void close() {
        rig.close();
    }

    private static TransferFailure failureOf(final Transfer transfer) {
        return assertThrows(TransferException.class, transfer::await).failure();
    }

    private static GdsConfig config(final GdsConfig.Mode mode) {
        return mode == GdsConfig.Mode.BATCH ? GdsRig.batches(8, 2) : GdsRig.calls(2);
    }

    @ParameterizedTest
    @CsvSource({"128, 65536", "300, 65536", "64, 1048576", "3, 4096"})
    void shouldCompleteWhenTheDriverHasFewerBuffersThanABatchHasEntries(final int entries, final int length)
        throws IOException {
        rig.simulated.eventsAtOnce(3);
        final TransferEngine engine = rig.engine(TransferConfig.DEFAULT, GdsTransport.open(rig.simulated.cuFile(),
            GdsConfig.DEFAULT, GdsRig.around(rig.simulated), GdsRig.LIBRARY_POOL));
        final byte[] bytes = PatternBytes.of(1, entries * length);
        final Segment segment = rig.file(engine, "f", new byte[0]);
        final DeviceRegion region = rig.device(bytes);
        final Transfer transfer = engine.newTransfer();
        for (int i = 0; i < entries; i++) {
            transfer.write(region, (long) i * length, length, segment, (long) i * length);
        }
        engine.submit(transfer);
        transfer.await();
        assertArrayEquals(bytes, rig.content("f"));

        GdsRig.bytes(region).fill((byte) 0);
        transfer.clear();
        for (int i = entries - 1; i >= 0; i--) {
            transfer.read(region, (long) i * length, length, segment, (long) i * length);
        }
        engine.submit(transfer);
        transfer.await();
        assertArrayEquals(bytes, PatternBytes.copyOf(GdsRig.bytes(region)));
    }

    @Test
    void shouldHandOverManyEntriesACall() throws IOException {
        final TransferEngine engine = rig.blocks(GdsConfig.DEFAULT);
        final Segment segment = rig.file(engine, "f", new byte[0]);

        engine.submit(List.of(TransferRequest.write(rig.device(1, 128 * BLOCK).slice(0, 128 * BLOCK), segment, 0)))
            .await();

        // The thread may wake in the middle of the submit and take what is there; it need not.
        assertTrue(rig.simulated.count("batchSubmit") <= 4, rig.simulated.calls().toString());
        assertEquals(0, rig.simulated.count("write"));
    }

    @ParameterizedTest
    @EnumSource(GdsConfig.Mode.class)
    void shouldEndShortWithTheCountWhenTheFileEnds(final GdsConfig.Mode mode) throws IOException {
        final TransferEngine engine = rig.engine(config(mode));
        for (final int there : new int[] {0, 1, 4096, 5000}) {
            final Segment segment = rig.file(engine, "f" + there, PatternBytes.of(there, there));
            final DeviceRegion region = rig.device(new byte[3 * BLOCK]);

            final TransferFailure failure =
                failureOf(engine.submit(List.of(TransferRequest.read(region.slice(0, 3 * BLOCK), segment, 0))));

            assertEquals(TransferFailure.Kind.SHORT, failure.kind());
            assertTrue(failure.message().startsWith("only " + there + " bytes"), failure.message());
            assertArrayEquals(PatternBytes.of(there, there),
                GdsRig.part(PatternBytes.copyOf(GdsRig.bytes(region)), 0, there));
        }
    }

    /** What the simulation reports for the first part it has not moved, so that the rest shows where it went on. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void shouldGoOnWhereAnEntryEndedShort(final boolean write) throws IOException {
        final TransferEngine engine = rig.engine(GdsRig.batches(8, 2));
        final byte[] old = PatternBytes.of(1, 4 * BLOCK);
        final Segment segment = rig.file(engine, "f", old);
        final DeviceRegion region = rig.device(2, 4 * BLOCK);
        final byte[] fresh = PatternBytes.of(2, 4 * BLOCK);
        rig.simulated.end(0, CuFileTypes.CUFILE_COMPLETE(), 1000);

        engine.submit(List.of(write ? TransferRequest.write(region.slice(0, 3 * BLOCK), segment, BLOCK)
            : TransferRequest.read(region.slice(0, 3 * BLOCK), segment, BLOCK))).await();

        final byte[] expected = write ? old : fresh;
        System.arraycopy(write ? fresh : old, write ? 1000 : BLOCK + 1000, expected, write ? BLOCK + 1000 : 1000,
            3 * BLOCK - 1000);
        assertArrayEquals(expected, write ? rig.content("f") : PatternBytes.copyOf(GdsRig.bytes(region)));
    }

    @Test
    void shouldGoOnWhereACallEndedShort() throws IOException {
        final TransferEngine engine = rig.engine(GdsRig.calls(1));
        final byte[] expected = PatternBytes.of(1, 4 * BLOCK);
        final Segment segment = rig.file(engine, "f", expected);
        final DeviceRegion region = rig.device(2, 4 * BLOCK);
        rig.simulated.answer(1000, 0);

        engine.submit(List.of(TransferRequest.write(region.slice(0, 4 * BLOCK), segment, 0))).await();

        System.arraycopy(PatternBytes.of(2, 4 * BLOCK), 1000, expected, 1000, 4 * BLOCK - 1000);
        assertArrayEquals(expected, rig.content("f"));
    }

    @ParameterizedTest
    @EnumSource(GdsConfig.Mode.class)
    void shouldFailWhenNothingIsWrittenAndNoErrorGiven(final GdsConfig.Mode mode) throws IOException {
        final TransferEngine engine = rig.engine(config(mode));
        final Segment segment = rig.file(engine, "f", new byte[BLOCK]);
        rig.simulated.end(0, CuFileTypes.CUFILE_COMPLETE(), 0);
        rig.simulated.answer(0, 0);

        final TransferFailure failure = failureOf(
            engine.submit(List.of(TransferRequest.write(rig.device(1, BLOCK).slice(0, BLOCK), segment, 0))));

        assertEquals(TransferFailure.Kind.FAILED, failure.kind());
        assertTrue(failure.message().contains("0 of 4096 bytes at offset 0"), failure.message());
    }

    @ParameterizedTest
    @CsvSource({"0x40, -5, FAILED, 5, EIO", "0x40, -1, FAILED, 5, EIO", "0x40, -5017, FAILED, 5017, MAPPING_RANGE",
        "4, 0, FAILED, 0, INVALID", "0x20, 0, TIMEOUT, 0, time limit", "8, 0, FAILED, 0, gave it up",
        "0x10, 99999, FAILED, 99999, cuFile code"})
    void shouldFailOneSliceAndMoveTheOthersWhenAnEntryFails(final String status, final long result,
        final TransferFailure.Kind kind, final int code, final String word) throws IOException {
        final TransferEngine engine = rig.blocks(GdsRig.batches(8, 1));
        final Segment segment = rig.file(engine, "f", new byte[8 * BLOCK]);
        final DeviceRegion region = rig.device(1, 8 * BLOCK);
        rig.simulated.stalled(true);
        // The only batch is in flight, so the next eight transfers wait and then share one.
        final Transfer first = engine.submit(List.of(TransferRequest.read(region.slice(0, BLOCK), segment, 0)));
        rig.awaitCalls("batchSubmit", 1);
        final List<Transfer> transfers = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            transfers.add(engine.submit(
                List.of(TransferRequest.write(region.slice((long) i * BLOCK, BLOCK), segment, (long) i * BLOCK))));
        }
        rig.simulated.end(3, Integer.decode(status), result);
        rig.simulated.stalled(false);
        first.await();

        for (int i = 0; i < 8; i++) {
            if (i == 3) {
                final TransferFailure failure = failureOf(transfers.get(i));
                assertEquals(kind, failure.kind());
                assertEquals(code, failure.code());
                assertTrue(failure.message().contains(word), failure.message());
                assertTrue(failure.retryable());
                assertEquals(segment.name(), failure.segment());
                assertEquals(3 * BLOCK, failure.offset());
            } else {
                transfers.get(i).await();
            }
        }
        assertEquals(2, rig.simulated.count("batchSubmit"));
        engine.submit(List.of(TransferRequest.write(region.slice(0, 8 * BLOCK), segment, 0))).await();
        assertEquals(-1, GdsRig.bytes(region).mismatch(MemorySegment.ofArray(rig.content("f"))));
    }

    @Test
    void shouldFailWithTheCodeOfTheEntry() throws IOException {
        final TransferEngine engine = rig.engine(GdsRig.batches(8, 2));
        final Segment segment = rig.file(engine, "f", new byte[BLOCK]);
        final DeviceRegion region = rig.device(1, BLOCK);
        rig.simulated.end(0, CuFileTypes.CUFILE_FAILED(), -28);

        final TransferFailure failure =
            failureOf(engine.submit(List.of(TransferRequest.write(region.slice(0, BLOCK), segment, 0))));

        assertEquals(28, failure.code());
        assertTrue(failure.message().contains("ENOSPC"), failure.message());
    }

    @Test
    void shouldFailWithTheErrnoOfACall() throws IOException {
        final TransferEngine engine = rig.engine(GdsRig.calls(2));
        final Segment segment = rig.file(engine, "f", new byte[BLOCK]);
        final DeviceRegion region = rig.device(1, BLOCK);
        for (final long[] answer : new long[][] {{-1, 5, 5}, {-5022, 0, 5022}, {-1, 5017, 5017}, {5011, 0, 5011}}) {
            rig.simulated.answer(answer[0], (int) answer[1]);
            final TransferFailure failure =
                failureOf(engine.submit(List.of(TransferRequest.read(region.slice(0, BLOCK), segment, 0))));
            assertEquals(TransferFailure.Kind.FAILED, failure.kind());
            assertEquals(answer[2], failure.code());
        }
        engine.submit(List.of(TransferRequest.read(region.slice(0, BLOCK), segment, 0))).await();
    }

    /** A device without a disk behind it: fdatasync answers EINVAL, and what does not call it answers nothing. */
    @Test
    void shouldCallFdatasyncWhenSynced() {
        final TransferEngine engine = rig.engine(GdsRig.calls(1));
        final Segment device = engine.openSegment("file:///dev/null");

        final TransferFailure failure = failureOf(engine.sync(device));

        assertEquals(22, failure.code());
        assertTrue(failure.message().contains("fdatasync(/dev/null)"), failure.message());
    }

    @Test
    void shouldFailTheBatchWhenItsSubmissionIsRefused() throws IOException {
        final TransferEngine engine = rig.blocks(GdsRig.batches(8, 2));
        final Segment segment = rig.file(engine, "f", new byte[8 * BLOCK]);
        final DeviceRegion region = rig.device(1, 8 * BLOCK);
        rig.simulated.refuse("batchSubmit", 5030, 0);

        final Transfer transfer =
            engine.submit(List.of(TransferRequest.write(region.slice(0, 8 * BLOCK), segment, 0)));

        assertEquals(5030, failureOf(transfer).code());
        engine.submit(List.of(TransferRequest.write(region.slice(0, 8 * BLOCK), segment, 0))).await();
        assertArrayEquals(PatternBytes.of(1, 8 * BLOCK), rig.content("f"));
        assertEquals(1, rig.simulated.count("batchSetUp"), "the batch could be used again");
    }

    @ParameterizedTest
    @CsvSource({"1, true", "63, true", "64, false"})
    void shouldSubmitAgainWhenTheReasonPasses(final int times, final boolean good) throws IOException {
        final TransferEngine engine = rig.engine(GdsRig.batches(8, 2));
        final Segment segment = rig.file(engine, "f", new byte[BLOCK]);
        final DeviceRegion region = rig.device(1, BLOCK);
        for (int i = 0; i < times; i++) {
            rig.simulated.refuse("batchSubmit", CuFileTypes.CU_FILE_INTERNAL_BATCH_SUBMIT_ERROR(), 0);
        }

        final Transfer transfer = engine.submit(List.of(TransferRequest.write(region.slice(0, BLOCK), segment, 0)));

        if (good) {
            transfer.await();
            assertArrayEquals(PatternBytes.of(1, BLOCK), rig.content("f"));
        } else {
            assertEquals(CuFileTypes.CU_FILE_INTERNAL_BATCH_SUBMIT_ERROR(), failureOf(transfer).code());
        }
    }

    @Test
    void shouldGiveABatchUpWhenTheDriverCannotSayWhatBecameOfIt() throws IOException {
        final TransferEngine engine = rig.blocks(GdsRig.batches(8, 2));
        final Segment segment = rig.file(engine, "f", new byte[8 * BLOCK]);
        final DeviceRegion region = rig.device(1, 8 * BLOCK);
        rig.simulated.refuse("batchStatus", 5030, 0);

        final Transfer transfer =
            engine.submit(List.of(TransferRequest.write(region.slice(0, 8 * BLOCK), segment, 0)));

        assertEquals(5030, failureOf(transfer).code());
        assertTrue(rig.simulated.count("batchDestroy") >= 1, "ended before the batch was gone");
        engine.submit(List.of(TransferRequest.write(region.slice(0, 8 * BLOCK), segment, 0))).await();
        assertArrayEquals(PatternBytes.of(1, 8 * BLOCK), rig.content("f"));
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void shouldEndACancelledTransferWhenItsEntriesHaveEndedOrTheBatchIsGone(final boolean eventsCome) throws Exception {
        final TransferEngine engine = rig.blocks(GdsRig.batches(8, 2));
        final Segment segment = rig.file(engine, "f", PatternBytes.of(1, 4 * BLOCK));
        final DeviceRegion region = rig.device(new byte[4 * BLOCK]);
        rig.simulated.cancelReports(eventsCome);
        rig.simulated.stalled(true);
        final Transfer transfer = engine.submit(List.of(TransferRequest.read(region.slice(0, 4 * BLOCK), segment, 0)));
        rig.awaitCalls("batchSubmit", 1);
        assertFalse(transfer.await(0));

        transfer.cancel();

        assertEquals(TransferFailure.Kind.CANCELED, failureOf(transfer).kind());
        assertTrue(eventsCome || rig.simulated.count("batchDestroy") >= 1, "ended before the batch was gone");
        rig.simulated.stalled(false);
        engine.submit(List.of(TransferRequest.read(region.slice(0, 4 * BLOCK), segment, 0))).await();
        assertArrayEquals(PatternBytes.of(1, 4 * BLOCK), PatternBytes.copyOf(GdsRig.bytes(region)));
    }

    @Test
    void shouldGiveUpAtTheDeadline() throws IOException {
        final TransferEngine engine = rig.blocks(GdsRig.batches(8, 2));
        final Segment segment = rig.file(engine, "f", PatternBytes.of(1, 4 * BLOCK));
        final DeviceRegion region = rig.device(new byte[4 * BLOCK]);
        rig.simulated.stalled(true);

        final Transfer transfer = engine.submit(List.of(TransferRequest.read(region.slice(0, 4 * BLOCK), segment, 0)),
            TransferOptions.within(20));

        assertEquals(TransferFailure.Kind.TIMEOUT, failureOf(transfer).kind());
        rig.simulated.stalled(false);
    }

    @Test
    void shouldNotCancelABatchThatSomebodyElseStillWants() throws IOException {
        final TransferEngine engine = rig.blocks(GdsRig.batches(8, 1));
        final Segment segment = rig.file(engine, "f", PatternBytes.of(1, 4 * BLOCK));
        final DeviceRegion region = rig.device(new byte[4 * BLOCK]);
        rig.simulated.stalled(true);
        // The only batch is in flight, so the next two transfers wait and then share one.
        final Transfer first = engine.submit(List.of(TransferRequest.read(region.slice(0, BLOCK), segment, 0)));
        rig.awaitCalls("batchSubmit", 1);
        final Transfer unwanted =
            engine.submit(List.of(TransferRequest.read(region.slice(BLOCK, BLOCK), segment, BLOCK)));
        final Transfer wanted =
            engine.submit(List.of(TransferRequest.read(region.slice(2 * BLOCK, BLOCK), segment, 2 * BLOCK)));
        first.cancel();
        assertEquals(TransferFailure.Kind.CANCELED, failureOf(first).kind());
        rig.awaitCalls("batchSubmit", 2);

        unwanted.cancel();
        final long polls = rig.simulated.count("batchStatus");
        rig.awaitCalls("batchStatus", polls + 10);
        assertFalse(unwanted.isDone(), "its memory is still in use");
        assertEquals(1, rig.simulated.count("batchCancel"));
        rig.simulated.stalled(false);

        wanted.await();
        assertEquals(TransferFailure.Kind.CANCELED, failureOf(unwanted).kind());
        assertEquals(1, rig.simulated.count("batchCancel"));
        assertArrayEquals(GdsRig.part(PatternBytes.of(1, 4 * BLOCK), 2 * BLOCK, BLOCK),
            GdsRig.part(PatternBytes.copyOf(GdsRig.bytes(region)), 2 * BLOCK, BLOCK));
    }

    @Test
    void shouldStartNothingOfATransferThatWasCancelledWhileItWaited() throws IOException {
        final TransferEngine engine = rig.blocks(GdsRig.batches(2, 1));
        final byte[] model = PatternBytes.of(1, 8 * BLOCK);
        final Segment segment = rig.file(engine, "f", model);
        final DeviceRegion region = rig.device(2, 8 * BLOCK);
        rig.simulated.stalled(true);
        final Transfer first = engine.submit(List.of(TransferRequest.read(region.slice(0, BLOCK), segment, 0)));
        rig.awaitCalls("batchSubmit", 1);
        final Transfer waiting =
            engine.submit(List.of(TransferRequest.write(region.slice(0, 8 * BLOCK), segment, 0)));
        waiting.cancel();
        rig.simulated.stalled(false);

        first.await();
        assertEquals(TransferFailure.Kind.CANCELED, failureOf(waiting).kind());
        assertArrayEquals(model, rig.content("f"));
    }

    @Test
    void shouldWaitForWhatIsOnItsWayWhenClosed() throws Exception {
        final TransferEngine engine = rig.blocks(GdsRig.batches(8, 2));
        final Segment segment = rig.file(engine, "f", PatternBytes.of(1, 20 * BLOCK));
        final DeviceRegion region = rig.device(new byte[20 * BLOCK]);
        rig.simulated.stalled(true);
        final Transfer transfer =
            engine.submit(List.of(TransferRequest.read(region.slice(0, 20 * BLOCK), segment, 0)));
        rig.awaitCalls("batchSubmit", 1);
        final Thread closer = Thread.ofPlatform().start(engine::close);
        assertTrue(Threads.awaitWaiting(closer), "closed the engine under a batch");
        assertEquals(0, rig.simulated.count("batchDestroy") + rig.simulated.count("handleDeregister"));

        rig.simulated.stalled(false);
        closer.join();

        transfer.await();
        assertArrayEquals(PatternBytes.of(1, 20 * BLOCK), PatternBytes.copyOf(GdsRig.bytes(region)));
    }

    @Test
    void shouldCancelWhatIsOnItsWayWhenClosingHasWaitedEnough() throws IOException {
        final TransferEngine engine =
            rig.engine(new TransferConfig(BLOCK, 1000), rig.transport(GdsRig.batches(4, 2)));
        final Segment segment = rig.file(engine, "f", PatternBytes.of(1, 20 * BLOCK));
        final DeviceRegion region = rig.device(new byte[20 * BLOCK]);
        rig.simulated.stalled(true);
        final Transfer transfer =
            engine.submit(List.of(TransferRequest.read(region.slice(0, 20 * BLOCK), segment, 0)));

        engine.close();

        assertFalse(engine.abandoned());
        assertTrue(transfer.isDone());
        assertEquals(TransferFailure.Kind.CANCELED, failureOf(transfer).kind());
    }

    @Test
    void shouldFailEverySliceWhenTheThreadMeetsAnError() throws IOException {
        final LinkageError gone = new LinkageError("a class is gone");
        final TransferEngine engine = rig.engine(new TransferConfig(BLOCK, 30_000),
            GdsTransport.open(Dying.in("batchSubmit", rig.simulated, gone), GdsRig.batches(4, 2),
                GdsRig.around(rig.simulated), GdsRig.LIBRARY_POOL));
        final Segment segment = rig.file(engine, "f", new byte[20 * BLOCK]);
        final DeviceRegion region = rig.device(1, 20 * BLOCK);
        for (int round = 0; round < 2; round++) {
            final TransferFailure failure =
                failureOf(engine.submit(List.of(TransferRequest.write(region.slice(0, 20 * BLOCK), segment, 0))));
            assertEquals("a class is gone", failure.message());
        }
    }

    @Test
    void shouldLoseNoByteWhenWritesMeetInTheMiddleOfBlocks() throws IOException {
        for (final GdsConfig config : List.of(
            new GdsConfig(true, 16, GdsConfig.Mode.BATCH, 3, 2, false, true, 10, false),
            GdsRig.calls(4))) {
            final TransferEngine engine = rig.engine(config);
            final int length = 1000;
            final int count = 500;
            final Segment segment = rig.file(engine, "f" + config.mode(), new byte[0]);
            final DeviceRegion region = rig.device(1, count * length);
            final List<TransferRequest> requests = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                requests.add(TransferRequest.write(region.slice((long) i * length, length), segment,
                    (long) i * length));
            }
            engine.submit(requests).await();
            assertArrayEquals(PatternBytes.of(1, count * length), rig.content("f" + config.mode()));
            engine.close();
        }
    }

    @Test
    void shouldRefuseMemoryThatIsNone() throws IOException {
        final TransferEngine engine = rig.engine(GdsRig.batches(8, 2));
        final Segment segment = rig.file(engine, "f", new byte[BLOCK]);
        final DeviceRegion gone = rig.device(1, BLOCK);
        rig.simulated.memory().freed(gone.pointer().address());

        final TransferFailure failure = assertThrows(TransferException.class,
            () -> engine.submit(List.of(TransferRequest.write(gone.slice(0, BLOCK), segment, 0)))).failure();

        assertEquals(TransferFailure.Kind.INVALID, failure.kind());
        assertTrue(failure.message().contains("is no device memory"), failure.message());
        rig.simulated.memory().allocated(gone.pointer());
        assertNull(engine.submit(List.of(TransferRequest.write(gone.slice(0, BLOCK), segment, 0))).failure());
    }

    @ParameterizedTest
    @EnumSource(GdsConfig.Mode.class)
    void shouldNameTheRegistrationWhenAnAddressLiesInside(final GdsConfig.Mode mode) throws IOException {
        final TransferEngine engine = rig.engine(new TransferConfig(BLOCK, 30_000), rig.transport(config(mode)));
        final byte[] bytes = PatternBytes.of(1, 4 * BLOCK);
        final Segment segment = rig.file(engine, "f", new byte[2 * BLOCK]);
        final DeviceRegion whole = rig.device(bytes);
        final DeviceRegion inside = DeviceRegion.borrow(null, whole.pointer().slice(BLOCK, 3 * BLOCK));
        try (var registration = engine.register(whole)) {
            assertTrue(registration.results().get(TransportKind.GDS).available());
            engine.submit(List.of(TransferRequest.write(inside.slice(100, 2 * BLOCK), segment, 0))).await();
            assertEquals(2, rig.simulated.registeredTransfers());
        }
        assertArrayEquals(GdsRig.part(bytes, BLOCK + 100, 2 * BLOCK), rig.content("f"));
        engine.submit(List.of(TransferRequest.write(inside.slice(0, 2 * BLOCK), segment, 0))).await();
        assertEquals(2, rig.simulated.registeredTransfers());
        assertArrayEquals(GdsRig.part(bytes, BLOCK, 2 * BLOCK), rig.content("f"));
    }

    @Test
    void shouldRefuseARangePastItsRegistration() throws IOException {
        final TransferEngine engine = rig.engine(GdsRig.batches(8, 2));
        final Segment segment = rig.file(engine, "f", new byte[4 * BLOCK]);
        final DeviceRegion whole = rig.device(1, 4 * BLOCK);
        final DeviceRegion part = DeviceRegion.borrow(null, whole.pointer().slice(BLOCK, 2 * BLOCK));
        try (var registration = engine.register(part)) {
            assertTrue(registration.results().values().iterator().next().available());
            final TransferFailure failure = assertThrows(TransferException.class, () -> engine.submit(
                List.of(TransferRequest.write(whole.slice(2 * BLOCK, 2 * BLOCK), segment, 0)))).failure();
            assertEquals(TransferFailure.Kind.INVALID, failure.kind());
            assertTrue(failure.message().contains("4096 bytes past the registration"), failure.message());
            engine.submit(List.of(TransferRequest.write(whole.slice(2 * BLOCK, BLOCK), segment, 0))).await();
        }
        engine.submit(List.of(TransferRequest.write(whole.slice(2 * BLOCK, 2 * BLOCK), segment, 0))).await();
        assertEquals(-1, GdsRig.bytes(whole).asSlice(2 * BLOCK).mismatch(
            MemorySegment.ofArray(rig.content("f")).asSlice(0, 2 * BLOCK)));
    }
}
