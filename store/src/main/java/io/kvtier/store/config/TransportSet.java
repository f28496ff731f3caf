package io.kvtier.store.config;

import io.kvtier.alloc.SharedRegion;
import io.kvtier.bindings.cuda.CudaContext;
import io.kvtier.transport.Closings;
import io.kvtier.transport.Transport;
import io.kvtier.transport.file.PosixTransport;
import io.kvtier.transport.file.UringConfig;
import io.kvtier.transport.file.UringTransport;
import io.kvtier.transport.gds.GdsTransport;
import io.kvtier.transport.memory.MemoryTransport;
import io.kvtier.transport.shm.ShmTransport;
import io.kvtier.transport.tcp.TcpStaging;
import io.kvtier.transport.tcp.TcpTransport;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Opens the transports that a configuration asks for. */
public final class TransportSet {
    private TransportSet() {
    }

    /**
     * Opens transports. Those that were asked for and cannot work here are among them, with the reason as their
     * capability; those that were not asked for are left out. Memory and POSIX are always there.
     *
     * @param config    which.
     * @param ioThreads threads for system calls on files.
     * @param direct    whether files are read and written past the page cache.
     * @param contexts  one of each GPU that may be used; the caller closes them after the engine.
     * @return the transports, for an engine, which closes them.
     */
    public static List<Transport> open(final TentConfig config, final int ioThreads, final boolean direct,
        final List<CudaContext> contexts) {
        final List<Transport> transports = new ArrayList<>();
        try (Closings opened = new Closings()) {
            opened.add(() -> closeAll(transports));
            transports.add(contexts.isEmpty() ? new MemoryTransport() : new MemoryTransport(contexts));
            if (config.gds().enabled()) {
                transports.add(GdsTransport.open(config.gds(), contexts));
            }
            if (config.uring()) {
                transports.add(new UringTransport(UringConfig.DEFAULT, direct));
            }
            transports.add(new PosixTransport(ioThreads, direct));
            if (config.shm().enable()) {
                transports.add(new ShmTransport(config.shm().mountPath().isEmpty() ? SharedRegion.DEFAULT_DIRECTORY
                    : Path.of(config.shm().mountPath())));
            }
            if (config.tcp().enable()) {
                transports.add(contexts.isEmpty() ? new TcpTransport(config.tcp())
                    : new TcpTransport(config.tcp(), contexts, TcpStaging.DEFAULT));
            }
            opened.stayOpen();
            return transports;
        }
    }

    private static void closeAll(final List<Transport> transports) {
        try (Closings all = new Closings()) {
            transports.forEach(transport -> all.keep(transport, Transport::close));
        }
    }
}
