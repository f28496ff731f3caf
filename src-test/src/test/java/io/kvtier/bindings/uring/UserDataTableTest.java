package io.kvtier.bindings.uring;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.ref.WeakReference;
import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.Test;

class UserDataTableTest {
    @Test
    void shouldGiveEveryObjectBackUnderANumberOfItsOwn() {
        final UserDataTable<String> table = new UserDataTable<>(3);
        final Set<Long> numbers = new HashSet<>();
        for (int round = 0; round < 100; round++) {
            final String first = "first " + round;
            final long one = table.put(first);
            final long two = table.put("second");
            assertTrue(numbers.add(one) && numbers.add(two));
            assertNotEquals(0, one);
            assertEquals(2, table.size());
            assertEquals("second", table.take(two));
            assertSame(first, table.take(one));
        }
        assertEquals(0, table.size());
    }

    @Test
    void shouldRefuseMoreThanItsCapacity() {
        final UserDataTable<String> table = new UserDataTable<>(2);
        final long first = table.put("a");
        table.put("b");
        assertThrows(IllegalStateException.class, () -> table.put("c"));
        assertEquals("a", table.take(first));
        assertEquals("c", table.take(table.put("c")));
        assertThrows(IllegalArgumentException.class, () -> new UserDataTable<>(0));
        assertThrows(IllegalArgumentException.class, () -> new UserDataTable<>(UringOptions.MAX_DEPTH + 1));
    }

    @Test
    void shouldRecogniseNumbersThatStandForNothing() {
        final UserDataTable<String> table = new UserDataTable<>(1);
        final long old = table.put("a");
        table.take(old);
        final long now = table.put("b");
        for (final long wrong : new long[] {0, -1, old, now + 1, 1, Long.MIN_VALUE}) {
            assertThrows(IllegalArgumentException.class, () -> table.take(wrong));
        }
        assertEquals("b", table.take(now));
    }

    @Test
    void shouldForgetWhatWasTakenOut() {
        final UserDataTable<Object> table = new UserDataTable<>(1);
        final WeakReference<Object> taken = new WeakReference<>(table.take(table.put(new Object())));
        while (taken.get() != null) {
            System.gc();
        }
        assertEquals(0, table.size());
    }
}
