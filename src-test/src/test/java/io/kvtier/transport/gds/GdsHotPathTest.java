package io.kvtier.transport.gds;

import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import io.kvtier.alloc.DeviceRegion;
import io.kvtier.kit.ImmediateCuFile;
import io.kvtier.kit.LeakCheck;
import io.kvtier.transport.Registration;
import io.kvtier.transport.Segment;
import io.kvtier.transport.Transfer;
import io.kvtier.transport.TransferConfig;
import io.kvtier.transport.TransferEngine;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** What a request leaves on the Java heap, over all threads, once warm and with transfers that are used again. */
@ExtendWith(LeakCheck.class)
class GdsHotPathTest {
    private static final int BLOCK = GdsRig.BLOCK;
    private static final int BATCH = 32;
    private static final int ROUNDS = 500;
    private static final int WARM_UP = 2000;
    private static final double MOST_BYTES = 64;
    /** Compilers and the test's own threads come in between; one quiet run of a few is proof. */
    private static final int ATTEMPTS = 8;

    @TempDir
    private Path directory;

    private interface Load {
        void run(TransferEngine engine, DeviceRegion memory, Segment segment, Transfer[] transfers);
    }

    @Test
    void shouldLeaveNearlyNothingInTransfersOfManyRequests() throws IOException {
        manyRequests(GdsConfig.DEFAULT, MOST_BYTES / 4);
    }

    @Test
    void shouldLeaveLittleBySynchronousCalls() throws IOException {
        manyRequests(GdsRig.calls(2), MOST_BYTES);
    }

    private void manyRequests(final GdsConfig config, final double most) throws IOException {
        check(config, 1, (engine, memory, segment, transfers) -> {
            final Transfer transfer = transfers[0];
            transfer.clear();
            for (int i = 0; i < BATCH; i++) {
                transfer.read(memory, (long) i * BLOCK, BLOCK, segment, (long) i * BLOCK);
            }
            engine.submit(transfer);
            transfer.await();
        }, most);
    }

    /** Each wakes the thread, and is a batch of its own where that is quick. */
    @Test
    void shouldLeaveLittleInTransfersOfOneRequest() throws IOException {
        check(GdsConfig.DEFAULT, BATCH, (engine, memory, segment, transfers) -> {
            for (int i = 0; i < BATCH; i++) {
                transfers[i].clear();
                engine.submit(transfers[i].read(memory, (long) i * BLOCK, BLOCK, segment, (long) i * BLOCK));
            }
            for (final Transfer transfer : transfers) {
                transfer.await();
            }
        }, MOST_BYTES);
    }

    private void check(final GdsConfig config, final int transfers, final Load load, final double most)
        throws IOException {
        try (GdsRig rig = new GdsRig(directory, new ImmediateCuFile())) {
            final TransferEngine engine = rig.engine(TransferConfig.DEFAULT,
                GdsTransport.open(rig.simulated.cuFile(), config,
                    GdsRig.around(rig.simulated), GdsRig.LIBRARY_POOL));
            final Segment segment = rig.file(engine, "f", new byte[BATCH * BLOCK]);
            final DeviceRegion memory = rig.device(new byte[BATCH * BLOCK]);
            final Transfer[] all = new Transfer[transfers];
            for (int i = 0; i < transfers; i++) {
                all[i] = engine.newTransfer();
            }
            try (Registration registration = engine.register(memory)) {
                assertTrue(registration.results().values().iterator().next().available());
                final double least = measure(rounds -> {
                    for (int round = 0; round < rounds; round++) {
                        load.run(engine, memory, segment, all);
                    }
                }, most);
                System.out.println("seen: " + least + " bytes of heap a request, " + config.mode() + ", transfers: "
                    + transfers);
                assertTrue(least <= most, least + " bytes of heap a request, more than " + most);
            }
        }
    }

    private static double measure(final Consumer<Integer> rounds, final double most) {
        final ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        rounds.accept(WARM_UP);
        double least = Double.MAX_VALUE;
        for (int i = 0; i < ATTEMPTS && least > most; i++) {
            final long before = threads.getTotalThreadAllocatedBytes();
            rounds.accept(ROUNDS);
            least = Math.min(least, (double) (threads.getTotalThreadAllocatedBytes() - before) / (ROUNDS * BATCH));
        }
        return least;
    }
}
