package io.kvtier.bindings.cufile;

import io.kvtier.bindings.NativeResources;
import io.kvtier.bindings.NativeTag;
import io.kvtier.bindings.cuda.Cuda;
import io.kvtier.bindings.cuda.CudaContext;
import io.kvtier.bindings.cuda.CudaCopies;
import io.kvtier.bindings.posix.OpenMode;
import io.kvtier.bindings.posix.PosixFile;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.ThreadLocalRandom;

/**
 * A program that closes owners from one thread while another one uses them, again and again, and ends well only if
 * every use ended as it should or was refused, and nothing is left. A program of its own, since what it looks for are
 * crashes: {@code CloseInUse simulated|FILE SCENARIO ROUNDS}, with a file on a machine with a GPU.
 */
public final class CloseInUse {
    /** What the last line says when all went well. */
    static final String WELL = "closed in use, and all went well: ";

    private static final long SMALL = 256 << 10;
    private static final long LARGE = 32L << 20;
    private static final int LARGE_EVERY = 4;
    private static final int ENTRIES = 8;
    private static final int MOST_SPINS = 40_000;

    private final CloseRig rig;
    private final long bytes;

    private CloseInUse(final CloseRig rig, final long bytes) {
        this.rig = rig;
        this.bytes = bytes;
    }

    /**
     * Runs one scenario.
     *
     * @param args where, scenario, rounds.
     * @throws Exception when a use ended as none should.
     */
    public static void main(final String[] args) throws Exception {
        final Map<NativeTag, NativeResources.Usage> before = NativeResources.snapshot();
        final int rounds = Integer.parseInt(args[2]);
        if (args[0].equals("simulated")) {
            for (int round = 0; round < rounds; round++) {
                try (CloseRig rig = CloseRig.Simulated.open(SMALL)) {
                    new CloseInUse(rig, SMALL).run(args[1]);
                }
            }
        } else {
            onGpu(args[0], args[1], rounds);
        }
        if (!before.equals(NativeResources.snapshot())) {
            throw new AssertionError("left behind: " + NativeResources.snapshot());
        }
        System.out.println(WELL + args[1]);
    }

    private static void onGpu(final String path, final String scenario, final int rounds) throws Exception {
        // Opening takes long: one share stays open for all rounds.
        try (CudaContext context = Cuda.devices().getFirst().retainPrimaryContext();
            CudaContext.Guard guard = context.enter();
            CuFileDriver shared = CuFile.system().open(CuFileConfig.DEFAULT);
            PosixFile file = PosixFile.open(path, OpenMode.CREATE)) {
            System.out.println("driver with batches of " + shared.properties().maxBatchEntries() + " on "
                + guard.context().device());
            file.preallocate(0, LARGE);
            for (int round = 0; round < rounds; round++) {
                final long bytes = round % LARGE_EVERY == 0 ? LARGE : SMALL;
                final CudaContext own = Cuda.devices().getFirst().retainPrimaryContext();
                try (CloseRig.Gpu rig = new CloseRig.Gpu(own, path, bytes)) {
                    new CloseInUse(rig, bytes).run(scenario);
                } finally {
                    own.close();
                }
            }
        }
    }

    private void run(final String scenario) throws Exception {
        switch (scenario) {
            case "handle" -> race(this::transfer, () -> {
                rig.handle.close();
                rig.file.close();
            });
            case "buffer" -> race(this::transfer, () -> {
                rig.buffer.close();
                rig.closeMemory();
            });
            case "driver" -> race(this::transfer, () -> {
                rig.driver.close();
                rig.handle.close();
            });
            case "batch" -> batch(false);
            case "cancel" -> batch(true);
            case "memory", "stream", "copies", "context" -> run(scenario, (CloseRig.Gpu) rig);
            default -> throw new IllegalArgumentException("no scenario " + scenario);
        }
    }

    private void run(final String scenario, final CloseRig.Gpu gpu) throws Exception {
        switch (scenario) {
            case "memory" -> race(() -> expect(bytes, gpu.handle.write(gpu.memory, 0, bytes, 0)), gpu.memory::close);
            case "stream" -> race(() -> {
                try (CuFileStreamTransfer transfer = gpu.registered.submit(true, gpu.handle, 0, gpu.buffer, 0,
                    bytes)) {
                    expect(bytes, transfer.result());
                }
            }, () -> {
                gpu.stream.close();
                gpu.registered.close();
                gpu.buffer.close();
                gpu.memory.close();
                gpu.handle.close();
            });
            case "copies" -> {
                race(() -> CudaCopies.toDevice(gpu.stream, gpu.host.segment(), gpu.memory.pointer()),
                    gpu.stream::close);
                // The stream is gone; what it was given may still run.
                gpu.context.synchronize();
            }
            default -> race(() -> {
                CudaCopies.fill(gpu.context, gpu.memory.pointer(), (byte) 1);
                expect(bytes, gpu.handle.write(gpu.buffer, 0, bytes, 0));
            }, gpu.context::close);
        }
    }

    private void transfer() {
        expect(bytes, rig.handle.write(rig.buffer, 0, bytes, 0));
        expect(bytes, rig.handle.read(rig.buffer, 0, bytes, 0));
    }

    /** Batches of which other threads close everything, and which they may not close themselves. */
    private void batch(final boolean closedInFlight) throws Exception {
        final CuFileBatch[] batch = {CuFileBatch.create(rig.driver, ENTRIES)};
        final long entry = bytes / ENTRIES;
        try {
            race(() -> {
                if (batch[0].state() == CuFileBatch.State.DESTROYED) {
                    batch[0] = CuFileBatch.create(rig.driver, ENTRIES);
                }
                batch[0].recycle();
                for (int i = 0; i < ENTRIES; i++) {
                    expect(i, batch[0].add(i % 2 == 0, rig.handle, i * entry, rig.buffer, i * entry, entry));
                }
                batch[0].submit();
                if (closedInFlight) {
                    batch[0].close();
                }
                while (batch[0].state() == CuFileBatch.State.IN_FLIGHT) {
                    batch[0].poll(1_000_000, (slot, outcome, result) -> expect(entry, result));
                }
            }, () -> {
                if (!closedInFlight) {
                    refusesOtherThreads(batch[0]);
                }
                rig.buffer.close();
                rig.closeMemory();
                rig.handle.close();
                rig.driver.close();
            });
        } finally {
            batch[0].close();
        }
    }

    private static void refusesOtherThreads(final CuFileBatch batch) {
        try {
            batch.close();
        } catch (final IllegalStateException expected) {
            return;
        }
        throw new AssertionError("a batch may be closed by another thread");
    }

    /** Uses in this thread until it is refused; another thread closes at some moment meanwhile. */
    private void race(final Runnable use, final Runnable close) throws Exception {
        final CountDownLatch started = new CountDownLatch(1);
        final FutureTask<Void> closing = new FutureTask<>(() -> {
            final Runnable leave = rig.enter();
            try {
                started.await();
                for (int spins = ThreadLocalRandom.current().nextInt(MOST_SPINS); spins > 0; spins--) {
                    Thread.onSpinWait();
                }
                close.run();
            } finally {
                leave.run();
            }
            return null;
        });
        Thread.ofPlatform().start(closing);
        started.countDown();
        boolean refused = false;
        while (!refused) {
            final boolean closed = closing.isDone();
            try {
                use.run();
                if (closed) {
                    closing.get();
                    throw new AssertionError("used after it was closed");
                }
            } catch (final IllegalStateException e) {
                if (!e.getMessage().contains("no longer registered") && !e.getMessage().contains("closed")) {
                    throw e;
                }
                refused = true;
            }
        }
        closing.get();
    }

    private static void expect(final long wanted, final long seen) {
        if (wanted != seen) {
            throw new AssertionError(seen + " instead of " + wanted);
        }
    }
}
