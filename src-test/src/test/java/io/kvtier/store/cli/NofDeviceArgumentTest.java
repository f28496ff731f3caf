package io.kvtier.store.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.kvtier.store.NofConfig;
import io.kvtier.store.StoreException;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class NofDeviceArgumentTest {
    private final NofDeviceArgument converter = new NofDeviceArgument();

    @ParameterizedTest
    @CsvSource({
        "/dev/nvme1n1, /dev/nvme1n1, 0",
        "/ssd/device:64M, /ssd/device, 67108864",
        "/ssd/device:0, /ssd/device, 0",
        "/dev/disk/by-path/pci-0000:3b:00.0-nvme-1, /dev/disk/by-path/pci-0000:3b:00.0-nvme-1, 0",
        "/dev/disk/by-path/pci-0000:3b:00.0-nvme-1:1T, /dev/disk/by-path/pci-0000:3b:00.0-nvme-1, 1099511627776",
        "device:, device:, 0"
    })
    void shouldTellAPathFromItsSize(final String written, final String path, final long bytes) {
        assertEquals(new NofConfig.Device(Path.of(path), bytes), converter.convert(written));
    }

    @Test
    void shouldRefuseMoreThanATierHolds() {
        assertThrows(StoreException.class, () -> converter.convert("/ssd/device:17T"));
    }
}
