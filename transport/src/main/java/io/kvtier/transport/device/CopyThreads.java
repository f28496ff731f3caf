package io.kvtier.transport.device;

import io.kvtier.alloc.DeviceRegion;
import io.kvtier.bindings.cuda.CudaContext;
import io.kvtier.transport.IoThreads;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.function.Consumer;

/**
 * Threads that give copies to devices and wait for them. Each takes a stream of the GPU for as long as a copy runs;
 * there are as many streams of each GPU as threads.
 *
 * <p><b>Threading:</b> thread-safe. <b>Lifetime:</b> owns threads, streams and the streams' staging memory.
 */
public final class CopyThreads implements AutoCloseable {
    private final Gpus gpus;
    private final IoThreads threads;
    private final List<CopyStream> all = new ArrayList<>();
    private final List<BlockingQueue<CopyStream>> free = new ArrayList<>();

    /**
     * Makes the streams.
     *
     * @param name         prefix of the threads' names.
     * @param gpus         where the memory is.
     * @param count        threads, and streams of each GPU; at least 1.
     * @param stagingBytes of pinned memory of each stream; 0 for none.
     * @throws io.kvtier.bindings.cuda.CudaException when a stream cannot be made.
     */
    public CopyThreads(final String name, final Gpus gpus, final int count, final long stagingBytes) {
        this.gpus = gpus;
        try {
            for (final CudaContext context : gpus.contexts()) {
                final BlockingQueue<CopyStream> streams = new ArrayBlockingQueue<>(count);
                for (int i = 0; i < count; i++) {
                    final CopyStream stream = gpus.devices().newStream(context, stagingBytes);
                    all.add(stream);
                    streams.add(stream);
                }
                free.add(streams);
            }
            threads = new IoThreads(name, count, Integer.MAX_VALUE);
        } catch (final RuntimeException | Error e) {
            closeStreams();
            throw e;
        }
    }

    /**
     * Runs a copy soon; never waits.
     *
     * @param region memory of one of the GPUs.
     * @param copy   is given a stream of that GPU; it waits for what it gives it, and must not throw.
     * @throws java.util.concurrent.RejectedExecutionException when closed.
     */
    public void execute(final DeviceRegion region, final Consumer<CopyStream> copy) {
        final BlockingQueue<CopyStream> streams = free.get(gpus.indexOf(region));
        threads.execute(() -> {
            // There are as many of each GPU as threads.
            final CopyStream stream = streams.remove();
            try {
                copy.accept(stream);
            } finally {
                streams.add(stream);
            }
        });
    }

    /** Ends the threads after the last copy. */
    @Override
    public void close() {
        threads.close();
        closeStreams();
    }

    /** All of them: those of a GPU that has failed do not end well. */
    private void closeStreams() {
        if (!all.isEmpty()) {
            try {
                all.removeLast().close();
            } finally {
                closeStreams();
            }
        }
    }
}
