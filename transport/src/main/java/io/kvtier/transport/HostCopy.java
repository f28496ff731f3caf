package io.kvtier.transport;

import io.kvtier.alloc.HostMemory;
import java.lang.foreign.MemorySegment;

/**
 * Moves slices whose segment is memory that this process can address, with {@link MemorySegment}, which checks bounds
 * and lifetime and turns a page that is gone (a mapped file that was cut) into an error instead of a crash.
 *
 * <p><b>Threading:</b> stateless; allocates nothing. <b>Blocking:</b> never; a copy of 16 MiB takes some milliseconds,
 * for which a virtual thread keeps its carrier.
 */
public final class HostCopy {
    private HostCopy() {
    }

    /**
     * Says what is wrong with a slice; {@link Transport#check} of a transport that moves it here.
     *
     * @param slice  the slice.
     * @param memory the whole memory of its segment.
     * @return null when it can be moved by the calling thread, else the reason in words.
     */
    public static String problem(final Slice slice, final HostMemory memory) {
        final MemorySegment remote = memory.segment();
        if (!isUsable(((HostMemory) slice.region()).segment())) {
            return "the local memory is closed or belongs to another thread";
        }
        if (!isUsable(remote)) {
            return "the memory of the segment is closed or belongs to another thread";
        }
        if (slice.direction() == Direction.WRITE && remote.isReadOnly()) {
            return "the memory of the segment is read-only";
        }
        final long size = remote.byteSize();
        return slice.length() > size - slice.offset()
            ? "bytes " + slice.offset() + " to " + (slice.offset() + slice.length()) + " are not inside the segment of "
                + size + " bytes"
            : null;
    }

    /**
     * Moves a slice and completes it, on the calling thread.
     *
     * @param slice  the slice, already checked.
     * @param memory the whole memory of its segment.
     */
    public static void move(final Slice slice, final HostMemory memory) {
        if (!slice.wanted()) {
            slice.canceled();
            return;
        }
        try {
            final HostMemory local = (HostMemory) slice.region();
            if (slice.direction() == Direction.READ) {
                MemorySegment.copy(memory.segment(), slice.offset(), local.segment(), slice.localOffset(),
                    slice.length());
            } else {
                MemorySegment.copy(local.segment(), slice.localOffset(), memory.segment(), slice.offset(),
                    slice.length());
            }
            memory.raiseFault();
            local.raiseFault();
        } catch (final IllegalStateException e) {
            // Borrowed memory or a region that was closed too early.
            slice.failed(e);
            return;
        } catch (final InternalError e) {
            slice.failed(slice.failure(TransferFailure.Kind.FAILED, "a page of the memory is gone: the file behind it "
                + "was cut while it was mapped, by its owner or another process that may write it (" + e.getMessage()
                + ")"));
            return;
        }
        slice.completed();
    }

    private static boolean isUsable(final MemorySegment memory) {
        return memory.scope().isAlive() && memory.isAccessibleBy(Thread.currentThread());
    }
}
