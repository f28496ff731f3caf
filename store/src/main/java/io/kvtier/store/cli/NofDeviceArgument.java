package io.kvtier.store.cli;

import io.kvtier.store.NofConfig;
import java.nio.file.Path;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/**
 * A block device as a user names it: {@code /dev/disk/by-id/nvme-x}, or with a size {@code /ssd/device:100G}. A name
 * that itself ends like a size has one written behind it.
 */
final class NofDeviceArgument implements ITypeConverter<NofConfig.Device> {
    NofDeviceArgument() {
    }

    @Override
    public NofConfig.Device convert(final String value) {
        final int colon = value.lastIndexOf(':');
        if (colon > 0) {
            try {
                return new NofConfig.Device(Path.of(value.substring(0, colon)),
                    ByteSize.parse(value.substring(colon + 1)));
            } catch (final TypeConversionException e) {
                // A name with a colon in it.
                return new NofConfig.Device(Path.of(value), 0);
            }
        }
        return new NofConfig.Device(Path.of(value), 0);
    }
}
