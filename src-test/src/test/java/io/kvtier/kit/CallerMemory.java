package io.kvtier.kit;

import io.kvtier.alloc.DeviceRegion;
import io.kvtier.alloc.HostMemory;
import io.kvtier.alloc.HostRegion;
import io.kvtier.alloc.MappedRegion;
import io.kvtier.alloc.MemoryRegion;
import io.kvtier.alloc.RegionSlice;
import io.kvtier.bindings.NativeTag;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;

/** Memory of a caller of every kind, for one value of some size, in ranges of odd places and lengths. */
public final class CallerMemory implements AutoCloseable {
    private static final int SPARE = 64;
    /** What lies between the ranges. */
    private static final byte GAP = 0x5a;

    private final DeviceBuffers gpu;
    private final int size;
    private final HostRegion host;
    private final MappedRegion mapped;
    private final DeviceRegion device;
    private final DeviceRegion second;

    /** What the ranges of a value are in. */
    public enum Kind {
        HOST,
        MAPPED,
        DEVICE,
        /** First a GPU's, then the host's and others in turn. */
        MIXED
    }

    /** For values of so many bytes; the directory is for the file that is mapped. */
    public CallerMemory(final DeviceBuffers gpu, final int size, final Path directory) {
        this.gpu = gpu;
        this.size = size;
        final int bytes = size + SPARE;
        host = HostRegion.allocate(NativeTag.TEST, bytes);
        try {
            final Path file = Files.write(Files.createTempFile(directory, "mapped", ""), new byte[bytes]);
            mapped = MappedRegion.map(file.toString(), 0, bytes, true);
        } catch (final IOException e) {
            throw new UncheckedIOException(e);
        }
        device = gpu.allocate(bytes);
        second = gpu.allocate(bytes);
    }

    /** Ranges that together have the size; one of them is empty, and one may be a single byte. */
    public List<RegionSlice> ranges(final Kind kind) {
        final int first = size / 3;
        final int third = Math.min(1, size - first);
        final int last = size - first - third;
        return switch (kind) {
            case HOST -> ranges(first, third, last, host, host, host, host);
            case MAPPED -> ranges(first, third, last, mapped, mapped, mapped, mapped);
            case DEVICE -> ranges(first, third, last, device, second, device, second);
            case MIXED -> ranges(first, third, last, device, host, mapped, device);
        };
    }

    private static List<RegionSlice> ranges(final int first, final int third, final int last,
        final MemoryRegion... in) {
        return List.of(in[0].slice(3, first), in[1].slice(0, 0), in[2].slice(first + 5, third),
            in[3].slice(first + 17, last));
    }

    /** Fills ranges with a value. */
    public void fill(final List<RegionSlice> ranges, final byte[] value) {
        long at = 0;
        for (final RegionSlice range : ranges) {
            try (Arena arena = Arena.ofConfined()) {
                final MemorySegment part = arena.allocate(Math.max(1, range.length())).asSlice(0, range.length());
                MemorySegment.copy(MemorySegment.ofArray(value), at, part, 0, range.length());
                put(part, range.region(), range.offset());
            }
            at += range.length();
        }
    }

    /** The bytes of ranges, one behind the other. */
    public byte[] content(final List<RegionSlice> ranges) {
        final byte[] all = new byte[Math.toIntExact(ranges.stream().mapToLong(RegionSlice::length).sum())];
        int at = 0;
        for (final RegionSlice range : ranges) {
            final byte[] part = bytes(range.region(), range.offset(), range.length());
            System.arraycopy(part, 0, all, at, part.length);
            at += part.length;
        }
        return all;
    }

    /** Everything is a gap from now on. */
    public void clear() {
        final byte[] gaps = new byte[size + SPARE];
        Arrays.fill(gaps, GAP);
        all().forEach(region -> fill(List.of(region.slice(0, gaps.length)), gaps));
    }

    /** How many bytes outside of these ranges, which do not overlap, are no gap any more. */
    public long spoiled(final List<RegionSlice> ranges) {
        long spoiled = 0;
        for (final MemoryRegion region : all()) {
            final byte[] bytes = bytes(region, 0, region.byteSize());
            for (final RegionSlice range : ranges) {
                if (range.region() == region) {
                    final int from = Math.toIntExact(range.offset());
                    Arrays.fill(bytes, from, from + Math.toIntExact(range.length()), GAP);
                }
            }
            for (final byte one : bytes) {
                spoiled += one == GAP ? 0 : 1;
            }
        }
        return spoiled;
    }

    private List<MemoryRegion> all() {
        return List.of(host, mapped, device, second);
    }

    private void put(final MemorySegment part, final MemoryRegion region, final long offset) {
        if (region instanceof HostMemory memory) {
            memory.segment().asSlice(offset, part.byteSize()).copyFrom(part);
        } else if (part.byteSize() > 0) {
            gpu.put(part, (DeviceRegion) region, offset);
        }
    }

    private byte[] bytes(final MemoryRegion region, final long offset, final long length) {
        if (region instanceof HostMemory memory) {
            return PatternBytes.copyOf(memory.segment().asSlice(offset, length));
        }
        if (length == 0) {
            return new byte[0];
        }
        try (Arena arena = Arena.ofConfined()) {
            final MemorySegment part = arena.allocate(length);
            gpu.get((DeviceRegion) region, offset, part);
            return PatternBytes.copyOf(part);
        }
    }

    /** The GPU's memory is freed by its owner. */
    @Override
    public void close() {
        host.close();
        mapped.close();
    }
}
