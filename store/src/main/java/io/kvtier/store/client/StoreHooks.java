package io.kvtier.store.client;

import io.kvtier.store.config.Environment;
import io.kvtier.transport.file.FileOpener;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * What a store takes from the outside world; a test gives its own.
 *
 * @param clockMs     milliseconds for leases, of a clock that does not go back.
 * @param files       opens the files of the disk tier.
 * @param environment settings of the process, such as {@code MC_TENT_CONF}.
 */
public record StoreHooks(LongSupplier clockMs, FileOpener files, Environment environment) {
    /** The system's own. */
    public static final StoreHooks SYSTEM =
        new StoreHooks(() -> TimeUnit.NANOSECONDS.toMillis(System.nanoTime()), FileOpener.POSIX,
            Environment.system());
}
