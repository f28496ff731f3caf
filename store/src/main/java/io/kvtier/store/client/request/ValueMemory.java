package io.kvtier.store.client.request;

import io.kvtier.alloc.DeviceRegion;
import io.kvtier.alloc.HostMemory;
import io.kvtier.alloc.RegionSlice;
import io.kvtier.store.client.transfer.ScatterGather;
import io.kvtier.store.client.transfer.Staging;
import io.kvtier.transport.Closings;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

/**
 * The memory that a caller gave for one value: ranges of regions of any kind, in order.
 *
 * <p>What works on memory of the host is given the {@link #source} of a put or the {@link #target} of a get. For memory
 * of a GPU those have staging memory in its place: a put copies it there once, when it is first asked for; a get copies
 * what was read, and found to be right, to the GPU at the end ({@link #deliver}). Ranges of the host are used as they
 * are. Who moves bytes between regions and a file takes the {@link #slices}, where they are {@link #isStraight}.
 *
 * <p><b>Threading:</b> one thread. <b>Lifetime:</b> that of a call: it keeps the regions open from {@link #enter} until
 * it is closed. <b>Blocking:</b> on GPUs.
 */
public final class ValueMemory implements AutoCloseable {
    private final List<RegionSlice> slices;
    private final GpuCopies gpus;
    private final long byteSize;
    private final boolean host;
    private int retained;
    /** What stands in for the memory of GPUs; null for none. */
    private Staging.Piece room;
    /** The first bytes as memory of the host; null until somebody asks. */
    private List<MemorySegment> view;
    private long viewed;

    private ValueMemory(final List<RegionSlice> slices, final GpuCopies gpus) {
        this.slices = slices;
        this.gpus = gpus;
        long sum = 0;
        boolean touchable = true;
        for (final RegionSlice slice : slices) {
            sum += slice.length();
            touchable &= slice.region() instanceof HostMemory;
        }
        this.byteSize = sum;
        this.host = touchable;
    }

    /**
     * A caller's regions, kept open from here on.
     *
     * @param gpus copy what is on a GPU.
     * @throws IllegalStateException    when one of them is closed.
     * @throws IllegalArgumentException when the driver knows no such memory of a GPU.
     */
    static ValueMemory enter(final List<RegionSlice> slices, final GpuCopies gpus) {
        final ValueMemory memory = new ValueMemory(slices, gpus);
        try {
            memory.retain();
            return memory;
        } catch (final RuntimeException | Error e) {
            memory.close();
            throw e;
        }
    }

    private void retain() {
        for (final RegionSlice slice : slices) {
            if (!slice.region().tryRetain()) {
                throw new IllegalStateException("Already closed");
            }
            retained++;
            if (slice.region() instanceof DeviceRegion region && slice.length() > 0) {
                gpus.require(region, slice.offset(), slice.length());
            }
        }
    }

    long byteSize() {
        return byteSize;
    }

    /**
     * The first bytes of the memory as it was given; no slice is empty.
     *
     * @param length bytes, at most what the memory has.
     */
    public List<RegionSlice> slices(final long length) {
        final List<RegionSlice> some = new ArrayList<>(slices.size());
        long left = length;
        for (int i = 0; i < slices.size() && left > 0; i++) {
            final RegionSlice slice = slices.get(i);
            final long count = Math.min(left, slice.length());
            if (count > 0) {
                some.add(count == slice.length() ? slice : slice.region().slice(slice.offset(), count));
            }
            left -= count;
        }
        return some;
    }

    /** Whether the processor can touch all of it. */
    public boolean isHost() {
        return host;
    }

    /** Whether transfers can use all of it as it is: it does not move, and any thread may touch it. */
    public boolean isStraight() {
        for (final RegionSlice slice : slices) {
            if (slice.region() instanceof HostMemory memory && !ScatterGather.isShared(memory.segment())) {
                return false;
            }
        }
        return true;
    }

    /**
     * Whether no block has bytes of a GPU beside bytes of the host when all of it is laid out from the beginning of a
     * block on, nor the host's alone in a part of one.
     *
     * @param blockBytes bytes of a block.
     */
    public boolean isApart(final long blockBytes) {
        boolean gpus = false;
        boolean hosts = false;
        boolean whole = true;
        for (int i = 0; i < slices.size(); i++) {
            final RegionSlice slice = slices.get(i);
            final boolean touchable = slice.region() instanceof HostMemory;
            if (slice.length() > 0) {
                gpus |= !touchable;
                hosts |= touchable;
                whole &= slice.length() % blockBytes == 0 || !touchable && isLast(i);
            }
        }
        return whole || !(gpus && hosts);
    }

    private boolean isLast(final int index) {
        return slices.subList(index + 1, slices.size()).stream().allMatch(slice -> slice.length() == 0);
    }

    /**
     * The bytes of a put, in memory of the host. What is on a GPU is copied when this is first called.
     *
     * @throws io.kvtier.store.StoreException TRANSFER_FAIL when it could not be copied.
     */
    List<MemorySegment> source() {
        if (view == null) {
            final List<MemorySegment> pieces = target(byteSize);
            if (room != null) {
                boolean there = false;
                try {
                    gpus.toHost(onGpus(byteSize), room);
                    there = true;
                } finally {
                    if (!there) {
                        unstage();
                    }
                }
            }
            return pieces;
        }
        return view;
    }

    /**
     * Room in memory of the host for the first bytes of what a get reads.
     *
     * @param length bytes, at most what the memory has.
     * @throws io.kvtier.store.StoreException TRANSFER_FAIL when a GPU cannot be opened.
     */
    List<MemorySegment> target(final long length) {
        if (view == null || viewed < length) {
            unstage();
            room = stage(length);
            view = pieces(length);
            viewed = host ? byteSize : length;
        }
        return view;
    }

    private Staging.Piece stage(final long length) {
        final List<RegionSlice> devices = host ? List.of() : onGpus(length);
        return devices.isEmpty() ? null : gpus.take((DeviceRegion) devices.getFirst().region(),
            devices.stream().mapToLong(RegionSlice::length).sum());
    }

    /** What of the first bytes is on GPUs; nothing empty. */
    private List<RegionSlice> onGpus(final long length) {
        final List<RegionSlice> found = new ArrayList<>(slices.size());
        long left = length;
        for (final RegionSlice slice : slices) {
            final long count = Math.min(slice.length(), left);
            if (count > 0 && slice.region() instanceof DeviceRegion region) {
                found.add(region.slice(slice.offset(), count));
            }
            left -= count;
        }
        return found;
    }

    /** Ranges on GPUs that follow each other are one piece, as their bytes are one run in the staging memory. */
    private List<MemorySegment> pieces(final long length) {
        final List<MemorySegment> found = new ArrayList<>(slices.size());
        long left = length;
        long staged = 0;
        long named = 0;
        for (final RegionSlice slice : slices) {
            if (slice.region() instanceof HostMemory) {
                if (staged > named) {
                    found.add(room.slice().segment().asSlice(named, staged - named));
                    named = staged;
                }
                found.add(slice.segment());
            } else {
                staged += Math.min(slice.length(), left);
            }
            left -= Math.min(slice.length(), left);
        }
        if (staged > named) {
            found.add(room.slice().segment().asSlice(named, staged - named));
        }
        return found;
    }

    /**
     * Copies what was read to the GPUs that it was for, and lets go of the staging memory.
     *
     * @param length bytes that are in the {@link #target}.
     * @throws InternalError                  when a page of memory that is mapped from a file was gone.
     * @throws io.kvtier.store.StoreException TRANSFER_FAIL when it could not be copied.
     */
    void deliver(final long length) {
        raiseFault();
        try {
            if (room != null) {
                gpus.toGpus(room, onGpus(length));
            }
        } finally {
            unstage();
        }
    }

    /**
     * Makes sure that it is known if a page of memory that is mapped from a file was gone when it was read or written.
     *
     * @throws InternalError when it was.
     */
    void raiseFault() {
        for (final RegionSlice slice : slices) {
            if (slice.region() instanceof HostMemory memory) {
                memory.raiseFault();
            }
        }
    }

    /** Lets go of the staging memory, when nothing uses it any more. */
    public void unstage() {
        view = null;
        if (room != null) {
            final Staging.Piece piece = room;
            room = null;
            piece.close();
        }
    }

    /** Lets go of the regions, too. */
    @Override
    public void close() {
        // Each of them, whatever another one throws.
        try (Closings steps = new Closings()) {
            slices.subList(0, retained).forEach(slice -> steps.add(slice.region()::release));
            retained = 0;
            steps.add(this::unstage);
        }
    }
}
