package io.kvtier.alloc.extent;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.LeakCheck;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

@ExtendWith(LeakCheck.class)
final class ExtentUtilizationTest {
    private static final long CAPACITY = 32L << 30;

    @Test
    void shouldFillTheSpaceAndKeepItFullWhenExtentsAreReplaced() {
        for (long seed = 1; seed <= 2; seed++) {
            try (ExtentAllocator allocator = ExtentAllocator.create(CAPACITY, 4096, 1)) {
                final Utilization figures = Utilization.measure(ExtentSource.of(allocator), CAPACITY, 200_000, seed);
                assertTrue(figures.filling() >= 0.95, figures::toString);
                assertTrue(figures.replacing() >= 0.85, figures::toString);
            }
        }
    }
}
