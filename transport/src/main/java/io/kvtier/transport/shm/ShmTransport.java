package io.kvtier.transport.shm;

import io.kvtier.alloc.SharedRegion;
import io.kvtier.bindings.Availability;
import io.kvtier.bindings.posix.Errno;
import io.kvtier.bindings.posix.ErrnoException;
import io.kvtier.transport.AccessToken;
import io.kvtier.transport.Capability;
import io.kvtier.transport.HostCopy;
import io.kvtier.transport.Segment;
import io.kvtier.transport.SegmentTarget;
import io.kvtier.transport.Slice;
import io.kvtier.transport.Transport;
import io.kvtier.transport.TransportKind;
import io.kvtier.transport.TransportSegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.Set;

/**
 * Copies between local memory and a {@link SharedRegion} of another process of this host, at the address that
 * {@link #addressOf} gives. A segment maps the region while it is open, for reading only where the file permits no
 * more; a write is refused then. See {@code transport/TRANSPORTS.md}.
 *
 * <p>A copy runs on the thread that submits it: a slice of 16 MiB takes it some milliseconds, and a virtual thread
 * keeps its carrier as long. To copy with several threads, submit from several. When the file is cut under a copy, the
 * slice fails. When its owner closes it or dies, what is mapped stays valid, and only opening it anew fails.
 *
 * <p><b>Threading:</b> thread-safe. <b>Blocking:</b> never; a slice is complete when submit returns.
 */
public final class ShmTransport implements Transport {
    private static final byte PROBE = 42;

    private final Capability capability;

    private record Mapped(SharedRegion region) implements TransportSegment {
        @Override
        public long byteSize() {
            return region.byteSize();
        }

        @Override
        public void close() {
            region.close();
        }
    }

    /** Memory in {@link SharedRegion#DEFAULT_DIRECTORY}. */
    public ShmTransport() {
        this(SharedRegion.DEFAULT_DIRECTORY);
    }

    /**
     * Memory wherever an address says; whether it can be shared here is tried in one folder.
     *
     * @param directory on tmpfs or hugetlbfs; a region of one page is made there, mapped and removed.
     */
    public ShmTransport(final Path directory) {
        capability = new Capability(TransportKind.SHM, Set.of(Segment.Kind.SHARED), probe(directory));
    }

    /**
     * The address by which other processes open a region.
     *
     * @param region the region, of this process.
     * @return {@code shm:///dev/shm/kvtier-...}, valid until the region is closed.
     */
    public static String addressOf(final SharedRegion region) {
        return "shm://" + region.path().toUri().getRawPath();
    }

    private static Availability probe(final Path directory) {
        try (SharedRegion made = SharedRegion.create(directory, 1);
            SharedRegion mapped = SharedRegion.open(made.path(), null)) {
            made.segment().set(ValueLayout.JAVA_BYTE, 0, PROBE);
            return mapped.segment().get(ValueLayout.JAVA_BYTE, 0) == PROBE
                ? Availability.yes("memory in " + directory + " can be made, mapped and shared")
                : Availability.no("what is written to memory in " + directory + " is not seen by who has mapped it too",
                    "name a folder on tmpfs or hugetlbfs");
        } catch (final ErrnoException e) {
            if (e.errno() == Errno.ENOSPC || e.errno() == Errno.EDQUOT) {
                return Availability.yes("memory of other processes can be used, but " + directory
                    + " has no room for more: " + e.getMessage());
            }
            return refused(directory, e);
        } catch (final RuntimeException e) {
            return refused(directory, e);
        }
    }

    private static Availability refused(final Path directory, final RuntimeException e) {
        return Availability.no("memory cannot be shared in " + directory + ": " + e.getMessage(),
            "mount a tmpfs at " + directory + " that this user may write (for a container: --shm-size, or --ipc=host "
                + "to share memory with other containers), or name another folder");
    }

    @Override
    public Capability capability() {
        return capability;
    }

    @Override
    public TransportSegment open(final SegmentTarget target) {
        final byte[] token = target.token().equals(AccessToken.NONE) ? null : target.token().bytes();
        return new Mapped(SharedRegion.open(Path.of(target.address().path()), token));
    }

    @Override
    public String check(final Slice slice) {
        return HostCopy.problem(slice, ((Mapped) slice.handle()).region());
    }

    @Override
    public void submit(final Slice slice) {
        HostCopy.move(slice, ((Mapped) slice.handle()).region());
    }

    /** Nothing makes memory durable: what was written is there for everybody who has mapped it. */
    @Override
    public void sync(final Slice slice) {
        slice.completed();
    }

    @Override
    public void close() {
        // Segments close what they map.
    }
}
