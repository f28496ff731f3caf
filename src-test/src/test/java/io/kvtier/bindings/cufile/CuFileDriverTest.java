package io.kvtier.bindings.cufile;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.bindings.cuda.DevicePointer;
import io.kvtier.bindings.cufile.gen.CuFileTypes;
import io.kvtier.bindings.posix.PosixFile;
import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.SimulatedCuFile;
import java.lang.foreign.Arena;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

@ExtendWith(LeakCheck.class)
class CuFileDriverTest {
    private static final CuFileConfig COUNTING = new CuFileConfig(CuFileConfig.DEFAULT.posixPool(),
        CuFileConfig.Compatibility.AS_CONFIGURED, 3);

    private final SimulatedCuFile simulated = new SimulatedCuFile();
    private final CuFile cuFile = simulated.cuFile();

    private DevicePointer memory(final Arena arena) {
        return simulated.memory().allocated(new DevicePointer(arena.allocate(4096).address(), 4096));
    }

    @Test
    void shouldSizeThePoolBeforeAnythingElseIsAsked() {
        cuFile.open(CuFileConfig.DEFAULT).close();
        assertEquals(List.of("setPosixPool", "driverOpen", "posixPool"), simulated.calls().subList(0, 3));
    }

    @Test
    void shouldOpenOnceAndCloseWithTheLastShare() {
        final CuFileDriver first = cuFile.open(CuFileConfig.DEFAULT);
        final CuFileDriver second = cuFile.open(CuFileConfig.DEFAULT);
        assertEquals(1, simulated.opens());
        first.close();
        first.close();
        assertEquals(1, simulated.opens());
        assertThrows(IllegalStateException.class, first::statistics);
        assertEquals(128, second.properties().maxBatchEntries());
        second.close();
        assertEquals(0, simulated.opens());
    }

    @Test
    void shouldOpenAgainWithOtherSettingsOnlyAfterItWasClosed() {
        final CuFileConfig other = new CuFileConfig(List.of(), CuFileConfig.Compatibility.ALLOWED, 0);
        try (CuFileDriver driver = cuFile.open(CuFileConfig.DEFAULT)) {
            assertEquals(CuFileConfig.DEFAULT.posixPool(), driver.posixPool());
            assertThrows(IllegalStateException.class, () -> cuFile.open(other));
        }
        try (CuFileDriver driver = cuFile.open(other)) {
            assertTrue(driver.parameter(CuFileFlag.ALLOW_COMPATIBILITY));
            assertEquals(128, driver.parameter(CuFileSize.BATCH_ENTRIES));
        }
    }

    @Test
    void shouldStayOpenUntilEverythingMadeWithItIsClosed() {
        final CuFileDriver driver = cuFile.open(CuFileConfig.DEFAULT);
        final CuFileBuffer buffer;
        try (Arena arena = Arena.ofConfined()) {
            buffer = CuFileBuffer.register(driver, memory(arena));
        }
        driver.close();
        assertEquals(1, simulated.opens());
        buffer.close();
        assertEquals(0, simulated.opens());
    }

    @Test
    void shouldTakeTheSettingsOfWhoeverOpenedItFirst() {
        simulated.driverOpen();
        try (CuFileDriver driver = cuFile.open(CuFileConfig.DEFAULT)) {
            assertEquals(64, driver.posixPool().get(1).count());
            assertEquals(64, driver.batchEntries(1 << 20));
            assertEquals(2, simulated.opens());
        }
        assertEquals(1, simulated.opens());
    }

    @Test
    void shouldLeaveNothingBehindWhenAStepOfOpeningFails() {
        for (final String step : List.of("setPosixPool", "setStatisticsLevel", "driverOpen", "properties",
            "posixPool")) {
            simulated.refuse(step, CuFileTypes.CU_FILE_INVALID_VALUE(), 0);
            final CuFileException e =
                assertThrows(CuFileException.class, () -> cuFile.open(COUNTING), step);
            assertEquals("CU_FILE_INVALID_VALUE", e.name());
            assertEquals(0, simulated.opens(), step);
        }
        cuFile.open(CuFileConfig.DEFAULT).close();
    }

    @Test
    void shouldBoundABatchByDepthAndByThePool() {
        try (CuFileDriver driver = cuFile.open(CuFileConfig.DEFAULT)) {
            assertEquals(128, driver.batchEntries(4096));
            assertEquals(128, driver.batchEntries(64 << 10));
            assertEquals(64, driver.batchEntries(4 << 20));
            assertEquals(64, driver.batchEntries(16 << 20));
            assertEquals(32, driver.batchEntries(32 << 20));
        }
    }

    @Test
    void shouldTellTheModeByWhatTheDriverCounted() {
        for (final boolean compatible : List.of(true, false)) {
            simulated.compatible(compatible);
            try (Arena arena = Arena.ofConfined(); CuFileDriver driver = cuFile.open(COUNTING);
                PosixFile file = PosixFile.inMemory("mode"); CuFileHandle handle = CuFileHandle.register(driver, file);
                CuFileBuffer buffer = CuFileBuffer.register(driver, memory(arena))) {
                final CuFileMode mode = driver.probe(handle, buffer, 4096, 0);
                assertEquals(compatible ? CuFileMode.COMPATIBILITY : CuFileMode.NVIDIA_FS, mode);
                assertEquals(!compatible, mode.direct());
                assertEquals(!compatible, driver.properties().directPossible());
                assertTrue(driver.properties().compatibilityAllowed());
            }
        }
    }

    @Test
    void shouldTellTheModeByWhatIsThereWhenNothingIsCounted() {
        for (final boolean compatible : List.of(true, false)) {
            simulated.compatible(compatible);
            try (Arena arena = Arena.ofConfined(); CuFileDriver driver = cuFile.open(CuFileConfig.DEFAULT);
                PosixFile file = PosixFile.inMemory("mode"); CuFileHandle handle = CuFileHandle.register(driver, file);
                CuFileBuffer buffer = CuFileBuffer.register(driver, memory(arena))) {
                assertEquals(compatible ? CuFileMode.COMPATIBILITY : CuFileMode.UNKNOWN,
                    driver.probe(handle, buffer, 4096, 0));
            }
        }
    }

    @Test
    void shouldNotGuessTheModeWhenNothingWasCounted() {
        final CuFileStatistics none = new CuFileStatistics(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
        final CuFileProperties direct = new CuFileProperties(2, 25, 0, 0, 0, 0, 0, 128, 5);
        assertEquals(CuFileMode.UNKNOWN, CuFileMode.between(none, none, direct));
        final CuFileProperties absent = new CuFileProperties(0, 0, 0, 0, 0, 0, 0, 128, 5);
        assertEquals(CuFileMode.COMPATIBILITY, CuFileMode.between(none, none, absent));
        final CuFileStatistics peer = new CuFileStatistics(0, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0);
        assertEquals(CuFileMode.PCI_P2PDMA, CuFileMode.between(none, peer, direct));
    }

    @Test
    void shouldSetTextsBeforeItOpens() {
        final CuFileConfig config = CuFileConfig.DEFAULT.with(CuFileText.LOG_FOLDER, "/var/log/kvtier")
            .with(CuFileText.LOG_LEVEL, "INFO").with(CuFileText.LOG_LEVEL, "WARN");
        assertEquals(CuFileConfig.DEFAULT.posixPool(), config.posixPool());
        try (CuFileDriver driver = cuFile.open(config)) {
            assertEquals("/var/log/kvtier", driver.parameter(CuFileText.LOG_FOLDER));
            assertEquals("WARN", driver.parameter(CuFileText.LOG_LEVEL));
            assertThrows(IllegalStateException.class, () -> cuFile.open(CuFileConfig.DEFAULT));
            simulated.refuse("textParameter", CuFileTypes.CU_FILE_INVALID_VALUE(), 0);
            final CuFileException e = assertThrows(CuFileException.class, () -> driver.parameter(CuFileText.LOG_FILE));
            assertTrue(e.getMessage().contains("LOG_FILE"), e.getMessage());
        }
        simulated.refuse("setTextParameter", CuFileTypes.CU_FILE_INVALID_VALUE(), 0);
        final CuFileException e = assertThrows(CuFileException.class, () -> cuFile.open(config));
        assertTrue(e.getMessage().contains("cuFileSetParameterString(LOG_"), e.getMessage());
        assertEquals(0, simulated.opens());
        assertThrows(IllegalArgumentException.class, () -> config.with(CuFileText.LOG_FILE, ""));
        assertThrows(IllegalArgumentException.class, () -> config.with(CuFileText.LOG_FILE, "a\0b"));
    }

    @Test
    void shouldRefuseAConfigurationThatMakesNoSense() {
        assertThrows(IllegalArgumentException.class, () -> new PoolSlabs(0, 1));
        assertThrows(IllegalArgumentException.class, () -> new PoolSlabs(4, 0));
        assertThrows(IllegalArgumentException.class, () -> new CuFileConfig(
            List.of(new PoolSlabs(64, 1), new PoolSlabs(4, 1)), CuFileConfig.Compatibility.ALLOWED, 0));
        assertThrows(IllegalArgumentException.class, () -> new CuFileConfig(List.of(),
            CuFileConfig.Compatibility.ALLOWED, 4));
        assertFalse(CuFileMode.ABSENT.direct());
    }
}
