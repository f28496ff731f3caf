package io.kvtier.store.replica;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Where a key is looked for, and which layouts there can be. */
class PageLayoutTest {
    private static final PageLayout LAYOUT = new PageLayout("/mnt/m", 256, 65_536, 1L << 32);

    /**
     * XXH64 with seed 0 as the published vectors have it (those of {@code a}, {@code abc} and the sentence stand in the
     * documentation of several implementations; the others are from the reference implementation, 0.8): the file is the
     * hash without a sign modulo the number of files.
     */
    @ParameterizedTest
    @CsvSource({
        "a,                                           d24ec4f1a98c6e5b",
        "abc,                                         44bc2cf5ad770999",
        "Nobody inspects the spammish repetition,     fbcea83c8a378bf1",
        "The quick brown fox jumps over the lazy dog, 0b242d361fda71bc",
        "tenant,                                      e453ff96b1b170f5",
        "model@layer0,                                fb7cc516c89823e8",
        "k\u20ac,                                     c5c11436dd547a53"})
    void shouldFindTheHomeOfAKeyByItsPublishedHash(final String key, final String hash) {
        final long xxh64 = Long.parseUnsignedLong(hash, 16);
        for (final int buckets : new int[] {1, 2, 3, 100, 255, 256, 4096}) {
            final PageLayout layout = new PageLayout("/mnt/m", buckets, 4096, 4096);
            assertEquals(Long.remainderUnsigned(xxh64, buckets), layout.home(key), key + " of " + buckets);
        }
        assertEquals((int) (xxh64 & 255), LAYOUT.home(key));
    }

    @Test
    void shouldNameFilesByTheirNumbers() {
        assertEquals("/mnt/m/bucket_00.data", LAYOUT.path(0));
        assertEquals("/mnt/m/bucket_0a.data", LAYOUT.path(10));
        assertEquals("/mnt/m/bucket_ff.data", LAYOUT.path(255));
        assertEquals("/mnt/m/bucket_fff.data", new PageLayout("/mnt/m/", 4096, 4096, 4096).path(4095));
        assertEquals(1L << 40, LAYOUT.capacity());
    }

    @Test
    void shouldSayInWordsHowLayoutsDiffer() {
        assertEquals("", LAYOUT.differences(new PageLayout("/mnt/m//", 256, 65_536, 1L << 32)));
        assertEquals("folder /mnt/m instead of /mnt/n, bucket count 256 instead of 2, page size 65536 instead of 4096, "
            + "bucket size 4294967296 instead of 8192", LAYOUT.differences(new PageLayout("/mnt/n", 2, 4096, 8192)));
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "mnt    | 1    | 4096       | 4096            | absolute",
        "/      | 1    | 4096       | 4096            | absolute",
        "/m/../n| 1    | 4096       | 4096            | absolute",
        "/m     | 0    | 4096       | 4096            | bucket count of the shared disk is 0",
        "/m     | 4097 | 4096       | 4096            | from 1 to 4096",
        "/m     | 1    | 2048       | 4096            | page size of the shared disk is 2048",
        "/m     | 1    | 12288      | 12288           | a power of two from 4096 to 1073741824",
        "/m     | 1    | 2147483648 | 2147483648      | page size of the shared disk is 2147483648",
        "/m     | 1    | 8192       | 4096            | bucket size of the shared disk is 4096",
        "/m     | 1    | 8192       | 12288           | a positive multiple of the page size, 8192",
        "/m     | 1    | 4096       | 17592186048512  | at most 17592186044416"})
    void shouldRefuseALayoutThatCannotBeOne(final String root, final int buckets, final long page, final long bucket,
        final String why) {
        final String problem = assertThrows(IllegalArgumentException.class,
            () -> new PageLayout(root, buckets, page, bucket)).getMessage();
        assertTrue(problem.contains(why), problem);
    }

    /** The longest path of a file is one that the operating system takes, 4,095 bytes. */
    @Test
    void shouldLeaveRoomForTheNamesOfFiles() {
        final String longest = "/" + "d".repeat(4095 - "/bucket_fff.data".length() - 1);
        assertEquals(4095, new PageLayout(longest, 4096, 4096, 4096).path(4095).length());
        assertThrows(IllegalArgumentException.class, () -> new PageLayout(longest + "d", 1, 4096, 4096));
    }
}
