package io.kvtier.bindings.uring;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.bindings.NativeResources;
import io.kvtier.bindings.NativeTag;
import io.kvtier.bindings.posix.Errno;
import io.kvtier.bindings.posix.ErrnoException;
import io.kvtier.bindings.posix.Mapping;
import io.kvtier.bindings.posix.PosixFile;
import io.kvtier.kit.LeakCheck;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Rings whose kernel fails them in every way there is. */
@ExtendWith(LeakCheck.class)
class UringRingFaultTest {
    /** So many passing failures in a row are tried again. */
    private static final int IN_A_ROW = 64;

    private final SimulatedKernel kernel = new SimulatedKernel();
    private final Arena arena = Arena.ofShared();
    private final PosixFile file = PosixFile.inMemory("uring-faults");

    @AfterEach
    void everythingIsGivenBack() {
        file.close();
        arena.close();
        assertEquals(0, kernel.openDescriptors());
        assertEquals(0, kernel.openMappings());
    }

    private UringRing ring(final UringOptions options) {
        return UringRing.open(kernel, SimulatedKernel.FEATURES, options);
    }

    /** Gives up on a drain after a millisecond. */
    private UringRing ring(final int depth) {
        return ring(new UringOptions(depth, 2, 2, 1));
    }

    private static void prepare(final UringRing ring, final int count) {
        for (int i = 0; i < count; i++) {
            assertTrue(ring.nop(i));
        }
    }

    private static Map<Long, Integer> same(final int count, final int result) {
        final Ends ends = new Ends();
        for (int i = 0; i < count; i++) {
            ends.completed(i, result);
        }
        return ends.results();
    }

    @Test
    void shouldOfferTheRestWhenTheKernelTakesFewer() {
        try (UringRing ring = ring(8)) {
            kernel.limitEnter(1, 3, 2);
            prepare(ring, 8);
            ring.submit();
            assertEquals(8, ring.ready() == 0 ? ring.submitAndWait(8) : ring.ready());
            assertEquals(same(8, 0), Ends.of(ring));
            assertEquals(0, ring.rebuilds());
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {Errno.EINTR, Errno.EAGAIN, Errno.EBUSY, Errno.ENOMEM})
    void shouldTryAgainWhenTheFailureIsTransient(final int errno) {
        try (UringRing ring = ring(4)) {
            kernel.failEnter(errno, IN_A_ROW);
            prepare(ring, 4);
            ring.submit();
            assertEquals(same(4, 0), Ends.of(ring));
            assertEquals(0, ring.rebuilds());
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {Errno.EINTR, Errno.EAGAIN, Errno.EBUSY, Errno.ENOMEM})
    void shouldRebuildWhenTheTransientFailureLasts(final int errno) {
        try (UringRing ring = ring(4)) {
            kernel.failEnter(errno, IN_A_ROW + 1);
            prepare(ring, 4);
            ring.submit();
            assertEquals(same(4, -errno), Ends.of(ring));
            assertEquals(1, ring.rebuilds());
            prepare(ring, 4);
            assertEquals(same(4, 0), Ends.of(ring));
        }
    }

    @Test
    void shouldCountTransientFailuresInARowOnly() {
        try (UringRing ring = ring(4)) {
            for (int round = 0; round < 3; round++) {
                kernel.failEnter(Errno.EAGAIN, IN_A_ROW).limitEnter(1);
                prepare(ring, 2);
                ring.submit();
                assertEquals(same(2, 0), Ends.of(ring));
            }
            assertEquals(0, ring.rebuilds());
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {Errno.EINVAL, Errno.EFAULT, Errno.EBADF, Errno.EOPNOTSUPP})
    void shouldRebuildAtOnceWhenTheFailureIsFatal(final int errno) {
        try (UringRing ring = ring(4)) {
            prepare(ring, 3);
            kernel.failEnter(errno, 1);
            ring.submit();
            assertEquals(3, ring.ready());
            assertEquals(same(3, -errno), Ends.of(ring));
            assertEquals(1, ring.rebuilds());
            assertEquals(0, ring.strayCompletions());
        }
    }

    @Test
    void shouldRebuildWhenTheKernelTakesNothingAndSaysNoError() {
        try (UringRing ring = ring(2)) {
            kernel.limitEnter(Collections.nCopies(IN_A_ROW + 1, 0).stream()
                .mapToInt(Integer::intValue).toArray());
            prepare(ring, 2);
            ring.submit();
            assertEquals(same(2, -Errno.EIO), Ends.of(ring));
            assertEquals(1, ring.rebuilds());
        }
    }

    @Test
    void shouldDeliverWhatWasTakenBeforeAFatalFailure() {
        try (UringRing ring = ring(8)) {
            kernel.limitEnter(3).endWith(7, -Errno.EIO, 9);
            prepare(ring, 5);
            // Three are taken by the first call; the second one fails for good.
            kernel.failSecondEnter(Errno.EFAULT);
            ring.submit();
            final Map<Long, Integer> ends = Ends.of(ring);
            assertEquals(Map.of(0L, 7, 1L, -Errno.EIO, 2L, 9, 3L, -Errno.EFAULT, 4L, -Errno.EFAULT), ends);
            assertEquals(1, ring.rebuilds());
        }
    }

    @Test
    void shouldCancelWhatDoesNotEndBeforeRebuilding() {
        try (UringRing ring = ring(8)) {
            kernel.holding = true;
            prepare(ring, 2);
            ring.submit();
            assertTrue(ring.nop(2));
            kernel.failEnter(Errno.EFAULT, 1);
            ring.submit();
            kernel.holding = false;
            assertEquals(Map.of(0L, -Errno.ECANCELED, 1L, -Errno.ECANCELED, 2L, -Errno.EFAULT), Ends.of(ring));
            assertEquals(1, ring.rebuilds());
        }
    }

    @Test
    void shouldBreakWhenWhatWasTakenDoesNotEnd() {
        final UringRing ring = ring(8);
        final UringFile attached = ring.attach(file);
        final RegisteredBuffer buffer = ring.register(arena.allocate(10));
        kernel.holding = true;
        kernel.deaf = true;
        prepare(ring, 2);
        ring.submit();
        assertTrue(ring.nop(2));
        kernel.failEnter(Errno.EFAULT, 1);
        assertFalse(ring.isBroken());
        assertEquals(Errno.EFAULT, assertThrows(ErrnoException.class, ring::submit).errno());

        assertTrue(ring.isBroken());
        assertTrue(assertThrows(IllegalStateException.class, () -> ring.nop(3)).getMessage().contains("broken"));
        assertThrows(IllegalStateException.class, ring::submit);
        final Ends ends = new Ends();
        ring.reap(ends);
        assertEquals(Map.of(2L, -Errno.EFAULT), ends.results());
        assertEquals(2, ring.inFlight());

        attached.close();
        buffer.close();

        // When it ends after all, it is handed out, and the ring can be closed.
        kernel.releaseHeld();
        ring.reap(ends);
        assertEquals(Map.of(0L, 0, 1L, 0, 2L, -Errno.EFAULT), ends.results());
        ring.close();
    }

    @Test
    void shouldBreakWhenThereIsNoNewRing() {
        final UringRing ring = ring(4);
        prepare(ring, 2);
        kernel.failEnter(Errno.EFAULT, 1).failSetup(Errno.EMFILE);
        assertEquals(Errno.EMFILE, assertThrows(ErrnoException.class, ring::submit).errno());
        assertThrows(IllegalStateException.class, () -> ring.nop(3));
        final Ends ends = new Ends();
        assertEquals(2, ring.reap(ends));
        assertEquals(same(2, -Errno.EFAULT), ends.results());
        ring.close();
    }

    @Test
    void shouldRegisterFilesAndBuffersAgainAfterARebuild() {
        try (UringRing ring = ring(4); UringFile attached = ring.attach(file);
            RegisteredBuffer buffer = ring.register(arena.allocate(100))) {
            kernel.registered().clear();
            prepare(ring, 1);
            kernel.failEnter(Errno.EFAULT, 1);
            ring.submit();
            assertEquals(List.of(UringLayout.UNREGISTER_BUFFERS, UringLayout.REGISTER_FILES,
                UringLayout.REGISTER_BUFFERS), kernel.registered());
            assertEquals(same(1, -Errno.EFAULT), Ends.of(ring));
            assertTrue(ring.readFixed(attached, buffer, 0, 100, 0, 5));
            assertEquals(Map.of(5L, 100), Ends.of(ring));
        }
    }

    @Test
    void shouldIgnoreCompletionsThatBelongToNothing() {
        try (UringRing ring = ring(4)) {
            kernel.holding = true;
            prepare(ring, 1);
            ring.submit();
            final long token = kernel.heldToken();
            kernel.releaseHeld();
            kernel.post(token, 5);
            kernel.post(0, 5);
            kernel.post(-1, 5);
            kernel.post(1L << 16, 5);
            kernel.post(2L << 16, 5);
            final Ends ends = new Ends();
            assertEquals(1, ring.reap(ends));
            assertEquals(same(1, 0), ends.results());

            // The slot is used again; the old token still means nothing.
            prepare(ring, 1);
            ring.submit();
            kernel.post(token, 6);
            assertEquals(0, ring.reap(ends));
            kernel.releaseHeld();
            assertEquals(same(1, 0), Ends.of(ring));
            assertEquals(6, ring.strayCompletions());
        }
    }

    @Test
    void shouldHandOutErrorsAndShortResultsAsTheyCome() {
        try (UringRing ring = ring(4); UringFile attached = ring.attach(file)) {
            kernel.endWith(10, 0, -Errno.EIO, -Errno.ENOSPC);
            for (int i = 0; i < 4; i++) {
                assertTrue(ring.write(attached, arena.allocate(100), 0, i));
            }
            assertEquals(Map.of(0L, 10, 1L, 0, 2L, -Errno.EIO, 3L, -Errno.ENOSPC), Ends.of(ring));
        }
    }

    @Test
    void shouldEndInAnyOrder() {
        try (UringRing ring = ring(8)) {
            kernel.holding = true;
            prepare(ring, 8);
            ring.submit();
            kernel.releaseHeld();
            final List<Long> order = new ArrayList<>();
            ring.reap((userData, result) -> order.add(userData));
            assertEquals(List.of(7L, 6L, 5L, 4L, 3L, 2L, 1L, 0L), order);
        }
    }

    @Test
    void shouldFetchCompletionsThatFoundTheQueueFull() {
        try (UringRing ring = ring(8)) {
            kernel.completionsMissing = 29;
            prepare(ring, 8);
            ring.submit();
            final Ends ends = new Ends();
            assertEquals(3, ring.reap(ends));
            assertEquals(5, ring.reap(ends));
            assertEquals(same(8, 0), ends.results());
            kernel.failEnter(Errno.EBUSY, 3);
            prepare(ring, 8);
            assertEquals(same(8, 0), Ends.of(ring));
            assertEquals(0, ring.rebuilds());
        }
    }

    @Test
    void shouldGoOnWaitingAfterASignal() {
        try (UringRing ring = ring(2)) {
            kernel.holding = true;
            prepare(ring, 1);
            assertEquals(0, ring.submitAndWait(1, 1));
            kernel.failEnter(Errno.EINTR, 2 * IN_A_ROW);
            assertEquals(0, ring.submitAndWait(1, 1_000_000));
            assertEquals(0, ring.rebuilds());
            kernel.releaseHeld();
            assertEquals(1, ring.submitAndWait(1));
            assertEquals(same(1, 0), Ends.of(ring));
        }
    }

    @Test
    void shouldLeakRatherThanFreeWhenAnOperationDoesNotEnd() {
        final long before = Uring.abandonedRings();
        final NativeResources.Usage none = new NativeResources.Usage(0, 0);
        final NativeResources.Usage rings = NativeResources.snapshot().getOrDefault(NativeTag.IO_RING, none);
        final UringRing ring = ring(4);
        final UringFile attached = ring.attach(file);
        final RegisteredBuffer buffer = ring.register(arena.allocate(10));
        final MemorySegment memory = Arena.ofAuto().allocate(100);
        kernel.holding = true;
        kernel.deaf = true;
        assertTrue(ring.read(attached, memory, 0, 1));
        ring.submit();
        prepare(ring, 2);

        final IllegalStateException e = assertThrows(IllegalStateException.class, ring::close);

        assertTrue(e.getMessage().contains("1 of 1 operations"), e.getMessage());
        assertEquals(before + 1, Uring.abandonedRings());
        final NativeResources.Usage now = NativeResources.snapshot().get(NativeTag.IO_RING);
        assertEquals(rings.handles() + 1, now.handles());
        assertEquals(0, kernel.openDescriptors());
        assertEquals(0, kernel.openMappings());
        ring.close();
        attached.close();
        buffer.close();
        // The simulated kernel will not write any more: undo the leak for the checks behind this test.
        NativeResources.released(NativeTag.RING_BUFFER, 10);
        NativeResources.released(NativeTag.IO_RING, now.bytes() - rings.bytes());
    }

    @Test
    void shouldFreeWhatEndsOnlyWithTheInstance() {
        final long before = Uring.abandonedRings();
        final UringRing ring = ring(4);
        final UringFile attached = ring.attach(file);
        kernel.holding = true;
        kernel.deafUntilClosed = true;
        assertTrue(ring.readVector(attached, SegmentVector.of(arena.allocate(100)), 0, 1));
        ring.submit();
        ring.close();
        assertEquals(before, Uring.abandonedRings());
    }

    @Test
    void shouldRegisterAgainAfterASignal() {
        kernel.interruptRegister(2);
        try (UringRing ring = ring(4)) {
            kernel.interruptRegister(2);
            try (UringFile attached = ring.attach(file)) {
                assertTrue(attached.isRegistered());
                kernel.interruptRegister(2);
                try (RegisteredBuffer buffer = ring.register(arena.allocate(100))) {
                    assertEquals(0, buffer.firstSlot());
                    kernel.interruptRegister(1);
                }
            }
        }
    }

    /** The instance would be taken for one that never ends, and what it was given be leaked. */
    @Test
    void shouldGoOnWaitingForTheEndOfAnInstanceAfterASignal() {
        kernel.interruptHangUp(3);
        assertTrue(new Witness(kernel).close(3_600_000));
    }

    @Test
    void shouldAskForDataOrForEverythingToBeMadeDurable() {
        try (UringRing ring = ring(4); UringFile attached = ring.attach(file)) {
            assertTrue(ring.sync(attached, 1));
            assertTrue(ring.syncAll(attached, 2));
            assertEquals(Map.of(1L, 0, 2L, 0), Ends.of(ring));
            // IORING_FSYNC_DATASYNC of linux/io_uring.h, and none.
            assertEquals(List.of(1, 0), kernel.syncFlags());
        }
    }

    @Test
    void shouldFailVectorsThatWereNotTaken() {
        try (UringRing ring = ring(4); UringFile attached = ring.attach(file)) {
            final SegmentVector vector = SegmentVector.of(arena.allocate(100), arena.allocate(50));
            for (int i = 0; i < 3; i++) {
                assertTrue(ring.writeVector(attached, vector, 0, i));
            }
            kernel.limitEnter(1);
            kernel.failSecondEnter(Errno.EFAULT);
            ring.submit();
            assertEquals(Map.of(0L, 150, 1L, -Errno.EFAULT, 2L, -Errno.EFAULT), Ends.of(ring));
            kernel.endWith(120);
            assertTrue(ring.readVector(attached, vector, 0, 3));
            assertEquals(Map.of(3L, 120), Ends.of(ring));
        }
    }

    @Test
    void shouldUndoEverythingWhenOpeningFails() {
        final List<Runnable> faults = List.of(() -> kernel.failSetup(Errno.ENOMEM), () -> kernel.failMap(Errno.ENOMEM),
            () -> kernel.failRegister(UringLayout.REGISTER_FILES, Errno.EMFILE),
            () -> kernel.failRegister(UringLayout.REGISTER_BUFFERS, Errno.ENOMEM),
            () -> kernel.failEvent(Errno.EMFILE), () -> kernel.failPipe(Errno.EMFILE));
        for (final Runnable fault : faults) {
            fault.run();
            assertThrows(ErrnoException.class, () -> ring(4));
            kernel.failMap(0);
            kernel.failRegister(UringLayout.REGISTER_FILES, 0);
            kernel.failRegister(UringLayout.REGISTER_BUFFERS, 0);
            kernel.failEvent(0);
            kernel.failPipe(0);
            assertEquals(0, kernel.openDescriptors());
            assertEquals(0, kernel.openMappings());
        }
        ring(4).close();
    }

    @Test
    void shouldSayWhatTheLimitIsWhenMemoryCannotBeLocked() {
        try (UringRing ring = ring(4)) {
            kernel.failRegister(UringLayout.REGISTER_BUFFERS_UPDATE, Errno.ENOMEM);
            final ErrnoException e = assertThrows(ErrnoException.class, () -> ring.register(arena.allocate(100)));
            assertTrue(e.getMessage().contains("ulimit -l"), e.getMessage());
            kernel.failRegister(UringLayout.REGISTER_BUFFERS_UPDATE, 0);
            try (RegisteredBuffer buffer = ring.register(arena.allocate(100))) {
                assertEquals(0, buffer.firstSlot());
            }
        }
    }

    @Test
    void shouldGiveTheFileBackWhenItCannotBeRegistered() {
        try (UringRing ring = ring(4)) {
            kernel.failRegister(UringLayout.REGISTER_FILES_UPDATE, Errno.EBADF);
            assertThrows(ErrnoException.class, () -> ring.attach(file));
            kernel.failRegister(UringLayout.REGISTER_FILES_UPDATE, 0);
            try (UringFile attached = ring.attach(file)) {
                assertTrue(attached.isRegistered());
            }
        }
    }

    @Test
    void shouldRefuseBufferSlotsWhenTheKernelCannotChangeThem() {
        final UringFeatures old = new UringFeatures(0, SimulatedKernel.FEATURES.features()
            & ~UringLayout.FEATURE_RSRC_TAGS, -1);
        assertThrows(IllegalStateException.class, () -> UringRing.open(kernel, old, UringOptions.ofDepth(1)
            .withSlots(0, 1)));
        try (UringRing ring = UringRing.open(kernel, old, UringOptions.ofDepth(1))) {
            assertFalse(ring.inFlight() > 0);
        }
    }

    @Test
    void shouldSplitLongRegionsAndCrossTheirBordersWithoutRegistration() {
        try (Mapping region = Mapping.anonymous(NativeTag.TEST, (2L << 30) + 100);
            UringRing ring = ring(UringOptions.ofDepth(4).withSlots(0, 4)); UringFile attached = ring.attach(file);
            RegisteredBuffer small = ring.register(arena.allocate(100));
            RegisteredBuffer buffer = ring.register(region.segment())) {
            assertEquals(0, small.firstSlot());
            assertEquals(1, buffer.firstSlot());
            assertEquals(1, buffer.slotOf(0));
            assertEquals(1, buffer.slotOf((1L << 30) - 1));
            assertEquals(2, buffer.slotOf(1L << 30));
            assertEquals(3, buffer.slotOf((2L << 30) + 99));
            assertEquals(3, buffer.slotOf((2L << 30) + 100));
            assertTrue(buffer.isWithinSlot((1L << 30) - 10, 10));
            assertFalse(buffer.isWithinSlot((1L << 30) - 10, 11));
            assertTrue(ring.readFixed(attached, buffer, (1L << 30) - 10, 20, 0, 1));
            assertTrue(ring.writeFixed(attached, buffer, 1L << 30, 20, 0, 2));
            assertEquals(Map.of(1L, 20, 2L, 20), Ends.of(ring));
            assertThrows(IllegalStateException.class, () -> ring.register(arena.allocate(1)));
        }
    }

    @Test
    void shouldRefuseMoreThanOneCallMoves() {
        try (Mapping region = Mapping.anonymous(NativeTag.TEST, 1L << 31); UringRing ring = ring(1);
            UringFile attached = ring.attach(file)) {
            assertThrows(IllegalArgumentException.class, () -> ring.write(attached, region.segment(), 0, 1));
            assertTrue(ring.write(attached, region.segment().asSlice(0, UringLayout.MAX_TRANSFER_BYTES), 0, 1));
            assertEquals(Map.of(1L, (int) UringLayout.MAX_TRANSFER_BYTES), Ends.of(ring));
        }
    }

    @Test
    void shouldEnterTheKernelOnceForABatch() {
        try (UringRing ring = ring(8)) {
            final int before = kernel.enters();
            prepare(ring, 8);
            assertEquals(8, ring.submitAndWait(8));
            assertEquals(before + 1, kernel.enters());
            assertEquals(same(8, 0), Ends.of(ring));
            assertEquals(before + 1, kernel.enters());
        }
    }
}
