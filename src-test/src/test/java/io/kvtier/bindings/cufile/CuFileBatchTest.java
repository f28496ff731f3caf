package io.kvtier.bindings.cufile;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.bindings.cuda.CudaAddress;
import io.kvtier.bindings.cuda.DevicePointer;
import io.kvtier.bindings.cufile.CuFileBatch.State;
import io.kvtier.bindings.cufile.gen.CUfileIOParams;
import io.kvtier.bindings.cufile.gen.CuFileTypes;
import io.kvtier.bindings.posix.PosixFile;
import io.kvtier.kit.SimulatedCuFile;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class CuFileBatchTest extends OverSimulatedCuFile {
    private static final long ENTRY = 4096;

    private final CuFileBuffer buffer = keep(CuFileBuffer.register(driver, device), CuFileBuffer::close);
    private final CuFileBatch batch = CuFileBatch.create(driver, 8);
    private final List<String> said = new ArrayList<>();

    CuFileBatchTest() {
        super("batch", 1 << 20);
    }

    @AfterEach
    void close() {
        batch.close();
        assertEquals(State.DESTROYED, batch.state());
        assertEquals(0, driver.pool().taken());
    }

    private void hear(final int slot, final CuFileOutcome outcome, final long result) {
        said.add(slot + " " + outcome + " " + result);
    }

    private int add(final boolean write, final int index) {
        return batch.add(write, handle, index * ENTRY, buffer, index * ENTRY, ENTRY);
    }

    private void fillAndSubmit(final int entries) {
        for (int i = 0; i < entries; i++) {
            assertEquals(i, add(false, i));
        }
        batch.submit();
    }

    @Test
    void shouldGoThroughItsStates() {
        assertEquals(State.FREE, batch.state());
        add(true, 0);
        assertEquals(State.FILLING, batch.state());
        batch.submit();
        assertEquals(State.IN_FLIGHT, batch.state());
        assertEquals(1, batch.outstanding());
        assertEquals(1, batch.poll(0, this::hear));
        assertEquals(State.DRAINED, batch.state());
        batch.recycle();
        assertEquals(State.FREE, batch.state());
        add(false, 0);
        batch.recycle();
        assertEquals(State.FREE, batch.state());
        assertEquals(List.of("0 COMPLETE 4096"), said);
        assertEquals(8, batch.capacity());
    }

    @Test
    void shouldRefuseWhatDoesNotFitItsState() {
        assertThrows(IllegalStateException.class, batch::submit);
        assertThrows(IllegalStateException.class, () -> batch.poll(0, this::hear));
        assertThrows(IllegalStateException.class, () -> batch.cancel(0, this::hear));
        fillAndSubmit(1);
        assertThrows(IllegalStateException.class, () -> add(false, 1));
        assertThrows(IllegalStateException.class, batch::submit);
        assertThrows(IllegalStateException.class, batch::recycle);
        batch.close();
        assertThrows(IllegalStateException.class, () -> add(false, 1));
        assertThrows(IllegalStateException.class, batch::recycle);
        batch.close();
    }

    @Test
    void shouldMoveTheBytesOfEveryEntry() {
        memory.asSlice(0, 8 * ENTRY).fill((byte) 9);
        for (int i = 0; i < 8; i++) {
            add(true, i);
        }
        assertEquals(CuFileBatch.NO_ROOM, add(true, 8));
        batch.submit();
        assertEquals(8, batch.poll(1, this::hear));
        memory.fill((byte) 0);
        batch.recycle();
        for (int i = 0; i < 7; i++) {
            add(false, i);
        }
        assertEquals(7, batch.add(false, handle, 7 * ENTRY, device.slice(7 * ENTRY, ENTRY)));
        batch.submit();
        assertEquals(8, batch.poll(1, this::hear));
        for (long at = 0; at < 8 * ENTRY; at++) {
            assertEquals(9, memory.get(ValueLayout.JAVA_BYTE, at));
        }
        assertEquals(0, memory.get(ValueLayout.JAVA_BYTE, 8 * ENTRY));
    }

    @Test
    void shouldCountEventsThatComeInPartsAndInAnyOrder() {
        simulated.eventsAtOnce(3);
        fillAndSubmit(8);
        assertEquals(3, batch.poll(0, this::hear));
        assertEquals(5, batch.outstanding());
        assertEquals(3, batch.poll(0, this::hear));
        assertEquals(2, batch.poll(0, this::hear));
        assertEquals(State.DRAINED, batch.state());
        assertEquals(IntStream.rangeClosed(0, 7).map(i -> 7 - i).mapToObj(i -> i + " COMPLETE 4096").toList(), said);
    }

    @Test
    void shouldReportEachWayInWhichAnEntryCanEnd() {
        simulated.end(0, CuFileTypes.CUFILE_COMPLETE(), 100);
        simulated.end(1, CuFileTypes.CUFILE_FAILED(), -5);
        simulated.end(2, CuFileTypes.CUFILE_INVALID(), -5022);
        simulated.end(3, CuFileTypes.CUFILE_TIMEOUT(), 0);
        simulated.end(4, CuFileTypes.CUFILE_CANCELED(), 0);
        simulated.end(5, CuFileTypes.CUFILE_COMPLETE(), -22);
        simulated.end(6, CuFileTypes.CUFILE_COMPLETE(), 5000);
        fillAndSubmit(8);
        batch.poll(0, this::hear);
        assertEquals(List.of("7 COMPLETE 4096", "6 FAILED 5000", "5 FAILED -22", "4 CANCELED 0", "3 TIMED_OUT 0",
            "2 INVALID -5022", "1 FAILED -5", "0 SHORT 100"), said);
        assertEquals("EIO", CuFileException.ofResult("entry", -5, 0, "").name());
    }

    @Test
    void shouldGoOnToTheOtherEntriesWhenOneHasFailed() {
        simulated.eventsAtOnce(2);
        simulated.end(7, CuFileTypes.CUFILE_FAILED(), -1);
        fillAndSubmit(8);
        int polls = 0;
        while (batch.state() == State.IN_FLIGHT) {
            assertEquals(2, batch.poll(0, this::hear));
            polls++;
        }
        assertEquals(4, polls);
        assertEquals(0, batch.strayEvents());
        assertEquals("7 FAILED -1", said.getFirst());
        assertEquals(8, said.size());
    }

    @Test
    void shouldGiveUpTheOthersWhenTheDriverFallsSilentAfterAFailure() {
        simulated.eventsAtOnce(2);
        simulated.silentAfterFailure(true);
        simulated.end(3, CuFileTypes.CUFILE_FAILED(), -1);
        try (CuFileBatch one = CuFileBatch.create(driver, 4, 0); CuFileBatch other = CuFileBatch.create(driver, 4)) {
            for (int i = 0; i < 4; i++) {
                one.add(false, handle, 0, buffer, 0, ENTRY);
            }
            one.submit();
            assertEquals(2, one.poll(0, this::hear));
            assertEquals(State.IN_FLIGHT, one.state());
            assertEquals(2, one.poll(0, this::hear));
            assertEquals(State.DESTROYED, one.state());
            assertEquals(List.of("3 FAILED -1", "2 COMPLETE 4096", "0 CANCELED 0", "1 CANCELED 0"), said);
            assertTrue(simulated.calls().contains("batchCancel"));
            // Without a failure it is given more time: a disk may be slow.
            other.add(false, handle, 0, buffer, 0, ENTRY);
            other.submit();
            assertEquals(0, other.poll(0, this::hear));
            assertEquals(State.IN_FLIGHT, other.state());
        }
        said.clear();
        try (CuFileBatch silent = CuFileBatch.create(driver, 1, 0)) {
            silent.add(false, handle, 0, buffer, 0, ENTRY);
            silent.submit();
            assertEquals(1, silent.poll(0, this::hear));
            assertEquals(State.DESTROYED, silent.state());
            assertEquals(List.of("0 CANCELED 0"), said);
        }
    }

    @Test
    void shouldPassOverEventsOfNoOutstandingEntry() {
        simulated.stray(77, CuFileTypes.CUFILE_COMPLETE(), 1);
        simulated.stray(0, CuFileTypes.CUFILE_COMPLETE(), 1);
        simulated.stray(1, CuFileTypes.CUFILE_PENDING(), 0);
        fillAndSubmit(2);
        assertEquals(2, batch.poll(0, this::hear));
        assertEquals(2, batch.strayEvents());
        batch.recycle();
        fillAndSubmit(2);
        simulated.eventsAtOnce(1);
        batch.poll(0, this::hear);
        simulated.stray(2, CuFileTypes.CUFILE_COMPLETE(), ENTRY);
        assertEquals(1, batch.poll(0, this::hear));
        assertEquals(3, batch.strayEvents());
    }

    @Test
    void shouldKeepItsEntriesWhenTheSubmissionIsRefused() {
        simulated.refuse("batchSubmit", CuFileTypes.CU_FILE_INTERNAL_BATCH_SUBMIT_ERROR(), 0);
        add(false, 0);
        final CuFileException e = assertThrows(CuFileException.class, batch::submit);
        assertTrue(e.retryable());
        assertEquals(State.FILLING, batch.state());
        assertEquals(0, batch.outstanding());
        batch.submit();
        batch.poll(0, this::hear);
        assertEquals(List.of("0 COMPLETE 4096"), said);
    }

    @Test
    void shouldGoOnAskingWhenTheStatusFailsForAMoment() {
        fillAndSubmit(1);
        for (int i = 0; i < 63; i++) {
            simulated.refuse("batchStatus", CuFileTypes.CU_FILE_INTERNAL_BATCH_GETSTATUS_ERROR(), 0);
            assertEquals(0, batch.poll(0, this::hear));
        }
        assertEquals(1, batch.poll(0, this::hear));
    }

    /** A query that fails is looked at as well; what the one before it left is no answer to it. */
    @Test
    void shouldHearNoEndOfAnEarlierRoundAgainWhenTheStatusFails() {
        fillAndSubmit(3);
        assertEquals(3, batch.poll(0, this::hear));
        batch.recycle();
        said.clear();
        simulated.stalled(true);
        fillAndSubmit(3);
        simulated.refuse("batchStatus", CuFileTypes.CU_FILE_INTERNAL_BATCH_GETSTATUS_ERROR(), 0);

        assertEquals(0, batch.poll(0, this::hear));

        assertEquals(List.of(), said);
        assertEquals(3, batch.outstanding());
        assertEquals(0, batch.strayEvents());
    }

    @Test
    void shouldFailWhenTheStatusKeepsFailing() {
        fillAndSubmit(1);
        simulated.refuse("batchStatus", CuFileTypes.CU_FILE_INVALID_VALUE(), 0);
        assertThrows(CuFileException.class, () -> batch.poll(0, this::hear));
        assertEquals(1, batch.outstanding());
        for (int i = 0; i < 63; i++) {
            simulated.refuse("batchStatus", CuFileTypes.CU_FILE_NOMEM_ERROR(), 0);
            if (i < 62) {
                batch.poll(0, this::hear);
            } else {
                assertThrows(CuFileException.class, () -> batch.poll(0, this::hear));
            }
        }
    }

    @Test
    void shouldReportCancelledEntriesWhetherOrNotTheDriverDoes() {
        for (final boolean reports : List.of(false, true)) {
            said.clear();
            simulated.cancelReports(reports);
            simulated.stalled(true);
            final CuFileBatch one = CuFileBatch.create(driver, 2);
            one.add(false, handle, 0, buffer, 0, ENTRY);
            one.add(false, handle, ENTRY, buffer, ENTRY, ENTRY);
            one.submit();
            assertEquals(2, driver.pool().taken());
            one.cancel(1_000_000, this::hear);
            assertEquals(State.DESTROYED, one.state());
            assertEquals(0, one.outstanding());
            assertEquals(List.of("0 CANCELED 0", "1 CANCELED 0"), said);
            one.close();
        }
    }

    @Test
    void shouldDestroyWhatWasCancelledEvenWhenAskingFails() {
        simulated.stalled(true);
        fillAndSubmit(2);
        simulated.refuse("batchCancel", CuFileTypes.CU_FILE_INTERNAL_BATCH_CANCEL_ERROR(), 0);
        simulated.refuse("batchStatus", CuFileTypes.CU_FILE_INTERNAL_ERROR(), 0);
        batch.cancel(1_000_000, this::hear);
        assertEquals(State.DESTROYED, batch.state());
        assertEquals(2, said.size());
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 63})
    void shouldDestroyNothingThatIsInFlightWhenTheCancellationIsPutOff(final int times) {
        simulated.stalled(true);
        fillAndSubmit(2);
        for (int i = 0; i < times; i++) {
            simulated.refuse("batchCancel", CuFileTypes.CU_FILE_INTERNAL_BATCH_CANCEL_ERROR(), 0);
        }
        batch.cancel(0, this::hear);
        assertEquals(State.DESTROYED, batch.state());
        assertEquals(times + 1, simulated.count("batchCancel"));
        assertEquals(List.of("0 CANCELED 0", "1 CANCELED 0"), said);
    }

    @Test
    void shouldCancelWhatIsInFlightWhenClosed() {
        fillAndSubmit(4);
        batch.close();
        assertEquals(State.DESTROYED, batch.state());
        assertTrue(simulated.calls().contains("batchCancel"));
    }

    @Test
    void shouldHoldFilesAndMemoryUntilTheirEntriesHaveEnded() {
        fillAndSubmit(2);
        buffer.close();
        handle.close();
        file.close();
        assertEquals(3, simulated.live());
        simulated.eventsAtOnce(1);
        batch.poll(0, this::hear);
        assertEquals(3, simulated.live());
        batch.poll(0, this::hear);
        assertEquals(1, simulated.live());
        assertEquals(List.of("1 COMPLETE 4096", "0 COMPLETE 4096"), said);
    }

    /** The simulation looks at each entry again when it ends. */
    @Test
    void shouldLeaveTheArrayAsItIsUntilTheLastEntryHasEnded() {
        simulated.eventsAtOnce(1);
        fillAndSubmit(3);
        for (int left = 2; left >= 0; left--) {
            assertThrows(IllegalStateException.class, () -> add(true, 7));
            assertThrows(IllegalStateException.class, batch::recycle);
            assertEquals(1, batch.poll(0, this::hear));
            assertEquals(left, batch.outstanding());
        }
        assertEquals(List.of("2 COMPLETE 4096", "1 COMPLETE 4096", "0 COMPLETE 4096"), said);
        batch.recycle();
        simulated.stalled(true);
        fillAndSubmit(3);
        // What is cancelled is looked at as well, and the array goes after that.
        batch.close();
        assertEquals(State.DESTROYED, batch.state());
        assertTrue(simulated.calls().lastIndexOf("batchCancel") < simulated.calls().lastIndexOf("batchDestroy"));
    }

    @Test
    void shouldNeverSubmitMoreThanThePoolHasBuffersFor() {
        final CuFileConfig small = new CuFileConfig(
            List.of(new PoolSlabs(4, 3), new PoolSlabs(8, 2), new PoolSlabs(16, 2)),
            CuFileConfig.Compatibility.AS_CONFIGURED, 0);
        final SimulatedCuFile other = new SimulatedCuFile();
        other.memory().allocated(device);
        try (CuFileDriver tight = other.cuFile().open(small); PosixFile one = PosixFile.inMemory("pool");
            CuFileHandle on = CuFileHandle.register(tight, one);
            CuFileBatch first = CuFileBatch.create(tight, 8); CuFileBatch second = CuFileBatch.create(tight, 8)) {
            assertEquals(3, tight.batchEntries(ENTRY));
            assertEquals(0, first.add(false, on, 0, device.slice(0, ENTRY)));
            assertEquals(1, first.add(false, on, 0, device.slice(0, ENTRY)));
            first.submit();
            // The buffers are the process's, not the batch's.
            assertEquals(0, second.add(false, on, 0, device.slice(0, ENTRY)));
            assertEquals(CuFileBatch.NO_ROOM, second.add(false, on, 0, device.slice(0, ENTRY)));
            assertEquals(1, second.add(false, on, 0, device.slice(0, 2 * ENTRY)));
            second.submit();
            first.poll(0, this::hear);
            second.poll(0, this::hear);
            assertEquals(4, said.size());
            assertEquals(0, tight.pool().taken());
        }
        assertEquals(0, other.live());
    }

    @Test
    void shouldBlockForEverWhenNobodyCountsTheBuffers() {
        final MemorySegment out = arena.allocate(ValueLayout.JAVA_LONG);
        final SimulatedCuFile plain = new SimulatedCuFile();
        plain.memory().allocated(device);
        plain.batchSetUp(out, 128);
        assertEquals(128, driver.batchEntries(64 << 10));
        try (CuFileDriver untouched = plain.cuFile().open(
            new CuFileConfig(List.of(), CuFileConfig.Compatibility.AS_CONFIGURED, 0));
            PosixFile one = PosixFile.inMemory("hang"); CuFileHandle on = CuFileHandle.register(untouched, one);
            CuFileBatch many = CuFileBatch.create(untouched, 128)) {
            assertEquals(64, untouched.batchEntries(64 << 10));
            int added = 0;
            while (many.add(false, on, 0, device.slice(0, 64 << 10)) != CuFileBatch.NO_ROOM) {
                added++;
            }
            assertEquals(64, added);
            many.submit();
            assertThrows(SimulatedCuFile.NeverReturns.class, () -> {
                final MemorySegment params =
                    arena.allocate(CUfileIOParams.layout());
                params.set(ValueLayout.JAVA_INT, 0, CuFileTypes.CUFILE_BATCH());
                params.set(ValueLayout.JAVA_LONG, 8, device.address());
                params.set(ValueLayout.JAVA_LONG, 32, 64 << 10);
                params.set(ValueLayout.JAVA_LONG, 40, on.handle());
                plain.batchSubmit(out.get(ValueLayout.JAVA_LONG, 0), 1, params, 0);
            });
            many.poll(0, this::hear);
        }
        plain.batchDestroy(out.get(ValueLayout.JAVA_LONG, 0));
    }

    @Test
    void shouldBelongToTheThreadThatMadeIt() throws InterruptedException {
        final List<Throwable> thrown = new ArrayList<>();
        final Thread other = Thread.ofPlatform().start(() -> {
            for (final Runnable call : List.<Runnable>of(() -> add(false, 0), batch::submit, batch::close)) {
                thrown.add(assertThrows(IllegalStateException.class, call::run));
            }
        });
        other.join();
        assertEquals(3, thrown.size());
    }

    @Test
    void shouldRefuseASizeThatTheDriverDoesNotTake() {
        assertThrows(IllegalArgumentException.class, () -> CuFileBatch.create(driver, 0));
        assertThrows(IllegalArgumentException.class, () -> CuFileBatch.create(driver, 129));
        simulated.refuse("batchSetUp", CuFileTypes.CU_FILE_INTERNAL_BATCH_SETUP_ERROR(), 0);
        assertThrows(CuFileException.class, () -> CuFileBatch.create(driver, 8));
    }

    @Test
    void shouldRefuseAnEntryThatIsNoDeviceMemoryAndServeTheOthers() {
        simulated.memory().is(0x5000, CudaAddress.Kind.HOST);
        simulated.memory().is(0x6000, CudaAddress.Kind.MANAGED);
        add(false, 0);
        for (final DevicePointer wrong : List.of(new DevicePointer(0x1234_5678_9000L, ENTRY),
            new DevicePointer(0x5000, ENTRY), new DevicePointer(0x6000, ENTRY),
            new DevicePointer(device.address() + device.byteSize() - 1, 2))) {
            final IllegalArgumentException e = assertThrows(IllegalArgumentException.class,
                () -> batch.add(true, handle, 0, wrong));
            assertTrue(e.getMessage().contains("0x" + Long.toHexString(wrong.address())), e.getMessage());
        }
        assertEquals(1, batch.add(false, handle, ENTRY, device.slice(ENTRY, ENTRY)));
        assertEquals(2, driver.pool().taken());
        batch.submit();
        batch.poll(0, this::hear);
        assertEquals(List.of("1 COMPLETE 4096", "0 COMPLETE 4096"), said);
    }

    @Test
    void shouldRefuseARegistrationWhoseMemoryItsOwnerHasFreed() {
        simulated.memory().freed(device.address());
        final IllegalArgumentException e = assertThrows(IllegalArgumentException.class, () -> add(false, 0));
        assertTrue(e.getMessage().contains("freed"), e.getMessage());
        assertThrows(IllegalArgumentException.class, () -> handle.read(buffer, 0, ENTRY, 0));
        assertEquals(State.FREE, batch.state());
        assertEquals(0, driver.pool().taken());
        simulated.memory().allocated(device);
        assertEquals(0, add(false, 0));
    }

    @Test
    void shouldLeaveNothingTakenWhenAnEntryIsRefused() {
        assertThrows(IndexOutOfBoundsException.class, () -> batch.add(false, handle, 0, buffer, 1 << 20, ENTRY));
        assertThrows(IllegalArgumentException.class, () -> batch.add(false, handle, -1, buffer, 0, ENTRY));
        assertThrows(IllegalArgumentException.class, () -> batch.add(false, handle, 0, buffer, 0, 0));
        final CuFileBuffer closed = CuFileBuffer.register(driver, device.plus(4096));
        closed.close();
        assertThrows(IllegalStateException.class, () -> batch.add(false, handle, 0, closed, 0, ENTRY));
        assertEquals(0, driver.pool().taken());
        assertEquals(State.FREE, batch.state());
    }
}
