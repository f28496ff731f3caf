package io.kvtier.store.client.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.alloc.HostRegion;
import io.kvtier.bindings.NativeTag;
import io.kvtier.bindings.uring.Uring;
import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.LogLines;
import io.kvtier.kit.NotExercised;
import io.kvtier.kit.PatternBytes;
import io.kvtier.store.ConnectConfig;
import io.kvtier.store.SharedDiskConfig;
import io.kvtier.store.StoreConfig;
import io.kvtier.store.config.Environment;
import io.kvtier.transport.Capability;
import io.kvtier.transport.Segment;
import io.kvtier.transport.TransferEngine;
import io.kvtier.transport.TransferException;
import io.kvtier.transport.TransportKind;
import io.kvtier.transport.TransportStats;
import io.kvtier.transport.file.FileOpener;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What {@code MC_TENT_CONF} says is what a store's engines are. */
@ExtendWith(LeakCheck.class)
class EnginesTest {
    private static final ConnectConfig PLAIN = ConnectConfig.builder("h", 1).build();
    private static final StoreConfig EMBEDDED = StoreConfig.builder().closeTimeoutMs(1000).build();

    @TempDir
    private Path directory;

    /** With a variable that is not set when it is null. Quotes may be single ones. */
    private static StoreHooks hooks(final String variable) {
        return new StoreHooks(() -> 0, FileOpener.POSIX, Environment.of(variable == null ? Map.of()
            : Map.of("MC_TENT_CONF", variable.replace('\'', '"'))));
    }

    private static Set<TransportKind> kinds(final TransferEngine engine) {
        return engine.capabilities().stream().map(Capability::kind).collect(Collectors.toSet());
    }

    private static Set<TransportKind> kinds(final String words) {
        return Arrays.stream(words.split(" ")).map(TransportKind::of).collect(Collectors.toSet());
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "                                                   | memory posix              | shm tcp",
        "{}                                                 | memory posix io_uring     | shm tcp",
        "{'transports': {'io_uring': {'enable': false}}}    | memory posix              | shm tcp",
        "{'transports': {'gds': {'enable': true}}}          | memory posix io_uring gds | shm tcp",
        "{'transports': {'gds/enable': true, 'io_uring/enable': false}} | memory posix gds | shm tcp",
        "{'transports': {'shm': {'enable': false}}}         | memory posix io_uring     | tcp",
        "{'transports': {'tcp': {'enable': false}}}         | memory posix io_uring     | shm"})
    void shouldHaveTheTransportsThatTheVariableNames(final String variable, final String files, final String memory) {
        final Engines connected = Engines.connected(hooks(variable), PLAIN);
        try (TransferEngine engine = connected.files(false, 1)) {
            assertEquals(kinds(files), kinds(engine));
        }
        try (TransferEngine engine = connected.memory()) {
            assertEquals(kinds(memory), kinds(engine));
        }
        assertEquals(memory.contains("shm"), connected.shared() != null);
        assertEquals(memory.contains("tcp"), connected.overTcp());
        try (TransferEngine engine = Engines.embedded(hooks(variable), EMBEDDED).files(false, 1)) {
            assertEquals(kinds(files), kinds(engine));
        }
    }

    /** Rings where nothing forbids them: batches of reads overlap there; and calls, where rings cannot be had. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "                                                   | io_uring posix",
        "{}                                                 | io_uring posix",
        "{'transports': {'io_uring': {'enable': false}}}    | posix",
        "{'transports': {'gds': {'enable': true}}}          | io_uring posix"})
    void shouldReadSharedFilesByRingsUnlessTheVariableSaysNo(final String variable, final String files) {
        try (TransferEngine engine = Engines.connected(hooks(variable), PLAIN).sharedFiles(FileOpener.POSIX)) {
            assertEquals(kinds(files), kinds(engine));
        }
    }

    @Test
    void shouldTakeTheSharedDiskFromTheSettingsOrElseFromTheEnvironment() {
        final StoreHooks named = new StoreHooks(StoreHooks.SYSTEM.clockMs(), FileOpener.POSIX, Environment.of(Map.of(
            "MOONCAKE_DISTRIBUTED_PAGE_MODE", "1", "MOONCAKE_DISTRIBUTED_ROOT_DIR", "/env")));
        assertEquals(SharedDiskConfig.NONE.in("/env"), Engines.connected(named, PLAIN).sharedDisk());
        final ConnectConfig own = PLAIN.toBuilder().sharedDisk(SharedDiskConfig.NONE.in("/own")).build();
        assertEquals("/own", Engines.connected(named, own).sharedDisk().layout().rootDir());
        final ConnectConfig none = PLAIN.toBuilder().sharedDisk(SharedDiskConfig.NONE).build();
        assertEquals(SharedDiskConfig.NONE, Engines.connected(named, none).sharedDisk());
        assertEquals(SharedDiskConfig.NONE, Engines.embedded(named, EMBEDDED).sharedDisk());
        final StoreHooks wrong = new StoreHooks(StoreHooks.SYSTEM.clockMs(), FileOpener.POSIX, Environment.of(Map.of(
            "MOONCAKE_DISTRIBUTED_PAGE_MODE", "1", "MOONCAKE_DISTRIBUTED_PAGE_SIZE", "5")));
        assertTrue(EngineSettings.refused(() -> Engines.connected(wrong, PLAIN))
            .contains("MOONCAKE_DISTRIBUTED_PAGE_SIZE is '5'"));
    }

    @Test
    void shouldLetAStoreThatIsOpenedWithoutSharedMemoryStayWithoutIt() {
        final ConnectConfig without = ConnectConfig.builder("h", 1).shm(false).build();
        try (LogLines log = new LogLines(Engines.class)) {
            assertNull(Engines.connected(hooks("{}"), without).shared());
            assertEquals(0, log.with("has no effect").size());
            assertNull(Engines.connected(hooks("{'transports': {'shm': {'enable': true}}}"), without).shared());
            assertEquals(1, log.with("'transports/shm/enable' is true and has no effect").size());
        }
        assertTrue(EngineSettings.refused(
            () -> Engines.connected(hooks("{'transports': {'tcp': {'enable': false}}}"), without))
            .contains("'transports/tcp/enable' is false"));
    }

    /** How often it tried is in the message of the last failure. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "                                              | 2",
        "{}                                            | 2",
        "{'transports': {'tcp': {'max_retry_count': 0}}} | 1",
        "{'transports': {'tcp': {'max_retry_count': 4, 'retry_base_delay_ms': 0}}} | 5"})
    void shouldTryAgainAsOftenAsTheVariableSays(final String variable, final int tries) throws IOException {
        final int nobody;
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            nobody = socket.getLocalPort();
        }
        try (TransferEngine engine = Engines.connected(hooks(variable), PLAIN).memory()) {
            final String message = assertThrows(TransferException.class,
                () -> engine.openSegment("tcp://127.0.0.1:" + nobody + "/x")).getMessage();
            assertTrue(message.contains("tried " + tries + " times"), message);
        }
    }

    @Test
    void shouldMoveFilesByTheTransportThatAPolicyNames() throws IOException {
        NotExercised.require("io_uring", Uring.availability().available(), Uring.availability().reason());
        final byte[] content = PatternBytes.of(1, 50_000);
        final Path file = Files.write(directory.resolve("f"), content);
        try (HostRegion memory = HostRegion.allocate(NativeTag.TEST, content.length);
             TransferEngine engine = Engines.embedded(hooks(
                 "{'policy': [{'segment_type': 'file', 'max_size': 1000, 'transports': ['posix']}]}"), EMBEDDED)
                 .files(false, 1)) {
            final Segment segment = engine.openSegment(file.toUri().toString());
            engine.submit(engine.newTransfer().read(memory, 0, 1000, segment, 0)
                .read(memory, 1000, content.length - 1000, segment, 1000));
            segment.close();

            assertEquals(Map.of(TransportKind.MEMORY, 0L, TransportKind.POSIX, 1000L, TransportKind.IO_URING, 49_000L),
                engine.stats().stream().collect(Collectors.toMap(TransportStats::kind, TransportStats::readBytes)));
        }
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "{'max_failover_attempts': 'many'}                  | 'max_failover_attempts' is many; it must be a whole",
        "{'transports': {'tcp': {'max_retry_count': -1}}}   | 'transports/tcp/max_retry_count' is -1; it must be",
        "{'transports': {'gds': {'enable': 'yes'}}}         | 'transports/gds/enable' is yes; it must be true or false",
        "{'transports': {'shm': {'cxl_mount_path': 'shm'}}} | 'transports/shm/cxl_mount_path' is shm; it must be the",
        "{'transports': {'io_uring': {'enable': 0}}}        | 'transports/io_uring/enable' is 0; it must be true or",
        "/nowhere/tent.json                                 | /nowhere/tent.json: that file cannot be read",
        "{                                                  | this is not JSON"})
    void shouldSayWhatIsWrongBeforeAnythingIsOpened(final String variable, final String problem) {
        for (final String message : new String[] {
            EngineSettings.refused(() -> Engines.connected(hooks(variable), PLAIN)),
            EngineSettings.refused(() -> Engines.embedded(hooks(variable), EMBEDDED))}) {
            assertTrue(message.startsWith("INVALID_PARAMS: MC_TENT_CONF"), message);
            assertTrue(message.contains(problem), message);
        }
    }

    @Test
    void shouldSayWhenSharedMemoryCannotBeMadeWhereItIsWanted() {
        final Path missing = directory.resolve("missing");
        final Engines engines = Engines.connected(hooks("{'transports': {'shm': {'cxl_mount_path': '" + missing
            + "'}}}"), PLAIN);

        final String message = EngineSettings.refused(engines::memory);

        assertTrue(message.contains("'transports/shm/cxl_mount_path' is " + missing + ": memory cannot be shared in"),
            message);
    }

    @Test
    void shouldRefuseAPolicyThatLeavesNoWayForWhatAStoreMoves() {
        final Engines engines = Engines.embedded(hooks(
            "{'policy': [{'name': 'direct', 'segment_type': 'file', 'transports': ['gds']}]}"), EMBEDDED);

        final String message = EngineSettings.refused(() -> engines.files(false, 1));

        assertTrue(message.contains("policy 'direct' gives files to [gds]")
            && message.endsWith("add posix behind them"), message);
    }

    @Test
    void shouldSayWhyGdsCannotBeUsedThatWasAskedFor() {
        try (LogLines log = new LogLines(Engines.class);
             TransferEngine engine = Engines.embedded(hooks("{'transports': {'gds': {'enable': true}}}"), EMBEDDED)
                 .files(false, 1)) {
            // With a GPU it is there, and has nothing to do without host_memory.
            final String why =
                engine.hasTransport(TransportKind.GDS) ? "moves nothing" : "GPUDirect Storage cannot be used";
            assertEquals(1, log.with("'transports/gds/enable' is true and " + why).size());
        }
    }

    @Test
    void shouldLeaveNoRingBehindWhenAFurtherTransportCannotBeMade() {
        NotExercised.require("io_uring", Uring.availability().available(), Uring.availability().reason());
        final int noThreads = 0;

        assertThrows(IllegalArgumentException.class,
            () -> Engines.embedded(hooks("{}"), EMBEDDED).files(false, noThreads));

        assertEquals(0, Thread.getAllStackTraces().keySet().stream()
            .filter(thread -> thread.getName().startsWith("kvtier-uring")).count());
    }
}
