package io.kvtier.store.cli;

import io.kvtier.store.DiskBackend;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** A backend of the disk by the name that configurations have for it. */
final class DiskBackendName implements ITypeConverter<DiskBackend> {
    DiskBackendName() {
    }

    @Override
    public DiskBackend convert(final String value) {
        try {
            return DiskBackend.of(value);
        } catch (final IllegalArgumentException e) {
            throw new TypeConversionException(e.getMessage());
        }
    }
}
