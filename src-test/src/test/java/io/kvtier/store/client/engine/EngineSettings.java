package io.kvtier.store.client.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreException;
import io.kvtier.store.config.Environment;
import java.util.Map;

/** Settings of engines, as {@code MC_TENT_CONF} has them, and what is said of wrong ones. */
public final class EngineSettings {
    /** What GPUDirect Storage is to have for a backing file; batches of as many entries as a put has slices. */
    public static final String GDS = "{'transports': {'gds': {'enable': true, 'io_batch_depth': 128}, "
        + "'io_uring': {'enable': false}}}";

    private EngineSettings() {
    }

    /** An environment with these settings and nothing else; they have apostrophes in place of quotation marks. */
    public static Environment environment(final String json) {
        return Environment.of(Map.of("MC_TENT_CONF", json.replace('\'', '"')));
    }

    /** Why something that is opened with wrong settings is not opened. */
    static String refused(final Runnable opening) {
        final StoreException e = assertThrows(StoreException.class, opening::run);
        assertEquals(ErrorCode.INVALID_PARAMS, e.code());
        return e.getMessage();
    }
}
