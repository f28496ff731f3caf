package io.kvtier.store.cli;

import io.kvtier.store.DiskEviction;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** An order of eviction by the name that configurations have for it. */
final class DiskEvictionName implements ITypeConverter<DiskEviction> {
    DiskEvictionName() {
    }

    @Override
    public DiskEviction convert(final String value) {
        try {
            return DiskEviction.of(value);
        } catch (final IllegalArgumentException e) {
            throw new TypeConversionException(e.getMessage());
        }
    }
}
