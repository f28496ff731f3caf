package io.kvtier.store.simulation;

import io.kvtier.store.ObjectKey;
import io.kvtier.store.protocol.ObjectCommand;
import io.kvtier.store.replica.KeyFolder;
import io.kvtier.store.replica.Replica;
import io.kvtier.store.replica.ReplicaDescriptor;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * The folder in which values have files of their own. It outlives every process: what was begun there and what was
 * given its name stays until somebody deletes it. A name is given in one moment.
 */
final class ValueFolder {
    static final KeyFolder FOLDER = KeyFolder.of("/mnt/values", "simulated");
    /** Less than what there is of values, so that files make way. */
    static final long QUOTA = 14L * SimulatedClient.UNIT;

    private final World world;
    private final Map<String, long[]> files = new TreeMap<>();
    /** Written under another name. */
    private final Set<String> begun = new TreeSet<>();
    /** Begun, or given their names, when the master of then had given the write up: only their writers will know. */
    private final Set<String> late = new TreeSet<>();
    private final Set<String> deleted = new TreeSet<>();

    ValueFolder(final World world) {
        this.world = world;
    }

    void begin(final String path, final boolean givenUp) {
        begun.add(path);
        if (givenUp) {
            late.add(path);
        }
    }

    /** A file has its name; false when somebody has deleted what was written. */
    boolean publish(final String path, final long[] units, final boolean givenUp) {
        if (!begun.remove(path)) {
            return false;
        }
        files.put(path, units);
        if (givenUp) {
            late.add(path);
        }
        return true;
    }

    void delete(final String path) {
        begun.remove(path);
        late.remove(path);
        if (files.remove(path) != null) {
            deleted.add(path);
        }
    }

    /** Null when it is not there. */
    long[] read(final String path) {
        final long[] units = files.get(path);
        return units == null ? null : units.clone();
    }

    /** All names, those of files that are being written as they will be. */
    List<String> names() {
        final Set<String> all = new TreeSet<>(files.keySet());
        all.addAll(begun);
        return new ArrayList<>(all);
    }

    /** Another master has the whole folder looked through. */
    void masterStarted() {
        late.clear();
    }

    /** What a replica's file has is that very value; it is there, unless it was deleted after the snapshot. */
    void check(final ObjectKey key, final long version, final ReplicaDescriptor.Disk place) {
        final long[] units = files.get(place.filePath());
        final History.Put put = world.history().of(version);
        if (units == null) {
            if (world.snapshots() == null || !deleted.contains(place.filePath())) {
                throw new Violation(place + " of " + key + " version " + version + " is not there");
            }
        } else if (put != null) {
            for (int i = 0; i < units.length; i++) {
                if (units[i] != put.unit(i)) {
                    throw new Violation("unit " + i + " of " + place + " is not that of " + put + " but " + units[i]);
                }
            }
        }
    }

    /** When nothing is under way, what is there is what the master names, but for what nobody could tell it of. */
    void checkAtRest() {
        final Set<String> unknown = new TreeSet<>(files.keySet());
        unknown.addAll(begun);
        unknown.removeAll(late);
        for (final ObjectKey key : world.keys()) {
            for (final Replica replica : world.master().look(new ObjectCommand.Query(key)).replicas()) {
                if (replica.descriptor() instanceof ReplicaDescriptor.Disk place) {
                    unknown.remove(place.filePath());
                }
            }
        }
        if (!unknown.isEmpty()) {
            throw new Violation("when nothing is under way, there are files that no value has: " + unknown);
        }
    }
}
