package io.kvtier.store.master.state;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.store.ObjectKey;
import io.kvtier.store.protocol.ObjectCommand.Find;
import io.kvtier.store.protocol.ObjectCommand.FindReply;
import io.kvtier.store.protocol.ReadReply;
import java.util.List;
import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;

/**
 * Owners of files and a master, between whom any message may be lost: what the master calls complete is where it says,
 * no room is used twice, and in the end all of it is free.
 */
class GdsOwnerProperties {
    private static final int KEYS = 12;
    private static final int UNITS = 24;
    private static final int STEPS = 400;

    private MasterRig rig;
    private Random random;
    private List<GdsOwnerModel> owners;

    @Property(tries = 150)
    void shouldNeverNameBytesThatAreNotThere(@ForAll final long seed, @ForAll @IntRange(max = 30) final int loss) {
        try (MasterRig made = new MasterRig()) {
            rig = made;
            random = new Random(seed);
            rig.memory(MasterRig.CAROL, "m", 40 * GdsOwnerModel.UNIT);
            owners = List.of(new GdsOwnerModel(rig, random, MasterRig.ALICE, UNITS),
                new GdsOwnerModel(rig, random, MasterRig.BOB, UNITS));
            owners.forEach(GdsOwnerModel::mount);
            for (int i = 0; i < STEPS; i++) {
                final GdsOwnerModel owner = owners.get(random.nextInt(2));
                owner.lossPercent(loss);
                step(owner);
                assertAll();
            }
            assertTrue(owners.stream().mapToLong(GdsOwnerModel::seen).sum() > 0, "no value was ever in a file");
            quiesce();
        }
    }

    private static ObjectKey key(final int number) {
        return ObjectKey.of("k" + number);
    }

    private void step(final GdsOwnerModel owner) {
        final String key = "k" + random.nextInt(KEYS);
        switch (random.nextInt(16)) {
            case 0, 1, 2, 3 -> owner.begin(ObjectKey.of(key), 1 + random.nextInt(4), random.nextBoolean());
            case 4, 5, 6, 7 -> owner.endOne();
            case 8 -> rig.read(key);
            case 9 -> rig.remove(key, random.nextBoolean());
            case 10 -> owner.fetchDrops();
            case 11 -> owner.settle();
            case 12 -> owner.makeRoom(random.nextInt(6));
            case 13 -> rig.evict(0.5, 0.2);
            case 14 -> rig.passAlive(random.nextInt((int) MasterRig.LEASE_MS));
            default -> rareStep(owner);
        }
    }

    private void rareStep(final GdsOwnerModel owner) {
        switch (random.nextInt(4)) {
            case 0 -> {
                // It is taken for dead, and comes back.
                rig.silence(owner.client());
                rig.passAlive(MasterRig.CLIENT_TTL_MS + 1);
                owner.mount();
            }
            case 1 -> rig.settle();
            case 2 -> owner.mount();
            default -> rig.passAlive(MasterRig.RELEASE_MS);
        }
    }

    private void assertAll() {
        for (int i = 0; i < KEYS; i++) {
            final ReadReply found = rig.query("k" + i);
            if (found.found()) {
                final ObjectKey key = key(i);
                GdsOwnerModel.gds(found.replicas()).forEach(replica ->
                    owners.forEach(owner -> owner.assertIsThere(key, found.version(), replica)));
            }
        }
    }

    private void quiesce() {
        owners.forEach(GdsOwnerModel::quiesce);
        rig.advance(MasterRig.RELEASE_MS);
        for (int i = 0; i < KEYS; i++) {
            rig.remove("k" + i, true);
        }
        rig.advance(MasterRig.LEASE_MS);
        for (final GdsOwnerModel owner : owners) {
            for (int i = 0; i < UNITS; i++) {
                owner.fetchDrops();
                owner.settle();
            }
            assertEquals(0, owner.taken(), "room that nobody knows of");
        }
        assertEquals(0, rig.apply(new Find("", "", false, 0)).found().size());
        assertEquals(List.of(0L, 0L, 0L), List.of(rig.stats().gds().used(), rig.stats().heldReplicas(),
            rig.stats().pendingWrites()));
        assertEquals(FindReply.END, rig.apply(new Find("", "", false, 0)).cursor());
    }
}
