package io.kvtier.store.config;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.store.ErrorCode;
import io.kvtier.store.SharedDiskConfig;
import io.kvtier.store.StoreException;
import io.kvtier.store.config.SharedDiskVariables.FileSystem;
import io.kvtier.store.replica.PageLayout;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** {@code MOONCAKE_DISTRIBUTED_*}, by their names and defaults. */
class SharedDiskVariablesTest {
    private static final String PREFIX = "MOONCAKE_DISTRIBUTED_";

    private static Environment pageMode(final String... more) {
        final Map<String, String> variables = new HashMap<>(Map.of(PREFIX + "PAGE_MODE", "true"));
        for (int i = 0; i < more.length; i += 2) {
            variables.put(PREFIX + more[i], more[i + 1]);
        }
        return Environment.of(variables);
    }

    private static SharedDiskVariables read(final String... more) {
        return SharedDiskVariables.from(pageMode(more)).orElseThrow();
    }

    @Test
    void shouldTakeTheDefaultsForWhatIsNotSaid() {
        assertEquals(new SharedDiskVariables(
            new PageLayout("/mnt/3fs/mooncake", 256, 65_536, 4_294_967_296L), FileSystem.HF3FS, true,
            false), read());
    }

    @ParameterizedTest
    @ValueSource(strings = {"0", "false", "FALSE", ""})
    void shouldBeOffUnlessItIsAskedFor(final String said) {
        assertEquals(Optional.empty(), SharedDiskVariables.from(Environment.of(
            Map.of(PREFIX + "PAGE_MODE", said, PREFIX + "PAGE_SIZE", "what is not looked at"))));
        assertEquals(Optional.empty(), SharedDiskVariables.from(Environment.of(Map.of())));
    }

    @Test
    void shouldReadEachVariable() {
        assertEquals(new SharedDiskVariables(new PageLayout("/x/y", 4096, 4096, 8192), FileSystem.POSIX, false,
            true),
            read("ROOT_DIR", "/x/y/", "FS_TYPE", "posix", "BUCKET_COUNT", "4096", "PAGE_SIZE", "4096",
                "BUCKET_SIZE", "8192", "HEALTH_CHECK", "0", "READ_ONLY", "1"));
        assertEquals(1, read("BUCKET_COUNT", "1").layout().buckets());
        assertEquals(1L << 30, read("PAGE_SIZE", "1073741824").layout().pageBytes());
        assertEquals(FileSystem.HF3FS, read("FS_TYPE", "hf3fs").fileSystem());
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "PAGE_MODE    | yes                    | 1, true, 0 or false",
        "ROOT_DIR     | mnt                    | the absolute path of a folder",
        "ROOT_DIR     | /                      | the absolute path of a folder",
        "ROOT_DIR     | /a/../b                | the absolute path of a folder",
        "FS_TYPE      | POSIX                  | posix (any file system that all hosts mount) or hf3fs",
        "BUCKET_COUNT | 0                      | a whole number from 1 to 4096",
        "BUCKET_COUNT | 4097                   | a whole number from 1 to 4096",
        "BUCKET_COUNT | 4294967297             | a whole number from 1 to 4096",
        "BUCKET_COUNT | many                   | a whole number from 1 to 4096",
        "PAGE_SIZE    | 2048                   | a power of two, in bytes, from 4096 to 1073741824",
        "PAGE_SIZE    | 12288                  | a power of two, in bytes, from 4096 to 1073741824",
        "PAGE_SIZE    | 2147483648             | a power of two, in bytes, from 4096 to 1073741824",
        "PAGE_SIZE    | 64k                    | a power of two, in bytes, from 4096 to 1073741824",
        "BUCKET_SIZE  | 4096                   | a positive multiple of MOONCAKE_DISTRIBUTED_PAGE_SIZE, which is 65536",
        "BUCKET_SIZE  | 65537                  | a positive multiple of MOONCAKE_DISTRIBUTED_PAGE_SIZE, which is 65536",
        "BUCKET_SIZE  | -65536                 | a positive multiple of MOONCAKE_DISTRIBUTED_PAGE_SIZE, which is 65536",
        "BUCKET_SIZE  | 17592186110464         | at most 17592186044416",
        "BUCKET_SIZE  | 99999999999999999999   | at most 17592186044416",
        "HEALTH_CHECK | on                     | 1, true, 0 or false"})
    void shouldNameTheKeyTheValueAndWhatIsAllowed(final String key, final String value, final String allowed) {
        final String said =
            assertThrows(IllegalArgumentException.class, () -> read(key, value)).getMessage();
        assertTrue(said.startsWith(PREFIX + key + " is '" + value + "'; it must be "), said);
        assertTrue(said.contains(allowed), said);
    }

    @Test
    void shouldBecomeSettingsOfAStore() {
        final SharedDiskConfig config = SharedDiskConfig.of(read("FS_TYPE", "posix", "ROOT_DIR", "/x"));
        assertEquals(SharedDiskConfig.NONE.in("/x").withFileSystem(FileSystem.POSIX), config);
        assertTrue(config.isThere() && !SharedDiskConfig.NONE.isThere());
        final StoreException wrong =
            assertThrows(StoreException.class, () -> SharedDiskConfig.NONE.in("/x", 1, 4097, 4097));
        assertEquals(ErrorCode.INVALID_PARAMS, wrong.code());
        assertTrue(wrong.getMessage().contains("4097"), wrong::getMessage);
    }
}
