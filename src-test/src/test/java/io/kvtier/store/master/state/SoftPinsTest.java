package io.kvtier.store.master.state;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.store.ObjectKey;
import io.kvtier.store.SoftPin;
import io.kvtier.store.config.MasterSettings;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The queue of the ends of soft pins. */
class SoftPinsTest {
    private final SoftPins pins = new SoftPins(new MasterSettings.Pins(1000, 100_000), new ObjectCopies());

    private static ObjectEntry entry(final int i) {
        return new ObjectEntry(ObjectKey.of("key" + i));
    }

    @Test
    void shouldNotGrowWithEachTimeThatAPinIsSet() {
        final List<ObjectEntry> entries = new ArrayList<>();
        for (int i = 0; i < 5000; i++) {
            entries.add(entry(i));
        }
        for (int round = 0; round < 20; round++) {
            for (final ObjectEntry entry : entries) {
                pins.apply(entry, SoftPin.ENABLE, round);
            }
            assertTrue(pins.queued() <= 2 * entries.size() + 1, "queued: " + pins.queued());
        }
        assertEquals(entries.size(), pins.pinned());
        assertNull(pins.nextEnded(1018), "each has been set again since");
        for (int i = 0; i < entries.size(); i++) {
            assertNotNull(pins.nextEnded(1019));
        }
        assertEquals(0, pins.pinned());
        assertEquals(0, pins.queued());
    }

    @Test
    void shouldEndPinsInTheOrderOfTheirEnds() {
        final ObjectEntry late = entry(1);
        final ObjectEntry early = entry(2);
        pins.apply(late, SoftPin.forMillis(20), 0);
        pins.apply(early, SoftPin.forMillis(10), 5);
        assertNull(pins.nextEnded(14));
        assertSame(early, pins.nextEnded(100));
        assertSame(late, pins.nextEnded(100));
        assertNull(pins.nextEnded(100));
    }
}
