package io.kvtier.store.client.request;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.store.DataType;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.protocol.ReadReply;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** For how long a reader relies on a lease. */
class ObjectReadTest {
    private static ObjectRead read(final long leaseMs, final long elapsedMicros) {
        final ObjectRead read = new ObjectRead(ReadRequest.whole(ObjectKey.of("key"), List.of()), 0);
        read.answered(System.nanoTime() - TimeUnit.MICROSECONDS.toNanos(elapsedMicros),
            new ReadReply(1, 0, List.of(), 0, false, 0, leaseMs, DataType.UNKNOWN));
        return read;
    }

    /**
     * The master counts from a whole millisecond on, up to one before it was asked; and by a clock that may be a
     * hundredth too fast, as this one may be too slow.
     */
    @ParameterizedTest
    @CsvSource({"1000,979100", "10000,9799000", "600000,587999000"})
    void shouldNotRelyOnTheEndOfALease(final long leaseMs, final long elapsedMicros) {
        assertTrue(read(leaseMs, elapsedMicros).leaseLeftMs() <= 0);
    }

    @ParameterizedTest
    @CsvSource({"60000", "86400000"})
    void shouldRelyOnTheRestOfIt(final long leaseMs) {
        assertTrue(read(leaseMs, TimeUnit.MILLISECONDS.toMicros(leaseMs / 2)).leaseLeftMs() > 0);
    }

    @Test
    void shouldCountALeaseShorterThanItIs() {
        assertEquals(979, ObjectRead.reliableMs(1000));
        assertEquals(9799, ObjectRead.reliableMs(10_000));
        assertEquals(0, ObjectRead.reliableMs(0));
        assertEquals(0, ObjectRead.reliableMs(1));
        assertEquals(1, ObjectRead.reliableMs(3));
    }
}
