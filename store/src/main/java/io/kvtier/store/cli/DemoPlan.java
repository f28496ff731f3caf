package io.kvtier.store.cli;

import io.kvtier.alloc.Units;
import io.kvtier.store.StoreConfig;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/**
 * What a demonstration does.
 *
 * @param memoryBytes capacity of the memory tier.
 * @param diskBytes   capacity of the disk tier.
 * @param groups      the values.
 * @param rounds      rounds of reading, each of which reads every value twice.
 * @param threads     virtual threads that put and get.
 * @param parent      where the disk tier's temporary directory is made; null for the system's place.
 */
record DemoPlan(long memoryBytes, long diskBytes, List<Group> groups, int rounds, int threads, Path parent) {
    /**
     * Values of one size.
     *
     * @param size  bytes of each.
     * @param count how many.
     */
    record Group(long size, int count) {
    }

    int values() {
        return groups.stream().mapToInt(Group::count).sum();
    }

    long totalBytes() {
        return groups.stream().mapToLong(group -> group.size() * group.count()).sum();
    }

    long largest() {
        return groups.stream().mapToLong(Group::size).max().orElse(0);
    }

    /** What the values take in a tier, which allocates in whole units. */
    long allocatedBytes() {
        return groups.stream().mapToLong(group -> roundedUp(group.size()) * group.count()).sum();
    }

    static long roundedUp(final long size) {
        return Units.up(size, StoreConfig.UNIT_BYTES);
    }

    /** Reads {@code SIZExCOUNT}. */
    static final class GroupConverter implements ITypeConverter<Group> {
        private static final Pattern WRITTEN = Pattern.compile("([^x]+)x(\\d{1,7})");

        GroupConverter() {
        }

        @Override
        public Group convert(final String value) {
            final Matcher matcher = WRITTEN.matcher(value);
            if (!matcher.matches()) {
                throw new TypeConversionException("'" + value
                    + "' is not SIZExCOUNT, such as 64Kx1000 for a thousand values of 64 KiB");
            }
            return new Group(ByteSize.parse(matcher.group(1)), Integer.parseInt(matcher.group(2)));
        }
    }
}
