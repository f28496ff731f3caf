package io.kvtier.store.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.kvtier.bindings.uring.Uring;
import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.NotExercised;
import io.kvtier.store.config.Environment;
import io.kvtier.transport.file.FileOpener;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

@ExtendWith(LeakCheck.class)
class FileEnginesTest {
    @Test
    void shouldLeaveNoRingBehindWhenAFurtherTransportCannotBeMade() {
        NotExercised.require("io_uring", Uring.availability().available(), Uring.availability().reason());
        final StoreHooks hooks =
            new StoreHooks(() -> 0, FileOpener.POSIX, Environment.of(Map.of("MC_TENT_CONF", "{}")));
        final int noThreads = 0;

        assertThrows(IllegalArgumentException.class, () -> FileEngines.open(hooks, false, noThreads, 1000));

        assertEquals(0, Thread.getAllStackTraces().keySet().stream()
            .filter(thread -> thread.getName().startsWith("kvtier-uring")).count());
    }
}
