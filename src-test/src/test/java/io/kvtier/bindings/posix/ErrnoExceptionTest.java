package io.kvtier.bindings.posix;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ErrnoExceptionTest {
    @Test
    void shouldCarryCallAndCodeAndSayAllOfItInWords() {
        final ErrnoException e = new ErrnoException("pread", 5, "/data/file, offset 4096, length 512");

        assertEquals("pread", e.call());
        assertEquals(5, e.code());
        assertEquals(5, e.errno());
        assertTrue(e.getMessage().startsWith("pread(/data/file, offset 4096, length 512) failed: EIO (5), "),
            e.getMessage());
        assertFalse(e.getMessage().endsWith(", "), "the C library's words are missing");
        assertFalse(e.getMessage().contains(";"), "no hint for this one");
    }

    @ParameterizedTest
    @CsvSource({"28, free space", "24, ulimit -n", "30, read-only", "13, permissions", "1, permissions"})
    void shouldSayWhatToDoWhenItIsKnown(final int errno, final String hint) {
        final String message = new ErrnoException("open", errno, "/data").getMessage();

        assertTrue(message.substring(message.indexOf(';')).contains(hint), message);
    }

    @Test
    void shouldGiveTheNumberWhenTheNameIsNotKnown() {
        assertEquals("errno 133", Errno.name(133));
        assertTrue(new ErrnoException("open", 133, "x").getMessage().startsWith("open(x) failed: errno 133 (133), "));
    }
}
