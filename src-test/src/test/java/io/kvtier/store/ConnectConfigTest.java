package io.kvtier.store;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.transport.HostPort;
import io.kvtier.transport.SharedSecret;
import java.nio.file.Path;
import java.security.NoSuchAlgorithmException;
import java.util.List;
import java.util.function.Function;
import java.util.stream.Stream;
import javax.net.ssl.SSLContext;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Settings of a connected store: each is what it was given for. */
class ConnectConfigTest {
    private static final Path DISK = Path.of("/disk");
    private static final Path DEVICE = Path.of("/dev/x");

    private static ConnectConfig.Builder plain() {
        return ConnectConfig.builder("host", 7);
    }

    @Test
    void shouldHaveEachSettingWhereItBelongs() throws NoSuchAlgorithmException {
        final SharedSecret secret = SharedSecret.of("0123456789abcdef");
        final SSLContext tls = SSLContext.getDefault();
        final ConnectConfig config = plain().secret(secret).tls(tls).open(true).name("me").hostId("here")
            .tenant("blue").listen("10.0.0.1", "outside").memoryBytes(1 << 20).shm(false).segmentName("part")
            .stagingBytes(2 << 20).disk(DISK, 3 << 20).diskWatermarks(0.7, 0.6)
            .diskBackend(DiskBackend.FILE_PER_KEY).diskEviction(DiskEviction.FIFO).promoteOnHit(false).directIo(false)
            .ioThreads(5).verify(false).timeouts(11, 12).putTimeoutMs(13).closeTimeoutMs(14).nofDevice(DEVICE, 4096)
            .nofProbe(15, 16).gds(GdsConfig.NONE.withRoom(DISK, 5 << 20)).build();

        for (final ConnectConfig one : List.of(config, config.toBuilder().build())) {
            assertEquals(new HostPort("host", 7), one.master());
            assertSame(secret, one.security().secret());
            assertSame(tls, one.security().tls());
            assertTrue(one.security().open());
            assertEquals(new ConnectConfig.Identity("me", "here", "blue"), one.identity());
            assertEquals(new ConnectConfig.Listening("10.0.0.1", "outside"), one.listening());
            assertEquals(new ConnectConfig.Lending(1 << 20, false, "part", 2 << 20), one.lending());
            assertEquals(new DiskConfig(DISK, 3 << 20, 0.7, 0.6, false,
                new DiskConfig.Files(false, 5, DiskBackend.FILE_PER_KEY, DiskEviction.FIFO)), one.disk());
            assertEquals(new GdsConfig(DISK, 5 << 20, GdsConfig.Mover.GDS, 0.95, 0.85, true, true), one.gds());
            assertFalse(one.isGdsLeftToEnvironment());
            assertEquals(new ConnectConfig.Timeouts(11, 12, 13, 14), one.timeouts());
            assertEquals(new NofConfig(List.of(new NofConfig.Device(DEVICE, 4096)), 15, 16), one.nof());
            assertEquals(false, one.verify());
        }
    }

    @Test
    void shouldLendNothingAndListenOnThisHostWhenNothingIsSaid() {
        final ConnectConfig config = plain().build();

        assertEquals(new ConnectConfig.Security(null, null, false), config.security());
        assertEquals(new ConnectConfig.Listening("127.0.0.1", null), config.listening());
        assertEquals(new ConnectConfig.Lending(0, true, config.identity().name(), 64 << 20), config.lending());
        assertEquals("default", config.identity().tenant());
        assertEquals(0, config.disk().bytes());
        assertNull(config.disk().directory());
        assertEquals(0, config.gds().bytes());
        assertTrue(config.isGdsLeftToEnvironment());
        assertTrue(config.toBuilder().build().isGdsLeftToEnvironment());
        assertFalse(plain().gds(GdsConfig.NONE).build().isGdsLeftToEnvironment());
        assertEquals(new ConnectConfig.Timeouts(5_000, 20_000, 10_000, 30_000), config.timeouts());
        assertEquals(NofConfig.NONE, config.nof());
        assertEquals("name", plain().name("name").build().lending().segmentName());
    }

    private static Arguments wrong(final String message,
        final Function<ConnectConfig.Builder, ConnectConfig.Builder> by) {
        return Arguments.of(message, by);
    }

    private static Stream<Arguments> wrongSettings() {
        return Stream.of(
            wrong("memoryBytes is 1; allowed is 0 for none, or one page to 16 TiB", b -> b.memoryBytes(1)),
            wrong("masterPort is 0; allowed is 1 to 65,535", b -> ConnectConfig.builder("h", 0)),
            wrong("masterPort is 65536; allowed is 1 to 65,535", b -> ConnectConfig.builder("h", 65_536)),
            wrong("masterHost is ''; allowed is 1 to 255 characters", b -> ConnectConfig.builder("", 1)),
            wrong("bindHost is not set; allowed is 1 to 255 characters", b -> b.listen(null, null)),
            wrong("advertisedHost is ''; allowed is 1 to 255 characters", b -> b.listen("h", "")),
            wrong("name is ''; allowed is 1 to 64 characters", b -> b.name("")),
            wrong("hostId is not set; allowed is 1 to 64 characters", b -> b.hostId(null)),
            wrong("segmentName is ''; allowed is 1 to 1024 characters", b -> b.segmentName("")),
            wrong("stagingBytes is 0; allowed is one page to 16 TiB", b -> b.stagingBytes(0)),
            wrong("diskBytes is 1048576 but directory is not set; set it, or diskBytes to 0",
                b -> b.disk(null, 1 << 20)),
            wrong("diskBytes is 4095; allowed is 0 for no disk, or one page to 16 TiB", b -> b.disk(DISK, 4095)),
            wrong("diskHighWatermark is 1.5; allowed is more than 0 and at most 1", b -> b.diskWatermarks(1.5, 0.5)),
            wrong("diskLowWatermark is 0.6; allowed is more than 0 and at most diskHighWatermark (0.5)",
                b -> b.diskWatermarks(0.5, 0.6)),
            wrong("ioThreads is 257; allowed is 1 to 256", b -> b.ioThreads(257)),
            wrong("rpcTimeoutMs is 0; allowed is 1 ms to 24 days", b -> b.timeouts(0, 1)),
            wrong("transferTimeoutMs is 0; allowed is 1 ms to 24 days", b -> b.timeouts(1, 0)),
            wrong("putTimeoutMs is -1; allowed is 0 for no waiting, up to 24 days", b -> b.putTimeoutMs(-1)),
            wrong("closeTimeoutMs is -1; allowed is 0 for no waiting, up to 24 days", b -> b.closeTimeoutMs(-1)),
            wrong("nofProbeMs is 9; allowed is 10 ms to 24 days", b -> b.nofProbe(9, 1)),
            wrong("nofProbeTimeoutMs is 0; allowed is 1 ms to 24 days", b -> b.nofProbe(10, 0)));
    }

    @ParameterizedTest
    @MethodSource("wrongSettings")
    void shouldNameTheSettingTheValueAndWhatIsAllowed(final String message,
        final Function<ConnectConfig.Builder, ConnectConfig.Builder> by) {
        final StoreException e = assertThrows(StoreException.class, () -> by.apply(plain()).build());

        assertEquals(ErrorCode.INVALID_PARAMS, e.code());
        assertEquals("INVALID_PARAMS: setting " + message, e.getMessage());
    }
}
