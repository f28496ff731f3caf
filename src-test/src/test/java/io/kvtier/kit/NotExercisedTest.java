package io.kvtier.kit;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

class NotExercisedTest {
    @Test
    void shouldNameWhatIsMissingOneALine() {
        assertEquals(List.of("not exercised: gcc (no compiler)"), NotExercised.lines(List.of("gcc (no compiler)")));
    }

    @Test
    void shouldSayNothingIsMissingWhenAllIsThere() {
        assertEquals(List.of("not exercised: nothing"), NotExercised.lines(List.of()));
    }

    @Test
    void shouldTakeNamesApartWhenSeveralAreDemanded() {
        assertEquals(Set.of("gcc", "direct-io"), NotExercised.demanded(" gcc,direct-io ,"));
        assertEquals(Set.of(), NotExercised.demanded(""));
    }

    @Test
    void shouldGoOnWhenTheCapabilityIsThere() {
        NotExercised.require("always-there", true, "never said");
    }
}
