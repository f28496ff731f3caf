package io.kvtier.store.client.engine;

import io.kvtier.alloc.MemoryKind;
import io.kvtier.bindings.Availability;
import io.kvtier.store.DiskConfig;
import io.kvtier.store.GdsConfig;
import io.kvtier.store.StoreException;
import io.kvtier.store.config.TentConfig;
import io.kvtier.transport.Capability;
import io.kvtier.transport.Closings;
import io.kvtier.transport.Segment;
import io.kvtier.transport.Selection;
import io.kvtier.transport.SelectionRule;
import io.kvtier.transport.TransferConfig;
import io.kvtier.transport.TransferEngine;
import io.kvtier.transport.Transport;
import io.kvtier.transport.TransportKind;
import io.kvtier.transport.file.PosixTransport;
import io.kvtier.transport.file.UringConfig;
import io.kvtier.transport.file.UringTransport;
import io.kvtier.transport.memory.MemoryTransport;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;

/**
 * Opens the engine of a backing file, and the file in it. One transport moves the bytes; where that is GPUDirect
 * Storage and does not take memory of the host, system calls move that, past the page cache, in the same file. Memory
 * of a GPU goes straight or is refused: policies of {@code MC_TENT_CONF} are for other files.
 *
 * <p><b>Threading:</b> stateless. <b>Blocking:</b> opening GPUDirect Storage takes seconds.
 */
public final class GdsEngines {
    private static final System.Logger LOG = System.getLogger(GdsEngines.class.getName());
    private static final Set<MemoryKind> DEVICE = Set.of(MemoryKind.DEVICE);

    private GdsEngines() {
    }

    /**
     * Opens an engine.
     *
     * @param config what is wanted.
     * @param hooks  files, and GPUDirect Storage.
     * @param tent   its settings.
     * @param limits of the engine, but for its table of transports.
     * @return the engine, to be closed.
     * @throws StoreException INVALID_PARAMS, saying which rule is not met and how to meet it.
     */
    static TransferEngine open(final GdsConfig config, final StoreHooks hooks, final TentConfig tent,
        final TransferConfig limits) {
        GdsEnablement.require(GdsEnablement.allowed(config, tent));
        final List<Transport> transports = new ArrayList<>();
        try (Closings opened = new Closings()) {
            transports.add(opened.keep(new MemoryTransport(), Transport::close));
            transports.add(opened.keep(mover(config.transport(), hooks, tent), Transport::close));
            final Availability answer = transports.getLast().capability().availability();
            GdsEnablement.require(GdsEnablement.answered(config.transport(), answer));
            if (config.transport() == GdsConfig.Mover.GDS) {
                transports.add(opened.keep(posix(hooks), Transport::close));
            }
            final TransferEngine engine =
                TransferEngine.open(limits.withSelection(selection(config.transport())), transports);
            LOG.log(System.Logger.Level.INFO, "{0} is written by {1}: {2}", config.file(),
                config.transport().kind().configName(), answer.reason());
            opened.stayOpen();
            return engine;
        }
    }

    private static Transport mover(final GdsConfig.Mover mover, final StoreHooks hooks, final TentConfig tent) {
        return switch (mover) {
            case GDS -> hooks.gds().apply(tent.gds());
            case IO_URING -> new UringTransport(hooks.files(), UringConfig.DEFAULT, true);
            case POSIX -> posix(hooks);
        };
    }

    private static Transport posix(final StoreHooks hooks) {
        return new PosixTransport(hooks.files(), DiskConfig.NONE.files().ioThreads(), true);
    }

    /** Files by what was asked for; all else as ever. */
    private static Selection selection(final GdsConfig.Mover mover) {
        final List<SelectionRule> rules = new ArrayList<>();
        if (mover == GdsConfig.Mover.GDS) {
            rules.add(new SelectionRule("gds-device", Segment.Kind.FILE, DEVICE, TransportKind.GDS));
            // A transport is passed over for a kind of memory that it does not take, or that it does not know.
            rules.add(new SelectionRule("gds-host", Segment.Kind.FILE, Capability.HOST_MEMORY, TransportKind.GDS,
                TransportKind.POSIX));
        } else {
            rules.add(new SelectionRule("gds-host", Segment.Kind.FILE, Capability.HOST_MEMORY, mover.kind()));
        }
        Selection.DEFAULT.rules().stream().filter(rule -> rule.segment() != Segment.Kind.FILE).forEach(rules::add);
        return new Selection(rules);
    }

    /**
     * Which memory goes to and from a backing file by the transport that was asked for. Of host memory, GPUDirect
     * Storage moves what is registered with the engine ({@link Engines#prepare}); other memory of the host goes by
     * system calls beside it.
     *
     * @param engine of {@link #open}.
     * @param config what it was opened with.
     * @return kinds of memory; that of a GPU, where it is none of them, has to pass through the host's.
     */
    public static Set<MemoryKind> straight(final TransferEngine engine, final GdsConfig config) {
        final Set<MemoryKind> memory = EnumSet.noneOf(MemoryKind.class);
        engine.capabilities().stream()
            .filter(one -> one.kind() == config.transport().kind() && one.availability().available())
            .map(Capability::memory).forEach(memory::addAll);
        return memory;
    }

    /**
     * Opens the backing file.
     *
     * @param engine of {@link #open}.
     * @param config what it was opened with; its file exists.
     * @return the file, to be closed.
     * @throws StoreException INVALID_PARAMS, when the transport that was asked for cannot open it, with its reason: the
     *                        others of the engine would not do for memory of a GPU.
     */
    static Segment file(final TransferEngine engine, final GdsConfig config) {
        final Segment file = engine.openSegment(config.file().toUri().toString());
        final Availability answer = file.availability(config.transport().kind());
        if (!answer.available()) {
            file.close();
            GdsEnablement.require(GdsEnablement.answered(config.transport(), answer));
        }
        return file;
    }
}
