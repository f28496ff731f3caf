package io.kvtier.transport.memory;

import io.kvtier.alloc.DeviceRegion;
import io.kvtier.alloc.HostRegion;
import io.kvtier.alloc.MemoryRegion;
import io.kvtier.kit.DeviceBuffers;
import io.kvtier.kit.PatternBytes;
import io.kvtier.kit.ThroughDevice;
import io.kvtier.transport.Segment;
import io.kvtier.transport.TransferEngine;
import io.kvtier.transport.Transport;
import io.kvtier.transport.TransportContract;
import io.kvtier.transport.TransportKind;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;

/** Copies of which one end at least is memory of a device. */
abstract class DeviceMemoryContract extends TransportContract {
    private final Map<String, MemoryRegion> contents = new HashMap<>();
    private DeviceBuffers segments;
    private TransferEngine current;

    /** Where the two ends are. */
    enum Ends { HOST_AND_DEVICE, DEVICE_AND_HOST, DEVICE_AND_DEVICE }

    /** Local memory and segment. */
    abstract Ends ends();

    abstract DeviceBuffers newBuffers();

    /** The transport, over the GPU that such buffers are on. */
    abstract Transport newTransport(DeviceBuffers buffers);

    @Override
    protected final TransportKind kind() {
        return TransportKind.MEMORY;
    }

    @Override
    protected final Transport newTransport() {
        segments = newBuffers();
        final Transport real = newTransport(segments);
        return ends() == Ends.HOST_AND_DEVICE ? real : new ThroughDevice(real, newBuffers());
    }

    /** Before the contract's own end, which finds the engine closed. */
    @AfterEach
    final void closeSegments() {
        if (current != null) {
            current.close();
        }
        if (segments != null) {
            segments.close();
        }
    }

    @Override
    protected final Segment open(final TransferEngine with, final String name, final byte[] content) {
        current = with;
        final HostRegion host = region(Math.max(1, content.length));
        host.segment().asSlice(0, content.length).copyFrom(MemorySegment.ofArray(content));
        if (ends() == Ends.DEVICE_AND_HOST) {
            contents.put(name, host);
            return with.register(name, host);
        }
        final DeviceRegion device = segments.allocate(Math.max(1, content.length));
        segments.put(host.segment(), device, 0);
        contents.put(name, device);
        return with.register(name, device);
    }

    @Override
    protected final byte[] content(final String name) {
        if (contents.get(name) instanceof DeviceRegion device) {
            try (Arena arena = Arena.ofConfined()) {
                final MemorySegment bytes = arena.allocate(device.byteSize());
                segments.get(device, 0, bytes);
                return PatternBytes.copyOf(bytes);
            }
        }
        return PatternBytes.copyOf(((HostRegion) contents.get(name)).segment());
    }
}
