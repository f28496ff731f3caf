package io.kvtier.transport.tcp;

import io.kvtier.alloc.HostMemory;
import io.kvtier.bindings.RefCount;
import io.kvtier.transport.AccessToken;
import io.kvtier.transport.Uninterrupted;
import java.util.concurrent.CountDownLatch;
import java.util.function.Consumer;

/**
 * Memory that others can read, and perhaps write, as long as this is open.
 *
 * <p><b>Threading:</b> thread-safe. <b>Lifetime:</b> keeps its region from being released until it is closed and the
 * last request on it has ended. <b>Blocking:</b> {@link #close()} waits for running requests, each of which ends or
 * loses its connection within the server's {@code requestMs} from then on, however its client goes about it.
 */
public final class ExportedSegment implements AutoCloseable {
    private final String name;
    private final String address;
    private final HostMemory region;
    private final AccessToken token;
    private final Permission permission;
    private final Consumer<ExportedSegment> unlist;
    private final CountDownLatch released = new CountDownLatch(1);
    private final RefCount uses;
    private volatile long closedNanos;

    /** An export over a region that was retained for it. */
    ExportedSegment(final String name, final String address, final HostMemory region, final AccessToken token,
        final Permission permission, final Consumer<ExportedSegment> unlist) {
        this.name = name;
        this.address = address;
        this.region = region;
        this.token = token;
        this.permission = permission;
        this.unlist = unlist;
        this.uses = new RefCount(() -> {
            try {
                region.release();
            } finally {
                released.countDown();
            }
        });
    }

    /**
     * Its name.
     *
     * @return the name it was exported under.
     */
    public String name() {
        return name;
    }

    /**
     * What a client opens.
     *
     * @return {@code tcp://host:port/name}, with the host that the server listens on.
     */
    public String address() {
        return address;
    }

    /**
     * What a client has to show.
     *
     * @return the token.
     */
    public AccessToken token() {
        return token;
    }

    /**
     * What others may do.
     *
     * @return the permission.
     */
    public Permission permission() {
        return permission;
    }

    /**
     * Refuses new requests and waits for running ones. A second call only waits. An interrupt does not end the wait; it
     * is kept for the caller.
     */
    @Override
    public void close() {
        if (closedNanos == 0) {
            // The lowest bit is set, so that no moment is taken for none.
            closedNanos = System.nanoTime() | 1;
        }
        unlist.accept(this);
        uses.close();
        Uninterrupted.await(released::await);
    }

    /** When it was closed, of {@link System#nanoTime()}; 0 while it is open. */
    long closedNanos() {
        return closedNanos;
    }

    HostMemory region() {
        return region;
    }

    /**
     * Begins a request, which is ended by {@link #endUse()}.
     *
     * @param offset first byte, as it came.
     * @param length bytes, not negative.
     * @param write  whether it writes.
     * @return null when it can be done, else why it was not begun.
     */
    Status begin(final long offset, final long length, final boolean write) {
        final long size = region.byteSize();
        if (offset < 0 || offset > size || length > size - offset) {
            return Status.OUT_OF_RANGE;
        }
        if (write && permission != Permission.READ_WRITE) {
            return Status.READ_ONLY;
        }
        return uses.tryAcquire() ? null : Status.EXPORT_CLOSED;
    }

    /** In words for the client why a request was not begun. */
    String why(final Status refusal, final long offset, final long length) {
        return switch (refusal) {
            case OUT_OF_RANGE -> length + " bytes at offset " + Long.toUnsignedString(offset)
                + " are not inside the segment '" + name + "' of " + region.byteSize() + " bytes";
            case READ_ONLY -> "the segment '" + name + "' is exported to be read only";
            default -> "the export of the segment '" + name + "' was closed; open it again";
        };
    }

    void endUse() {
        uses.release();
    }
}
