package io.kvtier.transport.gds;

import io.kvtier.alloc.DeviceRegion;
import io.kvtier.alloc.HostMemory;
import io.kvtier.alloc.MemoryRegion;
import io.kvtier.bindings.cuda.CudaContext;
import io.kvtier.bindings.cufile.CuFileBuffer;
import io.kvtier.bindings.cufile.CuFileDriver;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;

/**
 * Memory that is registered with cuFile, in the order of addresses. The library finds a registration only by its base,
 * so an address inside an allocation is looked up here and becomes base and offset.
 *
 * <p><b>Threading:</b> thread-safe. Changes are made one at a time and publish a new array; a look-up takes no lock and
 * makes no object. <b>Lifetime:</b> a registration lasts until it was removed as often as it was added, and until the
 * last transfer that uses it has ended.
 */
final class Registrations {
    private final HostPins pins;
    private volatile Entry[] entries = {};

    Registrations(final HostPins pins) {
        this.pins = pins;
    }

    /** One registration; the count is guarded by the monitor. */
    static final class Entry {
        private final long base;
        private final long end;
        private final CuFileBuffer buffer;
        private int users = 1;

        private Entry(final CuFileBuffer buffer) {
            this.base = buffer.address();
            this.end = base + buffer.byteSize();
            this.buffer = buffer;
        }

        CuFileBuffer buffer() {
            return buffer;
        }

        long base() {
            return base;
        }

        boolean covers(final long address, final long length) {
            return address >= base && length <= end - address;
        }
    }

    /**
     * Registers a region's whole allocation, unless it is already; the calling thread has a CUDA context.
     *
     * @param driver  an open driver.
     * @param context of any GPU; null in a simulation.
     * @param region  memory of a GPU, or of the host, which is pinned and kept from being released for as long.
     */
    synchronized void add(final CuFileDriver driver, final CudaContext context, final MemoryRegion region) {
        final long base = address(region);
        for (final Entry entry : entries) {
            if (entry.base == base) {
                if (entry.end != base + region.byteSize()) {
                    throw new IllegalArgumentException("0x" + Long.toHexString(base) + "+" + region.byteSize()
                        + " has the base of a registration of " + (entry.end - entry.base)
                        + " bytes; close that one first, or register all of it at once");
                }
                entry.users++;
                return;
            }
        }
        final CuFileBuffer buffer = register(driver, context, region);
        final List<Entry> all = new ArrayList<>(Arrays.asList(entries));
        all.add(new Entry(buffer));
        all.sort(Comparator.comparingLong(Entry::base));
        entries = all.toArray(Entry[]::new);
    }

    private CuFileBuffer register(final CuFileDriver driver, final CudaContext context, final MemoryRegion region) {
        if (region instanceof DeviceRegion device) {
            return device.memory() == null ? CuFileBuffer.register(driver, device.pointer())
                : CuFileBuffer.register(driver, device.memory());
        }
        final HostMemory host = (HostMemory) region;
        if (!host.tryRetain()) {
            throw new IllegalArgumentException("the memory is closed");
        }
        Runnable unpin = () -> { };
        try {
            unpin = pins.pin(context, host);
            final Runnable pinned = unpin;
            return CuFileBuffer.register(driver, host.segment(), () -> {
                // When it cannot be unpinned it is kept for ever.
                pinned.run();
                host.release();
            });
        } catch (final RuntimeException | Error e) {
            try {
                unpin.run();
                host.release();
            } catch (final RuntimeException kept) {
                e.addSuppressed(kept);
            }
            throw e;
        }
    }

    /** Memory of a GPU, which need not be registered; host memory is refused. */
    static DeviceRegion unregistered(final MemoryRegion region) {
        if (region instanceof DeviceRegion device) {
            return device;
        }
        throw new IllegalStateException("the host memory is no longer registered; keep its registration open until its"
            + " transfers have ended");
    }

    /** Where a region of either kind begins, as cuFile takes it. */
    static long address(final MemoryRegion region) {
        return region instanceof DeviceRegion device ? device.pointer().address()
            : ((HostMemory) region).segment().address();
    }

    /** Undoes one {@link #add}; the calling thread has a CUDA context. */
    synchronized void remove(final MemoryRegion region) {
        for (final Entry entry : entries) {
            if (entry.base == address(region)) {
                entry.users--;
                if (entry.users == 0) {
                    entries = Arrays.stream(entries).filter(one -> one != entry).toArray(Entry[]::new);
                    entry.buffer.close();
                }
                return;
            }
        }
        throw new IllegalStateException("memory at 0x" + Long.toHexString(address(region)) + " is not registered");
    }

    /** The registration that holds all of a range, the nearest base below first; null when none does. */
    Entry find(final long address, final long length) {
        final Entry[] now = entries;
        for (int i = below(now, address); i >= 0; i--) {
            if (now[i].covers(address, length)) {
                return now[i];
            }
        }
        return null;
    }

    /** How many bytes of a range lie past the registration that it begins in; 0 when it begins in none or fits one. */
    long past(final long address, final long length) {
        final Entry[] now = entries;
        long least = 0;
        for (int i = below(now, address); i >= 0; i--) {
            if (address < now[i].end) {
                final long past = address + length - now[i].end;
                if (past <= 0) {
                    return 0;
                }
                least = least == 0 ? past : Math.min(least, past);
            }
        }
        return least;
    }

    private static int below(final Entry[] sorted, final long address) {
        int low = 0;
        int high = sorted.length;
        while (low < high) {
            final int middle = low + high >>> 1;
            if (sorted[middle].base <= address) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return low - 1;
    }
}
