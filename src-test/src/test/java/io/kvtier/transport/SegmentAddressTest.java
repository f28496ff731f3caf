package io.kvtier.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Addresses and tokens as people write them. */
class SegmentAddressTest {
    @ParameterizedTest
    @CsvSource({"file:///a/b, FILE, '', 0, /a/b", "file:///a%20b, FILE, '', 0, /a b",
        "shm:///dev/shm/x, SHARED, '', 0, /dev/shm/x", "tcp://host:80/name, REMOTE, host, 80, name",
        "tcp://10.1.2.3:65535/a/b, REMOTE, 10.1.2.3, 65535, a/b", "tcp://[::1]:1/n, REMOTE, [::1], 1, n"})
    void shouldReadEachForm(final String text, final Segment.Kind kind, final String host, final int port,
        final String path) {
        assertEquals(new SegmentAddress(text, kind, host, port, path), SegmentAddress.parse(text));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "a", "/a", "http://h/p", "file:a", "file://host/a", "file:///a?b=c", "file:///a#b",
        "file:///a b", "shm://h/a", "shm:a", "tcp://h/n", "tcp://h:0/n", "tcp://h:65536/n", "tcp://h:1", "tcp://h:1/",
        "tcp://u@h:1/n", "tcp:///n", "://"})
    void shouldRefuseWhatIsNoneOfThemAndNameTheForms(final String text) {
        final IllegalArgumentException e =
            assertThrows(IllegalArgumentException.class, () -> SegmentAddress.parse(text));

        assertTrue(e.getMessage().contains("'" + text + "'") && e.getMessage().contains("tcp://host:port/name"),
            e.getMessage());
    }

    @Test
    void shouldKeepATokenOutOfItsText() {
        final AccessToken token = AccessToken.random();

        assertEquals(token, AccessToken.of(token.hex()));
        assertEquals(token, AccessToken.of(token.bytes()));
        assertEquals(token.hashCode(), AccessToken.of(token.hex()).hashCode());
        assertNotEquals(token, AccessToken.random());
        assertNotEquals(token, AccessToken.NONE);
        assertFalse(token.toString().contains(token.hex().substring(0, 8)));
        assertEquals("00112233445566778899aabbccddeeff", AccessToken.of("00112233445566778899aabbccddeeff").hex());
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "00", "00112233445566778899aabbccddeefg", "00112233445566778899aabbccddeeff00"})
    void shouldRefuseATokenOfTheWrongFormWithoutShowingIt(final String hex) {
        final IllegalArgumentException e = assertThrows(IllegalArgumentException.class, () -> AccessToken.of(hex));

        assertTrue(e.getMessage().contains("32") && !e.getMessage().contains("0011"), e.getMessage());
    }
}
