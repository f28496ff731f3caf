package io.kvtier.kit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.junit.jupiter.api.Test;

class ManualClockTest {
    @Test
    void shouldStandStillUntilMovedAndNeverGoBack() {
        final ManualClock clock = new ManualClock(1000);
        assertEquals(1000, clock.getAsLong());
        assertEquals(1000, clock.getAsLong());
        assertEquals(1250, clock.advance(250));
        assertThrows(IllegalArgumentException.class, () -> clock.advance(-1));
        assertEquals(1250, clock.getAsLong());
    }
}
