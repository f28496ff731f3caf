package io.kvtier.transport.gds;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.alloc.DeviceRegion;
import io.kvtier.alloc.HostRegion;
import io.kvtier.alloc.MemoryRegion;
import io.kvtier.bindings.NativeResources;
import io.kvtier.bindings.NativeTag;
import io.kvtier.bindings.cufile.gen.CuFileTypes;
import io.kvtier.kit.PatternBytes;
import io.kvtier.kit.SimulatedCuFile;
import io.kvtier.kit.WriteOff;
import io.kvtier.transport.Direction;
import io.kvtier.transport.Registration;
import io.kvtier.transport.Segment;
import io.kvtier.transport.Transfer;
import io.kvtier.transport.TransferConfig;
import io.kvtier.transport.TransferEngine;
import io.kvtier.transport.TransferException;
import io.kvtier.transport.TransferFailure;
import io.kvtier.transport.TransferRequest;
import io.kvtier.transport.TransportKind;
import io.kvtier.transport.file.PosixTransport;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/**
 * Transfers of which nothing is heard any more, where a device may go on with them. What they use stays, so that
 * nothing here is looked through for what was left behind.
 */
@ExtendWith(WriteOff.class)
@Timeout(value = 1, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class LostTransferTest {
    private static final int BLOCK = GdsRig.BLOCK;

    @TempDir
    private Path directory;

    /** Nothing is heard of a batch, and the device goes on with it. */
    private static void fallSilent(final SimulatedCuFile simulated) {
        simulated.movesOn(true);
        simulated.stalled(true);
        simulated.refuse("batchStatus", CuFileTypes.CU_FILE_INVALID_VALUE(), 0);
    }

    /** Of memory of tests. */
    private static long bytes() {
        return NativeResources.snapshot().getOrDefault(NativeTag.TEST, new NativeResources.Usage(0, 0)).bytes();
    }

    private GdsRig rig() {
        final GdsRig rig = new GdsRig(directory);
        rig.simulated.compatible(false);
        return rig;
    }

    @Test
    void shouldEndForThoseWhoWaitAndNeverBeSettled() throws Exception {
        final GdsRig rig = rig();
        final TransferEngine engine = rig.blocks(GdsRig.batches(8, 2));
        final Segment segment = rig.file(engine, "f", new byte[4 * BLOCK]);
        final DeviceRegion region = rig.device(1, 4 * BLOCK);
        final Transfer other = engine.submit(List.of(TransferRequest.write(region.slice(0, BLOCK), segment, 0)));
        other.await();
        assertTrue(other.isSettled());
        fallSilent(rig.simulated);
        final Transfer lost =
            engine.submit(List.of(TransferRequest.write(region.slice(0, 4 * BLOCK), segment, 0)));
        final TransferException e = assertThrows(TransferException.class, lost::await);
        assertEquals(TransferFailure.Kind.FAILED, e.failure().kind());
        assertTrue(e.getMessage().contains("may still move its bytes"), e.getMessage());
        assertTrue(lost.isDone());
        assertFalse(lost.isSettled());
        assertEquals(1, engine.lostTransfers());
        // The engine goes on with others, and closes; what a device still uses is there.
        rig.simulated.stalled(false);
        final Transfer next =
            engine.submit(List.of(TransferRequest.write(region.slice(0, BLOCK), segment, 0)));
        next.await();
        assertTrue(next.isSettled());
        segment.close();
        engine.close();
        assertFalse(engine.abandoned());
        assertEquals(0, engine.outstanding());
        assertEquals(4, rig.simulated.moveLate());
        assertArrayEquals(PatternBytes.of(1, 4 * BLOCK), rig.content("f"));
    }

    /** By GPUDirect Storage first. */
    private static Transfer write(final TransferEngine engine, final Segment segment, final MemoryRegion from,
        final int at, final int length) {
        return engine.submit(List.of(new TransferRequest(Direction.WRITE, from.slice(0, length), segment, at,
            TransportKind.GDS, false)));
    }

    private static void assertRefused(final Transfer transfer) {
        final TransferException e = assertThrows(TransferException.class, transfer::await);
        assertEquals(TransferFailure.Kind.FAILED, e.failure().kind());
        assertTrue(e.getMessage().contains("may still write that block back as it was"), e.getMessage());
        assertTrue(transfer.isSettled());
    }

    /** The library reads, changes and writes back whole blocks, whenever it gets to it. */
    @Test
    void shouldRefuseWritesToTheBlocksThatALostWriteChangesInPartAndNoOthers() throws Exception {
        final GdsRig rig = rig();
        final TransferEngine engine = rig.engine(TransferConfig.DEFAULT,
            rig.transport(GdsRig.withHost(GdsRig.batches(8, 2))), new PosixTransport(1, true));
        final Segment segment = rig.file(engine, "f", new byte[6 * BLOCK]);
        final HostRegion region = HostRegion.allocate(NativeTag.TEST, 2 * BLOCK);
        final Registration registration = engine.register(region);
        fallSilent(rig.simulated);
        // From the middle of block 1 to the middle of block 3.
        final Transfer lost = write(engine, segment, region, BLOCK + 100, 2 * BLOCK);
        final Transfer waiting = write(engine, segment, region, BLOCK, 100);
        assertThrows(TransferException.class, lost::await);
        assertFalse(lost.isSettled());
        rig.simulated.stalled(false);
        assertRefused(waiting);
        assertRefused(write(engine, segment, region, BLOCK, 100));
        assertRefused(write(engine, segment, region, 3 * BLOCK + 100, BLOCK));
        assertRefused(write(engine, segment, region, 10, BLOCK));
        // Whole blocks beside it, parts of other blocks, and reads of the same.
        write(engine, segment, region, 0, BLOCK).await();
        write(engine, segment, region, 4 * BLOCK + 1, BLOCK).await();
        engine.submit(List.of(TransferRequest.read(region.slice(0, 100), segment, BLOCK + 50))).await();
        registration.close();
        segment.close();
        engine.close();
        assertFalse(engine.abandoned());
    }

    /** Where batches cannot be had any more, too: these threads wait for blocks, and would wait for ever. */
    @Test
    void shouldRefuseSuchWritesBySynchronousCallsToo() throws Exception {
        final GdsRig rig = rig();
        final TransferEngine engine = rig.engine(GdsRig.batches(8, 1));
        final Segment segment = rig.file(engine, "f", new byte[2 * BLOCK]);
        final DeviceRegion region = rig.device(2, BLOCK);
        fallSilent(rig.simulated);
        assertThrows(TransferException.class, write(engine, segment, region, 100, 200)::await);
        rig.simulated.stalled(false);
        rig.simulated.refuse("batchSetUp", CuFileTypes.CU_FILE_INTERNAL_ERROR(), 0);
        assertRefused(write(engine, segment, region, 300, 10));
        write(engine, segment, region, BLOCK + 300, 10).await();
        assertTrue(rig.simulated.count("write") > 0, "by a synchronous call");
        segment.close();
        engine.close();
    }

    /** Others would write the same place, or hand out the same memory, beside the device. */
    @Test
    void shouldBeTriedByNoOtherTransportAndKeepItsMemory() throws Exception {
        final GdsRig rig = rig();
        final TransferEngine engine = rig.engine(new TransferConfig(BLOCK, 30_000),
            rig.transport(GdsRig.withHost(GdsRig.batches(8, 2))), new PosixTransport(1, true));
        final Segment segment = rig.file(engine, "f", PatternBytes.of(1, 2 * BLOCK));
        final long before = bytes();
        final HostRegion memory = HostRegion.allocate(NativeTag.TEST, 2 * BLOCK);
        final Registration registration = engine.register(memory);
        fallSilent(rig.simulated);
        final Transfer lost = engine.submit(List.of(new TransferRequest(Direction.READ, memory.slice(0, 2 * BLOCK),
            segment, 0, TransportKind.GDS, false)));
        assertThrows(TransferException.class, lost::await);
        assertFalse(lost.isSettled());
        assertArrayEquals(new byte[2 * BLOCK], PatternBytes.copyOf(memory.segment()), "posix would have read it");
        registration.close();
        memory.close();
        assertEquals(2 * BLOCK, bytes() - before, "a device may write there");
        assertEquals(2, rig.simulated.moveLate());
        assertEquals(1, rig.simulated.memory().pinnedCount());
    }
}
