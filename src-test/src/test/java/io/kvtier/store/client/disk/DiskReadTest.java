package io.kvtier.store.client.disk;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.alloc.RegionSlice;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.storage.StorageBackend.ReadLease;
import io.kvtier.store.storage.StoredValue;
import io.kvtier.transport.Transfer;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What a read from disk holds is given back when it cannot begin. */
class DiskReadTest {
    private static final ObjectKey KEY = ObjectKey.of("key");

    private int leases = 1;
    private int rooms = 1;

    private final class Lease implements ReadLease {
        private final Throwable problem;

        Lease(final Throwable problem) {
            this.problem = problem;
        }

        @Override
        public StoredValue value() {
            return new StoredValue(KEY, 1, 0, 10, 0);
        }

        @Override
        public Transfer read(final RegionSlice target, final boolean alone) {
            if (problem instanceof Error error) {
                throw error;
            }
            throw (RuntimeException) problem;
        }

        @Override
        public void discard() {
            throw new AssertionError("nothing is wrong with the copy");
        }

        @Override
        public void close() {
            leases--;
        }
    }

    private final class Room implements DiskRoom {
        @Override
        public RegionSlice slice() {
            return null;
        }

        @Override
        public void end(final boolean good, final boolean settled) {
            assertFalse(good);
            assertTrue(settled);
            rooms--;
        }
    }

    static List<Throwable> problems() {
        return List.of(new IllegalStateException("closed"), new OutOfMemoryError("no thread"),
            new LinkageError("a test's error"));
    }

    @ParameterizedTest
    @MethodSource("problems")
    void shouldGiveBackLeaseAndRoomWhenItCannotBegin(final Throwable problem) {
        final Throwable thrown = assertThrows(Throwable.class, () -> DiskRead.start(null, KEY, 1, new Lease(problem),
            new Room(), value -> { }, true));
        assertSame(problem, thrown);
        assertEquals(0, leases);
        assertEquals(0, rooms);
    }
}
