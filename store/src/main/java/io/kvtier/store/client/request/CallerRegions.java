package io.kvtier.store.client.request;

import io.kvtier.alloc.MemoryRegion;
import io.kvtier.alloc.RegionSlice;
import io.kvtier.store.BatchResult;
import io.kvtier.store.RegisteredRegion;
import io.kvtier.store.client.call.BatchCalls;
import io.kvtier.store.client.engine.Engines;
import io.kvtier.transport.Closings;
import io.kvtier.transport.Registration;
import io.kvtier.transport.TransferEngine;
import io.kvtier.transport.device.Devices;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BiFunction;
import java.util.function.Function;

/**
 * Regions of callers: what is kept open for a call, and what was registered for many.
 *
 * <p><b>Threading:</b> thread-safe. <b>Lifetime:</b> closed after the last call of the store and before its engines: it
 * gives back what is still registered.
 */
public final class CallerRegions implements AutoCloseable {
    /** For files. */
    private final List<TransferEngine> files;
    private final GpuCopies gpus;
    private final ReentrantLock lock = new ReentrantLock();
    /** Under the lock. */
    private final Set<Entry> registered = new LinkedHashSet<>();

    /**
     * Nothing is registered yet.
     *
     * @param devices        drives GPUs.
     * @param files          move bytes of files, and are told of what is registered.
     * @param closeTimeoutMs milliseconds that closing waits for copies under way.
     */
    public CallerRegions(final Devices devices, final List<TransferEngine> files, final long closeTimeoutMs) {
        this.files = files;
        this.gpus = new GpuCopies(devices, closeTimeoutMs);
    }

    /** A region that a caller has registered. */
    private final class Entry implements RegisteredRegion {
        private final MemoryRegion region;
        private final List<Registration> known;

        Entry(final MemoryRegion region, final List<Registration> known) {
            this.region = region;
            this.known = known;
        }

        /** Under the lock, so that who closes the store waits until an engine does not know it any more. */
        @Override
        public void close() {
            lock.lock();
            try {
                if (registered.remove(this)) {
                    giveBack();
                }
            } finally {
                lock.unlock();
            }
        }

        private void giveBack() {
            try (Closings steps = new Closings()) {
                steps.add(region::release);
                known.forEach(one -> steps.add(one::close));
            }
        }
    }

    /**
     * Makes a region known to who moves files.
     *
     * @throws IllegalStateException when it is closed.
     */
    public RegisteredRegion register(final MemoryRegion region) {
        if (!region.tryRetain()) {
            throw new IllegalStateException("Already closed");
        }
        lock.lock();
        try (Closings opened = new Closings()) {
            opened.add(region::release);
            final List<Registration> known = new ArrayList<>(files.size());
            files.forEach(engine -> known.add(opened.keep(Engines.register(engine, region), Registration::close)));
            final Entry entry = new Entry(region, known);
            registered.add(entry);
            opened.stayOpen();
            return entry;
        } finally {
            lock.unlock();
        }
    }

    /** Keeps a caller's memory open; see {@link ValueMemory#enter}. */
    public ValueMemory enter(final List<RegionSlice> memory) {
        return ValueMemory.enter(List.copyOf(memory), gpus);
    }

    /**
     * Makes a call for many items. One whose memory cannot be used fails alone.
     *
     * @param items  of a batch.
     * @param memory of an item.
     * @param asked  what the call is given of an item and its memory, which is kept open until the call has ended.
     * @param call   gives one result for each that it is given, in order.
     * @return one result an item, in order.
     */
    public <I, A, R> List<BatchResult<R>> each(final List<I> items, final Function<I, List<RegionSlice>> memory,
        final BiFunction<I, ValueMemory, A> asked, final Function<List<A>, List<BatchResult<R>>> call) {
        final List<BatchResult<R>> results = new ArrayList<>(Collections.nCopies(items.size(), null));
        final List<A> good = new ArrayList<>(items.size());
        final List<Integer> places = new ArrayList<>(items.size());
        try (Closings entered = new Closings()) {
            for (int i = 0; i < results.size(); i++) {
                final I item = items.get(i);
                final List<RegionSlice> slices = List.copyOf(memory.apply(item));
                ValueMemory one = null;
                try {
                    one = entered.keep(ValueMemory.enter(slices, gpus), ValueMemory::close);
                } catch (final RuntimeException e) {
                    results.set(i, BatchCalls.failed(e));
                }
                if (one != null) {
                    good.add(asked.apply(item, one));
                    places.add(i);
                }
            }
            final List<BatchResult<R>> answers = call.apply(good);
            for (int i = 0; i < places.size(); i++) {
                results.set(places.get(i), answers.get(i));
            }
        }
        return results;
    }

    @Override
    public void close() {
        lock.lock();
        try (Closings steps = new Closings()) {
            steps.add(gpus::close);
            registered.forEach(entry -> steps.add(entry::giveBack));
            registered.clear();
        } finally {
            lock.unlock();
        }
    }
}
