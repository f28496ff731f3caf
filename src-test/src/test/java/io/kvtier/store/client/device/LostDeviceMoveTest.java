package io.kvtier.store.client.device;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.LosingTransport;
import io.kvtier.kit.PatternBytes;
import io.kvtier.kit.WriteOff;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreException;
import io.kvtier.store.client.transfer.Move;
import io.kvtier.store.client.transfer.Staging;
import io.kvtier.store.nof.NofDevice;
import io.kvtier.store.replica.ReplicaDescriptor;
import io.kvtier.transport.TransferConfig;
import io.kvtier.transport.TransferEngine;
import io.kvtier.transport.file.FileOpener;
import io.kvtier.transport.file.PosixTransport;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/**
 * Transfers of block devices of which nothing is heard any more: staging memory that they use is not given to others.
 * What they use stays, so that nothing here is looked through for what was left behind.
 */
@ExtendWith(WriteOff.class)
class LostDeviceMoveTest {
    private static final long TIMEOUT_MS = 60_000;
    /** Goes through staging memory, since it lies in the heap, and does not end with a block. */
    private static final byte[] VALUE = PatternBytes.of(1, 3 * 4096 + 5);

    @TempDir
    private Path folder;
    private final LosingTransport files = new LosingTransport(new PosixTransport(1, false));
    private final Staging staging = new Staging();
    private NofDevice device;
    private BlockDevices devices;
    private ReplicaDescriptor.Nof place;

    @BeforeEach
    void open() {
        final Path path = folder.resolve("device");
        device = NofDevice.open(path, 1 << 20, FileOpener.POSIX);
        // The master is asked for devices that were not given.
        devices = new BlockDevices(null, Map.of(device.id().toString(), path.toUri().toString()),
            () -> TransferEngine.open(TransferConfig.DEFAULT, List.of(files)), staging, TIMEOUT_MS);
        place = new ReplicaDescriptor.Nof(device.id().toString(), 0, VALUE.length);
    }

    @AfterEach
    void close() {
        devices.close();
        staging.close();
        device.close();
    }

    private Move write() {
        return devices.startWrite(List.of(place), List.of(MemorySegment.ofArray(VALUE)), TIMEOUT_MS);
    }

    private Move read(final byte[] target) {
        return devices.startRead(place, 0, target.length, List.of(MemorySegment.ofArray(target)), TIMEOUT_MS, true);
    }

    /** Whether staging memory is taken. */
    private boolean isTaken() {
        try (Staging.Piece all = staging.take(Staging.POOL_BYTES)) {
            return all.slice().region() != staging.pool();
        }
    }

    @Test
    void shouldGiveStagingMemoryBackWhenNothingIsLost() {
        assertNull(write().finish());
        final byte[] found = new byte[VALUE.length];
        assertNull(read(found).finish());
        assertArrayEquals(VALUE, found);
        assertFalse(isTaken());
    }

    @Test
    void shouldKeepStagingMemoryOfALostWrite() {
        assertNull(write().finish());
        files.losing(true);
        final Move lost = write();
        final String problem = lost.finish();
        assertTrue(problem.contains("lost by a test"), problem);
        assertFalse(lost.isSettled());
        assertTrue(isTaken());
    }

    @Test
    void shouldFailALostReadAndKeepItsStagingMemory() {
        assertNull(write().finish());
        files.losing(true);
        final byte[] target = new byte[VALUE.length];
        final Move lost = read(target);
        final StoreException e = assertThrows(StoreException.class, lost::finish);
        assertSame(ErrorCode.TRANSFER_FAIL, e.code());
        assertFalse(lost.isSettled());
        assertTrue(isTaken());
        assertArrayEquals(new byte[VALUE.length], target);
    }

    @Test
    void shouldKeepMemoryThatALabelWasLostInto() {
        files.losing(true);
        final String problem = read(new byte[VALUE.length]).finish();
        assertTrue(problem.contains("lost by a test"), problem);
        assertTrue(isTaken());
    }
}
