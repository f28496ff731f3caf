package io.kvtier.store.client.transfer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.LeakCheck;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** Memory for values on their way from a disk: of a pool while it has any, and then for themselves. */
@ExtendWith(LeakCheck.class)
class StagingTest {
    private static final long MIB = 1 << 20;

    private final Staging staging = new Staging();

    @AfterEach
    void close() {
        staging.close();
    }

    @Test
    void shouldGiveWholeUnitsThatDoNotOverlap() {
        final List<Staging.Piece> pieces = new ArrayList<>();
        final Set<Long> units = new TreeSet<>();
        for (final long size : new long[] {0, 1, 4095, 4096, 4097, 10_000, MIB, MIB + 1}) {
            final Staging.Piece piece = staging.take(size);
            pieces.add(piece);
            assertTrue(piece.slice().length() >= size && piece.slice().length() > 0);
            assertEquals(0, piece.slice().length() % 4096);
            assertEquals(0, piece.slice().segment().address() % 4096);
            for (long at = 0; at < piece.slice().length(); at += 4096) {
                assertTrue(units.add(piece.slice().segment().address() + at), "two pieces overlap");
            }
        }
        pieces.forEach(Staging.Piece::close);
    }

    @Test
    void shouldMapWhatTheWholePoolCouldNotHold() {
        try (Staging.Piece large = staging.take(65 * MIB); Staging.Piece small = staging.take(1)) {
            assertEquals(65 * MIB, large.slice().length());
            assertNotSame(large.slice().region(), small.slice().region());
        }
    }

    @Test
    void shouldMapWhatDoesNotFitNowAndUseThePoolAgainAfterwards() {
        final List<Staging.Piece> all = new ArrayList<>();
        for (int i = 0; i < 64; i++) {
            all.add(staging.take(MIB));
            assertSame(all.getFirst().slice().region(), all.getLast().slice().region());
        }
        try (Staging.Piece beyond = staging.take(1)) {
            assertNotSame(all.getFirst().slice().region(), beyond.slice().region());
        }
        all.removeLast().close();
        try (Staging.Piece again = staging.take(MIB)) {
            assertSame(all.getFirst().slice().region(), again.slice().region());
        }
        all.forEach(Staging.Piece::close);
        try (Staging.Piece whole = staging.take(64 * MIB)) {
            assertEquals(64 * MIB, whole.slice().length());
            assertEquals(0, whole.slice().offset(), "all of the pool came back");
        }
    }
}
