package io.kvtier.kit;

import io.kvtier.alloc.MemoryRegion;
import io.kvtier.bindings.Availability;
import io.kvtier.bindings.posix.Errno;
import io.kvtier.bindings.posix.ErrnoException;
import io.kvtier.kit.Steps.Kind;
import io.kvtier.transport.Capability;
import io.kvtier.transport.Slice;
import io.kvtier.transport.Transport;
import io.kvtier.transport.TransportKind;

/**
 * Another transport under another name, to which handing a slice is a {@linkplain Steps step}. A slice that cannot be
 * handed to it fails.
 */
public final class SteppedTransport extends ForwardingTransport {
    private final Transport real;
    private final Steps steps;
    private final Capability capability;

    public SteppedTransport(final TransportKind kind, final Transport real, final Steps steps) {
        super(real);
        this.real = real;
        this.steps = steps;
        final Capability its = real.capability();
        capability = new Capability(kind, its.segments(), its.memory(), its.availability());
    }

    @Override
    public Capability capability() {
        return capability;
    }

    @Override
    public void submit(final Slice slice) {
        hand(slice, () -> real.submit(slice));
    }

    @Override
    public void run(final Slice slice) {
        hand(slice, () -> { });
        real.run(slice);
    }

    /** What was handed over ends by itself, whether that was told or not. */
    private void hand(final Slice slice, final Runnable deed) {
        final boolean[] handed = new boolean[1];
        try {
            steps.take(Kind.SLICE, slice.direction() + " of " + slice.length() + " bytes", null, () -> {
                deed.run();
                handed[0] = true;
                return null;
            }, why -> new ErrnoException("submit", Errno.EIO, why));
        } catch (final ErrnoException e) {
            if (!handed[0]) {
                throw e;
            }
        }
    }

    @Override
    public Availability attach(final MemoryRegion region) {
        return Availability.yes("needs no preparation");
    }

    @Override
    public void detach(final MemoryRegion region) {
        // Nothing was prepared.
    }
}
