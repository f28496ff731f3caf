package io.kvtier.store.client;

import io.kvtier.store.config.TentConfig;
import io.kvtier.transport.Closings;
import io.kvtier.transport.TransferConfig;
import io.kvtier.transport.TransferEngine;
import io.kvtier.transport.Transport;
import io.kvtier.transport.file.PosixTransport;
import io.kvtier.transport.file.UringConfig;
import io.kvtier.transport.file.UringTransport;
import io.kvtier.transport.memory.MemoryTransport;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Engines for files and block devices. */
final class FileEngines {
    private static final System.Logger LOG = System.getLogger(FileEngines.class.getName());

    private FileEngines() {
    }

    /**
     * Files by the C library, whose reads a calling thread does by itself; where {@code MC_TENT_CONF} is set, by the
     * transports for files that it switches on.
     *
     * @param hooks          files and environment.
     * @param directIo       whether to go past the page cache where the file system can.
     * @param ioThreads      threads for blocking calls.
     * @param closeTimeoutMs milliseconds that closing waits for what is under way.
     */
    static TransferEngine open(final StoreHooks hooks, final boolean directIo, final int ioThreads,
        final long closeTimeoutMs) {
        final TransferConfig base = new TransferConfig(TransferConfig.DEFAULT.sliceBytes(), closeTimeoutMs);
        final Optional<TentConfig> tent = TentConfig.from(hooks.environment());
        tent.ifPresent(set -> set.warnings().forEach(warning -> LOG.log(System.Logger.Level.WARNING, warning)));
        final List<Transport> transports = new ArrayList<>();
        // Rings have threads.
        try (Closings opened = new Closings()) {
            transports.add(opened.keep(new MemoryTransport(), Transport::close));
            if (tent.isPresent() && tent.get().uring()) {
                transports.add(opened.keep(new UringTransport(hooks.files(), UringConfig.DEFAULT, directIo),
                    Transport::close));
            }
            transports.add(opened.keep(new PosixTransport(hooks.files(), ioThreads, directIo), Transport::close));
            final TransferEngine engine =
                TransferEngine.open(tent.map(set -> set.transfer(base)).orElse(base), transports);
            opened.stayOpen();
            return engine;
        }
    }
}
