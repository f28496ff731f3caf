package io.kvtier.transport.gds;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.alloc.HostRegion;
import io.kvtier.alloc.MemoryKind;
import io.kvtier.bindings.Availability;
import io.kvtier.bindings.NativeTag;
import io.kvtier.bindings.cufile.gen.CuFileTypes;
import io.kvtier.kit.LeakCheck;
import io.kvtier.transport.Segment;
import io.kvtier.transport.TransferEngine;
import io.kvtier.transport.TransferException;
import io.kvtier.transport.TransferRequest;
import io.kvtier.transport.TransportKind;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** When host memory is let in, and what is said where it is not. */
@ExtendWith(LeakCheck.class)
class HostTrialTest {
    private static final GdsConfig WANTED = GdsRig.batches(8, 2).withHostMemory(true);

    @TempDir
    private Path directory;
    private final HostRegion memory = HostRegion.allocate(NativeTag.TEST, GdsRig.BLOCK);
    private GdsRig rig;

    @BeforeEach
    void open() {
        rig = new GdsRig(directory);
    }

    @AfterEach
    void close() {
        rig.close();
        memory.close();
    }

    /** Nothing of host memory reaches the library beyond what a trial has moved. */
    private Availability refusal(final GdsConfig config) throws IOException {
        final TransferEngine engine = rig.engine(config);
        assertTrue(engine.hasTransport(TransportKind.GDS), "memory of a GPU goes on");
        assertEquals(Set.of(MemoryKind.DEVICE), rig.transport().capability().memory());
        final long registered = rig.simulated.count("bufferRegister");
        final long calls = rig.simulated.count("write") + rig.simulated.count("batchSubmit");
        engine.register(memory).close();
        final Availability refusal = rig.transport().attach(memory);
        assertFalse(refusal.available());
        final Segment segment = rig.file(engine, "f", new byte[GdsRig.BLOCK]);
        final TransferRequest request = TransferRequest.write(memory.slice(0, GdsRig.BLOCK), segment, 0);
        assertThrows(TransferException.class, () -> engine.submit(List.of(request)).await());
        assertEquals(registered, rig.simulated.count("bufferRegister"));
        assertEquals(calls, rig.simulated.count("write") + rig.simulated.count("batchSubmit"));
        assertEquals(0, rig.simulated.memory().pinnedCount());
        assertTrue(refusal.remedy().contains("io_uring"), refusal.toString());
        final String said = rig.transport().capability().availability().reason();
        assertEquals(config.hostMemory(), said.contains(refusal.reason()), said);
        final Matcher file = Pattern.compile("tried with ([^,]+),").matcher(refusal.reason());
        assertFalse(file.find() && Files.exists(Path.of(file.group(1))), refusal.reason());
        return refusal;
    }

    @Test
    void shouldLeaveItToOthersUnlessAskedFor() throws IOException {
        rig.simulated.compatible(false);
        final Availability refusal = refusal(GdsRig.batches(8, 2));
        assertTrue(refusal.reason().contains("host_memory"), refusal.toString());
    }

    @Test
    void shouldSayWhatWasSeenInCompatibilityMode() throws IOException {
        final Availability refusal = refusal(WANTED);
        for (final String seen : List.of("wrong bytes", "EIO", "crashed", "libcufile 1.15.1")) {
            assertTrue(refusal.reason().contains(seen), refusal.toString());
        }
        assertTrue(refusal.remedy().contains("nvidia-fs"), refusal.toString());
        // Not even a trial: it could end the process.
        assertEquals(0, rig.simulated.count("write") + rig.simulated.count("batchSubmit"));
    }

    @Test
    void shouldRefuseItWhereSomeFilesWouldGoInCompatibilityMode() throws IOException {
        rig.simulated.compatible(false);
        assertTrue(refusal(WANTED).remedy().contains("allow_compat to false"));
        assertEquals(0, rig.simulated.count("write") + rig.simulated.count("batchSubmit"));
    }

    @ParameterizedTest
    @EnumSource(GdsConfig.Mode.class)
    void shouldLetItInWhenEveryByteWasRight(final GdsConfig.Mode mode) {
        rig.simulated.compatible(false);
        rig.engine(GdsRig.withHost(mode == GdsConfig.Mode.BATCH ? GdsRig.batches(8, 2) : GdsRig.calls(2)));
        assertEquals(Set.of(MemoryKind.DEVICE, MemoryKind.PINNED, MemoryKind.HOST),
            rig.transport().capability().memory());
        assertTrue(rig.transport().capability().availability().reason().contains("host memory too"));
        // One batch writes and one reads, where batches are going to be used.
        assertEquals(mode == GdsConfig.Mode.BATCH ? 2 : 0, rig.simulated.count("batchSubmit"));
        assertTrue(rig.transport().attach(memory).available());
        rig.transport().detach(memory);
    }

    @Test
    void shouldRefuseItWhenTheLibraryMovesItAsWasSeen() throws IOException {
        rig.simulated.compatible(false);
        rig.simulated.wrongHostMemory(true, true);
        final Availability refusal = refusal(GdsRig.withHost(GdsRig.calls(2)));
        assertTrue(refusal.reason().contains("EIO"), refusal.toString());
    }

    @Test
    void shouldFindWrongBytesOfABatchThatSynchronousCallsDoNotHave() throws IOException {
        rig.simulated.compatible(false);
        rig.simulated.wrongHostMemory(false, true);
        final Availability refusal = refusal(GdsRig.withHost(GdsRig.batches(8, 2)));
        assertTrue(refusal.reason().contains("a batch wrote wrong bytes"), refusal.toString());
    }

    @Test
    void shouldRefuseItWhenACallMovesLess() throws IOException {
        rig.simulated.compatible(false);
        rig.simulated.answer(512, 0);
        assertTrue(refusal(GdsRig.withHost(GdsRig.calls(2))).reason().contains("512 of 4096 bytes"));
    }

    @Test
    void shouldRefuseItWhenAnEntryFails() throws IOException {
        rig.simulated.compatible(false);
        rig.simulated.end(1, CuFileTypes.CUFILE_FAILED(), -5);
        final Availability refusal = refusal(GdsRig.withHost(GdsRig.batches(8, 2)));
        assertTrue(refusal.reason().contains("FAILED with -5"), refusal.toString());
    }

    @ParameterizedTest
    @CsvSource({"handleRegister, 5027", "bufferRegister, 5014", "batchSubmit, 5040"})
    void shouldRefuseItWhenTheTrialCannotBeMade(final String call, final int code) throws IOException {
        rig.simulated.compatible(false);
        rig.simulated.refuse(call, code, 0);
        final Availability refusal = refusal(GdsRig.withHost(GdsRig.batches(8, 2)));
        assertTrue(refusal.reason().contains(String.valueOf(code)), refusal.toString());
        assertTrue(refusal.remedy().contains("java.io.tmpdir"), refusal.toString());
    }
}
