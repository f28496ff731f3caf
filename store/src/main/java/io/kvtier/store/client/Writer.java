package io.kvtier.store.client;

import io.kvtier.alloc.HostRegion;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.PutOptions;
import io.kvtier.store.PutOutcome;
import io.kvtier.store.StoreConfig;
import io.kvtier.store.StoreException;
import io.kvtier.store.protocol.Master;
import io.kvtier.store.protocol.ObjectCommand;
import io.kvtier.store.protocol.PutStartReply;
import io.kvtier.store.replica.ReplicaDescriptor;
import io.kvtier.transport.Gate;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Puts: asks the master for memory, waits for room where some is coming, copies, and tells the master how it ended.
 *
 * <p><b>Threading:</b> stateless.
 */
final class Writer {
    private final UUID clientId;
    private final AtomicLong attempts = new AtomicLong();
    private final StoreConfig config;
    private final Master master;
    private final HostRegion memory;
    private final Pressure pressure;
    private final Gate gate;
    private final Counters counters;

    Writer(final UUID clientId, final StoreConfig config, final Master master, final HostRegion memory,
        final Pressure pressure,
        final Gate gate, final Counters counters) {
        this.clientId = clientId;
        this.config = config;
        this.master = master;
        this.memory = memory;
        this.pressure = pressure;
        this.gate = gate;
        this.counters = counters;
    }

    PutOutcome put(final ObjectKey key, final List<MemorySegment> source) {
        final long size = ScatterGather.byteSize(source);
        long deadline = 0;
        while (true) {
            final long seen = pressure.epoch();
            switch (master.apply(new ObjectCommand.PutStart(clientId, attempts.incrementAndGet(), key, size,
                PutOptions.DEFAULT, false))) {
                case PutStartReply.Started started -> {
                    write(key, source, size, started);
                    return PutOutcome.STORED;
                }
                case PutStartReply.Taken taken -> {
                    return taken.outcome();
                }
                case PutStartReply.TooLarge large -> throw new StoreException(ErrorCode.INVALID_PARAMS, "value " + key
                    + " has " + size + " bytes, the memory tier holds values of at most " + large.largest()
                    + "; raise memoryBytes or cut the value");
                case PutStartReply.NoSpace none -> {
                    if (deadline == 0) {
                        deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(config.putTimeoutMs());
                        counters.putWaits.increment();
                    }
                    if (!none.mayComeFree() || !pressure.await(seen, deadline)) {
                        return PutOutcome.NO_SPACE;
                    }
                    if (gate.isClosed()) {
                        throw EmbeddedStore.closedException();
                    }
                }
            }
        }
    }

    private void write(final ObjectKey key, final List<MemorySegment> source, final long size,
        final PutStartReply.Started started) {
        boolean written = false;
        try {
            final MemorySegment region = memory.segment();
            final long offset = ((ReplicaDescriptor.Memory) started.replicas().getFirst().descriptor()).offset();
            ScatterGather.gather(source, region, offset);
            // The rest of the last unit goes to the disk with the value: no earlier value's bytes may be in it.
            region.asSlice(offset + size, Units.padded(size) - size).fill((byte) 0);
            written = true;
        } finally {
            if (written) {
                master.apply(new ObjectCommand.PutEnd(clientId, key, started.version(), ObjectCommand.Scope.ALL,
                    false, 0));
                counters.memoryWrittenBytes.add(size);
            } else {
                master.apply(new ObjectCommand.PutRevoke(clientId, key, started.version(), ObjectCommand.Scope.ALL));
            }
        }
    }
}
