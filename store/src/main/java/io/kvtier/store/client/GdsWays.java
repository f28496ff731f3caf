package io.kvtier.store.client;

import io.kvtier.alloc.MemoryKind;
import io.kvtier.transport.Capability;
import io.kvtier.transport.TransferEngine;
import io.kvtier.transport.TransportKind;
import java.util.EnumSet;
import java.util.Set;

/**
 * Which memory goes to and from a backing file, and by what. A kind that is in neither has to pass through one that is.
 *
 * @param straight kinds that the transport moves which was asked for. Of host memory GPUDirect Storage moves what is
 *                 registered with the engine ({@link Engines#prepare}); other memory of these kinds goes beside.
 * @param beside   kinds that system calls move, past the page cache; empty unless that transport is GPUDirect Storage.
 */
record GdsWays(Set<MemoryKind> straight, Set<MemoryKind> beside) {
    GdsWays {
        straight = Set.copyOf(straight);
        beside = Set.copyOf(beside);
    }

    /** Of an engine for a backing file. */
    static GdsWays of(final TransferEngine engine) {
        final Set<MemoryKind> posix = memory(engine, TransportKind.POSIX);
        if (engine.hasTransport(TransportKind.GDS)) {
            final Set<MemoryKind> straight = memory(engine, TransportKind.GDS);
            posix.removeAll(straight);
            return new GdsWays(straight, posix);
        }
        return new GdsWays(engine.hasTransport(TransportKind.IO_URING) ? memory(engine, TransportKind.IO_URING) : posix,
            Set.of());
    }

    private static Set<MemoryKind> memory(final TransferEngine engine, final TransportKind kind) {
        final Set<MemoryKind> memory = EnumSet.noneOf(MemoryKind.class);
        engine.capabilities().stream().filter(one -> one.kind() == kind && one.availability().available())
            .map(Capability::memory).forEach(memory::addAll);
        return memory;
    }
}
