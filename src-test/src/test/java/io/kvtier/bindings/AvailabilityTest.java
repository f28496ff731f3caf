package io.kvtier.bindings;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.junit.jupiter.api.Test;

class AvailabilityTest {
    @Test
    void shouldHaveNoRemedyWhenAvailable() {
        assertEquals(new Availability(true, "found 1.2", ""), Availability.yes("found 1.2"));
    }

    @Test
    void shouldSayWhatToDoWhenNotAvailable() {
        assertEquals(new Availability(false, "not found", "install it"), Availability.no("not found", "install it"));
    }

    @Test
    void shouldRefuseWhenATextIsAbsent() {
        assertThrows(NullPointerException.class, () -> Availability.yes(null));
        assertThrows(NullPointerException.class, () -> Availability.no("not found", null));
    }
}
