package io.kvtier.transport.tcp;

/**
 * How memory of a GPU is moved: in parts through pinned host memory. It takes {@code stages} times {@code stageBytes}
 * of pinned memory, which is allocated when the transport is opened; slices wait where no stage is free.
 *
 * @param stages      how many parts may be under way in all, on a device's side or on the network's; 2 to 1,024.
 * @param stageBytes  most bytes of a part, 4 KiB to 64 MiB; a server that takes less at once gets less.
 * @param copyThreads threads that wait for the devices, and streams of each GPU; 1 to 64.
 */
public record TcpStaging(int stages, int stageBytes, int copyThreads) {
    private static final int DEFAULT_STAGES = 16;
    private static final int DEFAULT_STAGE_BYTES = 2 << 20;
    private static final int DEFAULT_COPY_THREADS = 2;
    private static final int MAX_STAGES = 1024;
    private static final int MIN_STAGE_BYTES = 4 << 10;
    private static final int MAX_STAGE_BYTES = 64 << 20;
    private static final int MAX_COPY_THREADS = 64;

    /** 16 stages of 2 MiB, so that 8 slices overlap their copies with the network; 2 threads. */
    public static final TcpStaging DEFAULT =
        new TcpStaging(DEFAULT_STAGES, DEFAULT_STAGE_BYTES, DEFAULT_COPY_THREADS);

    /**
     * Validates.
     *
     * @param stages      parts under way.
     * @param stageBytes  bytes a part.
     * @param copyThreads threads.
     */
    public TcpStaging {
        Bounds.check("stages", stages, 2, MAX_STAGES);
        Bounds.check("stageBytes", stageBytes, MIN_STAGE_BYTES, MAX_STAGE_BYTES);
        Bounds.check("copyThreads", copyThreads, 1, MAX_COPY_THREADS);
    }

    /** All of the pinned memory. */
    long bytes() {
        return (long) stages * stageBytes;
    }
}
