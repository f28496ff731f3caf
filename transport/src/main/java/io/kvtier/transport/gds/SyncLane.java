package io.kvtier.transport.gds;

import io.kvtier.bindings.cuda.DevicePointer;
import io.kvtier.bindings.cufile.CuFileHandle;
import io.kvtier.transport.Direction;
import io.kvtier.transport.IoThreads;
import io.kvtier.transport.Slice;
import io.kvtier.transport.ThreadEnds;
import java.util.ArrayList;
import java.util.List;

/**
 * A GPU that is served by synchronous calls, one slice a thread.
 *
 * <p><b>Threading:</b> thread-safe. <b>Lifetime:</b> its threads live until {@link #close()}.
 */
final class SyncLane implements Lane {
    private final LaneParts shared;
    private final LaneQueue queue = new LaneQueue();
    private final List<Thread> threads = new ArrayList<>();
    private volatile boolean aborted;

    /** Starts the threads. */
    SyncLane(final LaneParts shared) {
        this.shared = shared;
        final int count = shared.config().threadsFor(GdsConfig.Mode.SYNC);
        try {
            for (int i = 1; i <= count; i++) {
                final Thread thread = IoThreads.newThread(shared.threadName() + "-sync-" + i, this::work);
                thread.start();
                threads.add(thread);
            }
        } catch (final RuntimeException | Error e) {
            close();
            throw e;
        }
    }

    private void work() {
        Throwable problem = null;
        try {
            shared.inContext(() -> {
                Slice slice = queue.take();
                while (slice != null) {
                    move(slice);
                    slice = queue.take();
                }
            });
        } catch (final RuntimeException e) {
            problem = e;
        }
        // The context could not be entered, or left: nothing that is still queued may be lost.
        Slice slice = queue.take();
        while (slice != null) {
            slice.failed(problem);
            slice = queue.take();
        }
    }

    private void move(final Slice slice) {
        if (aborted || !slice.wanted()) {
            slice.canceled();
            return;
        }
        final GdsFile file = (GdsFile) slice.handle();
        final boolean write = slice.direction() == Direction.WRITE;
        long done = Progress.of(slice);
        final long start = slice.offset() + done;
        final long length = slice.length() - done;
        if (write && file.awaitEdges(start, length) == GdsFile.Edges.LOST) {
            Endings.edgeLost(slice);
            return;
        }
        long before = done;
        Throwable problem = null;
        try {
            long count = 1;
            while (done < slice.length() && count > 0) {
                before = done;
                count = call(write, file.handle(), slice, done);
                done += count;
            }
        } catch (final RuntimeException | Error e) {
            // An Error too, or the transfer would never end.
            problem = e;
        }
        if (write) {
            file.giveEdges(start, length);
        }
        end(slice, done, before, problem);
    }

    private static void end(final Slice slice, final long done, final long before, final Throwable problem) {
        if (problem != null) {
            slice.failed(problem);
            return;
        }
        try {
            if (Endings.goesOn(slice, done, before)) {
                throw new AssertionError("a call that moved nothing is the last one");
            }
        } catch (final RuntimeException e) {
            slice.failed(e);
        }
    }

    private long call(final boolean write, final CuFileHandle handle, final Slice slice, final long done) {
        final long at = slice.localOffset() + done;
        final long length = slice.length() - done;
        final long offset = slice.offset() + done;
        final long address = Registrations.address(slice.region()) + at;
        final Registrations.Entry registered = shared.registrations().find(address, length);
        if (registered != null) {
            final long inside = address - registered.base();
            return write ? handle.write(registered.buffer(), inside, length, offset)
                : handle.read(registered.buffer(), inside, length, offset);
        }
        // By its address: the slice keeps it, where its owner, who may have closed it meanwhile, would refuse it.
        final DevicePointer memory = Registrations.unregistered(slice.region()).pointer().slice(at, length);
        return write ? handle.write(memory, offset) : handle.read(memory, offset);
    }

    @Override
    public void submit(final Slice slice) {
        queue.add(slice);
    }

    @Override
    public void flush() {
        queue.wake();
    }

    @Override
    public void cancel() {
        // A running call cannot be called back; what is queued is looked at before it is started.
    }

    @Override
    public void abort() {
        aborted = true;
    }

    @Override
    public void close() {
        queue.close();
        ThreadEnds.await(threads);
    }
}
