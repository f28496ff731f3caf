package io.kvtier.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.alloc.HostRegion;
import io.kvtier.bindings.NativeTag;
import io.kvtier.kit.HeldTransport;
import io.kvtier.kit.LeakCheck;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Time limits of transfers that come and go in any order, on a thread that is seldom woken. */
@ExtendWith(LeakCheck.class)
class DeadlinesTest {
    private static final int BYTES = 512;
    private static final long NEVER_MS = 3_600_000;

    private final HeldTransport files = new HeldTransport(TransportKind.POSIX, Segment.Kind.FILE);
    private final TransferEngine engine = TransferEngine.open(TransferConfig.DEFAULT, List.of(files));
    private final HostRegion memory = HostRegion.allocate(NativeTag.TEST, BYTES);
    private final Segment segment = engine.openSegment("file:///data");

    @AfterEach
    void close() {
        files.slices().forEach(slice -> {
            if (slice.wanted()) {
                slice.completed();
            } else {
                slice.canceled();
            }
        });
        engine.close();
        memory.close();
    }

    private Transfer within(final long timeoutMs) {
        return engine.submit(List.of(TransferRequest.read(memory.slice(0, BYTES), segment, 0)),
            TransferOptions.within(timeoutMs));
    }

    /** The transport holds the slice: the transfer ends when that gives it back, late as it is. */
    private void assertLate(final Transfer transfer, final int slice) {
        while (transfer.failure() == null) {
            Thread.onSpinWait();
        }
        assertFalse(transfer.isDone());
        files.slices().get(slice).canceled();
        assertEquals(TransferFailure.Kind.TIMEOUT, assertThrows(TransferException.class, transfer::await).failure()
            .kind());
    }

    /** The transfer has its failure before its transport is told: the test can be the faster one. */
    private void awaitCancels(final int count) {
        while (files.cancels().size() < count) {
            Thread.onSpinWait();
        }
    }

    @Test
    void shouldStopAnEarlierOneThatCameLater() {
        final Transfer patient = within(NEVER_MS);
        final Transfer hasty = within(20);

        assertLate(hasty, 1);

        assertNull(patient.failure());
        files.slices().getFirst().completed();
        patient.await();
        files.forget();
    }

    @Test
    void shouldStopThoseThatAreLateAndNoneElse() {
        final List<Transfer> all = new ArrayList<>();
        for (int i = 0; i < 300; i++) {
            all.add(within(i % 3 == 0 ? NEVER_MS : 1 + i % 50));
        }
        for (int i = 0; i < 300; i++) {
            if (i % 3 != 0) {
                assertLate(all.get(i), i);
            }
        }
        for (int i = 0; i < 300; i += 3) {
            assertNull(all.get(i).failure());
            files.slices().get(i).completed();
            all.get(i).await();
        }
        files.forget();
    }

    @Test
    void shouldForgetWhatEndedInTimeAndStillStopTheNextRound() {
        final Transfer transfer = engine.newTransfer();
        for (int i = 0; i < 50; i++) {
            transfer.read(memory, 0, BYTES, segment, 0);
            engine.submit(transfer, TransferOptions.within(i % 2 == 0 ? NEVER_MS : 60_000));
            files.slices().get(i).completed();
            transfer.await();
            transfer.clear();
        }
        transfer.read(memory, 0, BYTES, segment, 0);
        engine.submit(transfer, TransferOptions.within(10));

        assertLate(transfer, 50);
        assertEquals(0, engine.outstanding());
        files.forget();
    }

    /** Nobody else would end what is late: the thread must not end with the first transport that has a fault. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldGoOnStoppingWhenATransportCannotBeTold(final boolean error) {
        files.failCancel(error ? new LinkageError("a test's error") : new IllegalStateException("a test's exception"));
        assertLate(within(1), 0);
        awaitCancels(1);

        files.failCancel(null);
        assertLate(within(1), 1);
        awaitCancels(2);
        files.forget();
    }

    @Test
    void shouldStopWhatIsLateAlreadyWhenItIsSubmitted() {
        final Transfer transfer = within(1);
        assertLate(transfer, 0);
        assertTrue(transfer.isDone());
        files.forget();
    }
}
