package io.kvtier.kit;

import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;

/**
 * A ring of {@link SimulatedUsrbio}: entries that wait for their batch, entries that are carried out, and entries of
 * which nothing is heard. Guarded by the simulation's lock.
 */
final class SimulatedRing {
    /** What the client of 3FS writes into memory that is being read into, before the bytes are there. */
    private static final byte NOT_YET = (byte) 0xee;

    final int entries;
    final boolean read;
    final int depth;
    final int timeout;
    /** Who is inside one of the functions that are not for two threads. */
    final AtomicReference<Thread> inside = new AtomicReference<>();
    private final List<Entry> queued = new ArrayList<>();
    private final List<Entry> running = new ArrayList<>();
    private final List<Entry> lost = new ArrayList<>();

    SimulatedRing(final int entries, final boolean read, final int depth, final int timeout) {
        this.entries = entries;
        this.read = read;
        this.depth = depth;
        this.timeout = timeout;
    }

    /**
     * One entry.
     *
     * @param memory  its part of the shared memory.
     * @param content of that memory when a write was prepared: it must still be so when it is carried out.
     */
    record Entry(int index, long userData, MemorySegment memory, SimulatedFile file, long offset, byte[] content) {
        static Entry of(final int index, final long userData, final boolean read, final MemorySegment memory,
            final SimulatedFile file, final long offset) {
            if (read) {
                memory.fill(NOT_YET);
            }
            return new Entry(index, userData, memory, file, offset, read ? null : PatternBytes.copyOf(memory));
        }

        boolean overlaps(final MemorySegment other) {
            return memory.address() < other.address() + other.byteSize()
                && other.address() < memory.address() + memory.byteSize();
        }

        long carryOut(final UsrbioFaults faults) {
            if (content == null) {
                return file.read(offset, memory);
            }
            if (!Arrays.equals(content, PatternBytes.copyOf(memory))) {
                throw new AssertionError("the memory of a write was changed before it was carried out");
            }
            return file.write(offset, memory.asSlice(0, faults.written(memory.byteSize())));
        }
    }

    int inFlight() {
        return queued.size() + running.size() + lost.size();
    }

    /** Those that the client has begun, and will end some day. */
    int begun() {
        return running.size() + lost.size();
    }

    boolean names(final MemorySegment memory) {
        return queued.stream().anyMatch(one -> one.overlaps(memory))
            || running.stream().anyMatch(one -> one.overlaps(memory))
            || lost.stream().anyMatch(one -> one.overlaps(memory));
    }

    void add(final Entry entry) {
        queued.add(entry);
    }

    /** Begins entries by the rules of IoRing::jobsToProc. */
    void begin() {
        final int whole = depth > 0 || timeout > 0 ? Math.abs(depth) : 0;
        final int many = whole == 0 ? queued.size() : queued.size() - queued.size() % whole;
        final List<Entry> batch = queued.subList(0, many);
        running.addAll(batch);
        batch.clear();
    }

    boolean hasRunning() {
        return !running.isEmpty();
    }

    int running() {
        return running.size();
    }

    /** Ends one entry; null when nothing is to be heard of it. */
    Ended endNext(final UsrbioFaults faults) {
        final Entry entry = running.remove(faults.next(running.size()));
        final Long told = faults.enter(read ? UsrbioFaults.Call.READ_ENTRY : UsrbioFaults.Call.WRITE_ENTRY);
        if (told != null && told == UsrbioFaults.NEVER) {
            lost.add(entry);
            return null;
        }
        if (told != null && (told < 0 || told > entry.memory().byteSize())) {
            return new Ended(entry, told);
        }
        final long moved = entry.carryOut(faults);
        return new Ended(entry, told == null ? moved : Math.min(told, moved));
    }

    record Ended(Entry entry, long result) {
    }

    void hear() {
        running.addAll(lost);
        lost.clear();
    }
}
