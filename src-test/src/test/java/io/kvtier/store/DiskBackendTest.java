package io.kvtier.store;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.store.config.Environment;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class DiskBackendTest {
    private static final String VARIABLE = "MOONCAKE_OFFLOAD_STORAGE_BACKEND_DESCRIPTOR";

    @ParameterizedTest
    @CsvSource({"offset_allocator_storage_backend,OFFSET_ALLOCATOR", "bucket_storage_backend,BUCKET",
        "file_per_key_storage_backend,FILE_PER_KEY", "distributed_storage_backend,DISTRIBUTED"})
    void shouldKnowTheNamesOfMooncake(final String name, final DiskBackend backend) {
        assertEquals(backend, DiskBackend.from(Environment.of(Map.of(VARIABLE, name))));
        assertEquals(name, backend.configName());
    }

    @Test
    void shouldKeepOneFileWithoutTheVariable() {
        assertEquals(DiskBackend.OFFSET_ALLOCATOR, DiskBackend.from(Environment.of(Map.of())));
        assertEquals(DiskBackend.OFFSET_ALLOCATOR, DiskBackend.from(Environment.of(Map.of(VARIABLE, " "))));
    }

    @ParameterizedTest
    @ValueSource(strings = {"bucket", "BUCKET_STORAGE_BACKEND", "nvme_kv_storage_backend"})
    void shouldSayWhichThereAre(final String wrong) {
        final StoreException refusal = assertThrows(StoreException.class,
            () -> DiskBackend.from(Environment.of(Map.of(VARIABLE, wrong))));
        assertEquals(ErrorCode.INVALID_PARAMS, refusal.code());
        for (final String part : List.of(VARIABLE, "'" + wrong + "'", "bucket_storage_backend",
            "file_per_key_storage_backend", "distributed_storage_backend",
            "offset_allocator_storage_backend", "unset")) {
            assertTrue(refusal.getMessage().contains(part), () -> refusal.getMessage() + " does not say " + part);
        }
    }
}
