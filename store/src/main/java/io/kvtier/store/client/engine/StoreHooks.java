package io.kvtier.store.client.engine;

import io.kvtier.store.config.Environment;
import io.kvtier.transport.Transport;
import io.kvtier.transport.device.Devices;
import io.kvtier.transport.file.FileOpener;
import io.kvtier.transport.gds.GdsConfig;
import io.kvtier.transport.gds.GdsTransport;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.LongSupplier;

/**
 * What a store takes from the outside world; a test gives its own.
 *
 * @param clockMs     milliseconds for leases, of a clock that does not go back.
 * @param files       opens the files of the disk tier.
 * @param environment settings of the process, such as {@code MC_TENT_CONF}.
 * @param gds         opens GPUDirect Storage where it is asked for.
 * @param devices     what drives the GPUs that memory of callers is on.
 */
public record StoreHooks(LongSupplier clockMs, FileOpener files, Environment environment,
                         Function<GdsConfig, Transport> gds, Devices devices) {
    /** The system's own. */
    public static final StoreHooks SYSTEM =
        new StoreHooks(() -> TimeUnit.NANOSECONDS.toMillis(System.nanoTime()), FileOpener.POSIX,
            Environment.system());

    /**
     * With the system's own GPUDirect Storage and GPUs.
     *
     * @param clockMs     milliseconds for leases.
     * @param files       opens files.
     * @param environment settings of the process.
     */
    public StoreHooks(final LongSupplier clockMs, final FileOpener files, final Environment environment) {
        this(clockMs, files, environment, GdsTransport::open, Devices.CUDA);
    }

    /**
     * With the system's own GPUs.
     *
     * @param clockMs     milliseconds for leases.
     * @param files       opens files.
     * @param environment settings of the process.
     * @param gds         opens GPUDirect Storage.
     */
    public StoreHooks(final LongSupplier clockMs, final FileOpener files, final Environment environment,
        final Function<GdsConfig, Transport> gds) {
        this(clockMs, files, environment, gds, Devices.CUDA);
    }
}
