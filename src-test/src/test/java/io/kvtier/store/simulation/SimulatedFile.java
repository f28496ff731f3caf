package io.kvtier.store.simulation;

import io.kvtier.store.ObjectKey;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;

/**
 * A file for GDS replicas, with its index: what is durable of it, and outlives each process that has it open. One at a
 * time does.
 */
final class SimulatedFile {
    /** Room for values, in units of memory; a unit is a block. */
    static final int UNITS = 16;

    private final UUID id;
    private final long[] units = new long[UNITS];
    private final Map<Integer, Stored> index = new TreeMap<>();
    private long generation = 1;
    private SimulatedClient holder;

    /** A value that the index names, as the next process finds it. */
    record Stored(ObjectKey key, long version, int first, int count, long replicaId) {
    }

    SimulatedFile(final UUID id) {
        this.id = id;
    }

    UUID id() {
        return id;
    }

    long generation() {
        return generation;
    }

    /** Whose process has it open; null for none. */
    SimulatedClient holder() {
        return holder;
    }

    void open(final SimulatedClient by) {
        holder = by;
    }

    /** The kernel gives the lock up when a process dies. */
    void letGo() {
        holder = null;
    }

    /** It starts empty: what lies in it means nothing any more. */
    void makeAnew() {
        generation++;
        index.clear();
    }

    long unit(final int at) {
        return units[at];
    }

    void write(final int at, final long unit) {
        units[at] = unit;
    }

    List<Stored> stored() {
        return new ArrayList<>(index.values());
    }

    void record(final Stored value) {
        index.put(value.first(), value);
    }

    void forget(final int first) {
        index.remove(first);
    }
}
