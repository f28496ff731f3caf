package io.kvtier.store.master.state;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.store.DataType;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.config.MasterSettings;
import io.kvtier.store.replica.Replica;
import io.kvtier.store.replica.ReplicaDescriptor.DistributedDisk;
import io.kvtier.store.replica.ReplicaStatus;
import io.kvtier.store.snapshot.SavedObject;
import io.kvtier.store.snapshot.SnapshotSource.Slice;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** What copies remember while a snapshot waits for a store that is slow. */
class ObjectCopiesTest {
    private static final int OLD = 100;

    private final ObjectCopies copies = new ObjectCopies();
    private final ObjectCatalogue catalogue = new ObjectCatalogue(
        new SoftPins(MasterSettings.Pins.DEFAULT, copies), new Tenants(false), copies, 1);

    /** A readable object. */
    private ObjectEntry add(final String key) {
        final ObjectEntry entry = catalogue.add(ObjectKey.of(key));
        catalogue.replace(entry, new ObjectRecord(catalogue.nextVersion(), 10, true, 7, DataType.UNKNOWN,
            MasterRig.ALICE, List.of(new Replica(catalogue.nextReplicaId(), ReplicaStatus.COMPLETE,
                new DistributedDisk("/mnt/m/0", 0, 10)))));
        return entry;
    }

    private List<ObjectEntry> addOld() {
        final List<ObjectEntry> old = new ArrayList<>();
        IntStream.range(0, OLD).forEach(i -> old.add(add("old" + i)));
        return old;
    }

    private static List<String> oldKeys() {
        return IntStream.range(0, OLD).mapToObj(i -> "old" + i).sorted().toList();
    }

    private static List<String> keys(final List<SavedObject> objects) {
        return objects.stream().map(object -> object.key().key()).sorted().toList();
    }

    private List<String> rest() {
        final Slice slice = copies.next(Integer.MAX_VALUE);
        assertTrue(slice.last());
        copies.end();
        return keys(slice.objects());
    }

    @Test
    void shouldRememberNothingOfObjectsThatCameAndWentMeanwhile() {
        addOld();
        copies.begin(catalogue, null, 0);
        for (int i = 0; i < 1000; i++) {
            catalogue.remove(add("new" + i));
        }

        assertEquals(0, copies.passed());
        assertEquals(oldKeys(), rest());
    }

    @Test
    void shouldRememberOnlyTheCopyOfObjectsThatWent() {
        final List<ObjectEntry> old = addOld();
        copies.begin(catalogue, null, 0);
        old.forEach(catalogue::remove);

        assertEquals(0, copies.passed());
        assertEquals(oldKeys(), rest());
    }

    @Test
    void shouldCopyOnceWhatIsChangedWhenItHasGone() {
        final List<ObjectEntry> old = addOld();
        copies.begin(catalogue, null, 0);
        for (final ObjectEntry entry : old) {
            catalogue.remove(entry);
            catalogue.replace(entry, entry.record().withChecksum(8));
        }

        final Slice slice = copies.next(Integer.MAX_VALUE);
        assertEquals(oldKeys(), keys(slice.objects()));
        slice.objects().forEach(object -> assertEquals(7, object.checksum(), "as it was at the beginning"));
        copies.end();
    }

    @Test
    void shouldRememberObjectsThatAreThereUntilTheWalkHasPassedThem() {
        final List<ObjectEntry> old = addOld();
        copies.begin(catalogue, null, 0);
        old.forEach(entry -> catalogue.replace(entry, entry.record().withChecksum(8)));
        add("new");

        assertEquals(OLD + 1, copies.passed());
        assertEquals(oldKeys(), rest());
        assertEquals(0, copies.passed());
    }
}
