package io.kvtier.store;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Which names there are. */
class ObjectKeyTest {
    /** A tenant, a key, and a word of why they are refused. */
    static Object[][] wrong() {
        return new Object[][] {
            {"_acme", "k", "underscore"}, {"_", "k", "underscore"}, {"ac\u0000me", "k", "0x0 at position 2"},
            {"a\n", "k", "0xa at position 1"}, {"a\u007f", "k", "0x7f"}, {"a".repeat(256), "k", "256 bytes"},
            {"\u00e4".repeat(128), "k", "256 bytes"}, {"\ud800", "k", "surrogate"}, {"a", "", "empty"},
            {"a", null, "empty"}, {"a", "k".repeat(4097), "4097 bytes"}, {"a", "\ud834\udd1e".repeat(1025), "4100"},
            {"a", "k\udc00", "surrogate pair at position 1"}, {"a", "\ud800k", "surrogate pair at position 0"}};
    }

    @ParameterizedTest
    @MethodSource("wrong")
    void shouldRefuseWhatIsNoName(final String tenant, final String key, final String why) {
        final StoreException refusal = assertThrows(StoreException.class, () -> ObjectKey.of(tenant, key));
        assertEquals(ErrorCode.INVALID_KEY, refusal.code());
        assertTrue(refusal.getMessage().contains(why), refusal.getMessage());
    }

    @Test
    void shouldTakeAnythingElse() {
        for (final String tenant : new String[] {"a", "a_b", "Mandant \u00e4", "/", "a".repeat(255)}) {
            assertEquals(tenant, ObjectKey.of(tenant, "k").tenant());
        }
        for (final String key : new String[] {"_k", "\u0000", "a/b\nc", "\ud834\udd1e".repeat(1024),
            "k".repeat(4096)}) {
            assertEquals(key, ObjectKey.of("a", key).key());
        }
    }

    @Test
    void shouldTakeNoTenantForTheDefaultOne() {
        assertEquals(ObjectKey.of("default", "k"), ObjectKey.of("k"));
        assertEquals(ObjectKey.of("k"), ObjectKey.of("", "k"));
        assertEquals(ObjectKey.of("k"), new ObjectKey(null, "k"));
    }

    @Test
    void shouldTellTenantAndKeyApart() {
        assertNotEquals(ObjectKey.of("a", "b/c"), ObjectKey.of("a/b", "c"), "though they read the same");
        assertNotEquals(ObjectKey.of("a", "k"), ObjectKey.of("b", "k"));
    }
}
