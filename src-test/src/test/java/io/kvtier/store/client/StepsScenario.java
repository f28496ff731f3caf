package io.kvtier.store.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.PatternBytes;
import io.kvtier.kit.Steps;
import io.kvtier.kit.Threads;
import io.kvtier.store.BatchResult;
import io.kvtier.store.GetOutcome;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.PutOptions;
import io.kvtier.store.PutOutcome;
import io.kvtier.store.RemoveOutcome;
import io.kvtier.store.Store;
import io.kvtier.store.StoreException;
import io.kvtier.store.client.gds.GdsInside;
import io.kvtier.store.client.gds.GdsTier;
import io.kvtier.store.replica.ReplicaDescriptor;
import io.kvtier.store.replica.ReplicaType;
import io.kvtier.store.storage.Extent;
import io.kvtier.store.storage.GdsLease;
import io.kvtier.store.storage.GdsStorageManager;
import io.kvtier.store.storage.GdsStorageStats;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import java.util.stream.IntStream;

/**
 * What a client with a file does, call by call, until it dies or is through: values beside memory and without, in one
 * piece and in many, alone and in batches; gets, replacements, removals, room that is made, and a warm restart.
 */
final class StepsScenario {
    static final ObjectKey A = ObjectKey.of("a");
    static final ObjectKey B = ObjectKey.of("b");
    static final ObjectKey C = ObjectKey.of("c");
    static final ObjectKey D = ObjectKey.of("d");
    static final ObjectKey E = ObjectKey.of("e");
    static final ObjectKey F = ObjectKey.of("f");
    static final ObjectKey G = ObjectKey.of("g");
    static final ObjectKey H = ObjectKey.of("h");
    private static final int UNIT = StepsRig.UNIT;
    private static final int MOST_OPENS = 3;
    /** Values and targets; no two pieces of a value lie side by side. */
    private static final MemorySegment MEMORY =
        Arena.ofAuto().allocate(4L * StepsRig.FILE_UNITS * UNIT, UNIT);

    private final StepsRig rig;
    private final Path file;
    private final Steps steps;
    private final StepsLedger ledger;
    private final List<RuntimeException> failures = new ArrayList<>();
    private StepsRig.Client client;

    /** It died. */
    private static final class Died extends RuntimeException {
        private static final long serialVersionUID = 1;
    }

    StepsScenario(final StepsRig rig, final Path file, final Steps steps, final StepsLedger ledger) {
        this.rig = rig;
        this.file = file;
        this.steps = steps;
        this.ledger = ledger;
    }

    /** What it was told that went wrong. */
    List<RuntimeException> failures() {
        return failures;
    }

    void run() {
        try {
            first();
            second();
        } catch (final Died e) {
            // What it left is looked at by others.
        } finally {
            end();
        }
    }

    private void first() {
        open();
        // Memory and file.
        put(A, 2 * UNIT, false);
        settle();
        putBatch(List.of(B, C), List.of(3 * UNIT + 7, 100));
        settle();
        // Leases keep what is in memory there, so that others have no room.
        getBatch(A, B);
        get(C);
        put(D, 2 * UNIT - 1, false);
        settle();
        putBatch(List.of(E, F), List.of(2 * UNIT + 5, UNIT));
        settle();
        getBatch(D, E);
        put(A, UNIT, true);
        settle();
        remove(C);
        settle();
        pass();
        // The file's room is made by dropping what was used longest ago.
        put(G, 4 * UNIT + 9, false);
        settle();
        getBatch(A, B, C, D, E, F, G);
        remove(D);
        close();
    }

    private void second() {
        open();
        settle();
        getBatch(A, B, D, E, F, G);
        put(H, 3 * UNIT, false);
        remove(E);
        settle();
        pass();
        put(G, 2 * UNIT, true);
        putBatch(List.of(C, D), List.of(UNIT, 2 * UNIT + 1));
        settle();
        getBatch(A, C, D, G, H);
        close();
    }

    // ---- calls

    /** The answer; null when it failed, so that nobody knows what has become of it. */
    private <T> T act(final Supplier<T> call) {
        T answer = null;
        try {
            answer = steps.during(call);
        } catch (final StoreException e) {
            failures.add(e);
        }
        if (steps.isDead()) {
            throw new Died();
        }
        return answer;
    }

    private void open() {
        for (int tries = 0; client == null && tries < MOST_OPENS; tries++) {
            // Kept at once: it may be dead when it is open.
            act(() -> client = rig.join(file, steps));
        }
        if (client == null) {
            throw new AssertionError("it could not be opened again", failures.getLast());
        }
    }

    private Store store() {
        return client.store();
    }

    private void close() {
        final StoreException problem = end();
        if (problem != null) {
            failures.add(problem);
        }
        if (steps.isDead()) {
            throw new Died();
        }
    }

    /** Everything of the process ends, whether it was told to or died before; null when that went well. */
    private StoreException end() {
        if (client == null) {
            return null;
        }
        final StepsRig.Client last = client;
        client = null;
        rig.silence(last.link());
        try {
            steps.during(() -> {
                last.store().close();
                return null;
            });
            return null;
        } catch (final StoreException e) {
            return e;
        }
    }

    /** A value's bytes, cut into blocks that lie apart. */
    private static MemorySegment[] pieces(final StepsLedger.Value value, final int first) {
        final byte[] bytes = value.bytes();
        final int count = Math.ceilDiv(bytes.length, UNIT);
        return IntStream.range(0, count).mapToObj(i -> {
            final int length = Math.min(UNIT, bytes.length - i * UNIT);
            final MemorySegment piece = MEMORY.asSlice((first + 2L * i) * UNIT, length);
            piece.copyFrom(MemorySegment.ofArray(bytes).asSlice((long) i * UNIT, length));
            return piece;
        }).toArray(MemorySegment[]::new);
    }

    private void put(final ObjectKey key, final int size, final boolean replace) {
        final StepsLedger.Value value = ledger.begins(key, size);
        final MemorySegment[] source = pieces(value, 0);
        judge(key, value, act(() -> replace ? store().upsert(key, PutOptions.DEFAULT, source)
            : store().put(key, source)));
    }

    private void putBatch(final List<ObjectKey> keys, final List<Integer> sizes) {
        final List<StepsLedger.Value> values = new ArrayList<>();
        final List<Store.Item> items = new ArrayList<>();
        for (int i = 0; i < keys.size(); i++) {
            values.add(ledger.begins(keys.get(i), sizes.get(i)));
            items.add(new Store.Item(keys.get(i), List.of(pieces(values.get(i), i * 16))));
        }
        final List<BatchResult<PutOutcome>> results = act(() -> store().putBatch(items));
        for (int i = 0; results != null && i < keys.size(); i++) {
            if (results.get(i).failure() != null) {
                failures.add(results.get(i).failure());
            }
            judge(keys.get(i), values.get(i), results.get(i).outcome());
        }
    }

    private void judge(final ObjectKey key, final StepsLedger.Value value, final PutOutcome outcome) {
        if (outcome == PutOutcome.STORED) {
            ledger.stored(key, value);
        } else if (outcome != null) {
            ledger.refused(key, value);
        }
    }

    private void get(final ObjectKey key) {
        final MemorySegment target = MEMORY.asSlice(0, (long) StepsRig.FILE_UNITS * UNIT);
        final GetOutcome outcome = act(() -> store().get(key, target));
        if (outcome != null && outcome.hit()) {
            ledger.check(key, PatternBytes.copyOf(target.asSlice(0, outcome.valueSize())));
        }
    }

    private void getBatch(final ObjectKey... keys) {
        final int room = 6 * UNIT;
        final List<Store.Item> items = new ArrayList<>();
        for (int i = 0; i < keys.length; i++) {
            items.add(Store.Item.of(keys[i], MEMORY.asSlice((long) i * room, room)));
        }
        final List<BatchResult<GetOutcome>> results = act(() -> store().getBatch(items));
        for (int i = 0; results != null && i < keys.length; i++) {
            final GetOutcome outcome = results.get(i).outcome();
            if (outcome != null && outcome.hit()) {
                ledger.check(keys[i],
                    PatternBytes.copyOf(MEMORY.asSlice((long) i * room, outcome.valueSize())));
            }
        }
    }

    private void remove(final ObjectKey key) {
        ledger.removes();
        final RemoveOutcome outcome = act(() -> store().remove(key, true));
        if (outcome == RemoveOutcome.REMOVED || outcome == RemoveOutcome.NOT_FOUND) {
            ledger.removed(key);
        }
    }

    /** Leases end. */
    private void pass() {
        rig.pass(StepsRig.LEASE_MS + 1);
        settle();
        final GdsStorageManager storage = GdsInside.storage(client.store().parts().file());
        assertEquals(rig.stats().gds().used(), storage.usedBytes(), () -> storage.stats().toString());
    }

    /** Nothing is in doubt any more, what was dropped is free, and what is there is written down. */
    private void settle() {
        final GdsTier tier = client.store().parts().file();
        tidy(tier);
        awaitSettled(tier, () -> steps.isDead() || GdsInside.storage(tier).stats().unsettled() == 0);
        tidy(tier);
        // What a sync has lost is in doubt no longer before the other thread has told the master that it is not there.
        awaitSettled(tier, () -> steps.isDead() || isReadable(tier));
        final Map<ObjectKey, Long> inFile = rig.versions(ledger.keys(), ReplicaType.GDS);
        checkReadable(tier, inFile);
        // What the owner has lost rests at the master for as long as somebody may have a lease on it.
        assertTrue(GdsInside.storage(tier).usedBytes() <= rig.stats().gds().used(),
            () -> GdsInside.storage(tier).stats().toString());
        ledger.durable(inFile);
    }

    private void tidy(final GdsTier tier) {
        Boolean done = null;
        // What fails once goes well the next time.
        while (done == null) {
            done = act(() -> {
                tier.removeDropped();
                GdsInside.storage(tier).flush();
                return true;
            });
        }
    }

    private boolean isReadable(final GdsTier tier) {
        tier.wake();
        try {
            checkReadable(tier, rig.versions(ledger.keys(), ReplicaType.GDS));
            return GdsInside.storage(tier).stats().unsettled() == 0;
        } catch (final AssertionError lost) {
            return false;
        }
    }

    /** The master sends nobody to what is not there. */
    private void checkReadable(final GdsTier tier, final Map<ObjectKey, Long> inFile) {
        inFile.forEach((key, version) -> {
            for (final ReplicaDescriptor.Gds place : rig.places(List.of(key))) {
                try (GdsLease lease = GdsInside.storage(tier).acquire(key, version,
                    new Extent(place.valueOffset(), place.allocatedSize()), place.valueSize())) {
                    assertNotNull(lease, () -> place + " of " + key + " is not there");
                }
            }
        });
    }

    /** Another thread asks about what is in doubt. */
    private static void awaitSettled(final GdsTier tier, final BooleanSupplier orDead) {
        Threads.awaitUntil(() -> {
            final boolean settled = orDead.getAsBoolean();
            if (!settled) {
                tier.wake();
            }
            return settled;
        }, () -> GdsInside.storage(tier).stats());
    }

    // ---- what is left

    /** Judges what a client finds that opens the file next, and whether everything fits together. */
    static void verify(final StepsRig rig, final StepsRig.Client next, final StepsLedger ledger) {
        final Store store = next.store();
        final MemorySegment target = MEMORY.asSlice(0, (long) StepsRig.FILE_UNITS * UNIT);
        for (final ObjectKey key : ledger.keys()) {
            final boolean known = rig.query(key).found();
            final GetOutcome outcome = store.get(key, target);
            assertEquals(known, outcome.hit(), () -> "of " + key + " the master knows " + rig.query(key));
            if (outcome.hit()) {
                ledger.check(key, PatternBytes.copyOf(target.asSlice(0, outcome.valueSize())));
            }
        }
        rig.pass(StepsRig.RELEASE_MS + StepsRig.LEASE_MS + 1);
        checkAgreement(rig, next, ledger);
        store.removeAll("", true);
        rig.pass(StepsRig.LEASE_MS + 1);
        checkAgreement(rig, next, ledger);
        final var stats = rig.stats();
        assertEquals(List.of(0L, 0L, 0L, 0L, 0L, 0L, 1L), List.of(stats.objects(), stats.memoryUsed(),
            stats.heldReplicas(), stats.pendingWrites(), stats.gds().used(), stats.gds().replicas(),
            stats.gds().storages()), stats::toString);
        fillAll(store, target);
    }

    /** The owner and the master say the same of the file, which is the sum of what lies there. */
    private static void checkAgreement(final StepsRig rig, final StepsRig.Client next, final StepsLedger ledger) {
        final GdsTier tier = next.store().parts().file();
        awaitSettled(tier, () -> GdsInside.storage(tier).stats().unsettled() == 0);
        tier.removeDropped();
        GdsInside.storage(tier).flush();
        assertEquals(rig.stats().gds().used(), GdsInside.storage(tier).usedBytes(),
            () -> GdsInside.storage(tier).stats().toString());
        final GdsStorageStats now = GdsInside.storage(tier).stats();
        final var places = rig.places(ledger.keys());
        assertEquals(places.stream().mapToLong(place -> place.allocatedSize()).sum(), now.usedBytes(),
            () -> "held by nobody, or by two: " + places + ", " + now);
        assertEquals(List.of(places.size() + 0L, 0L, 0L, 0L, 0L, 0L), List.of(now.committed(), now.reserved(),
            now.unsettled(), now.recovered(), now.resting(), now.leases()), now::toString);
        for (final var one : places) {
            assertTrue(places.stream().allMatch(other -> one == other
                || one.valueOffset() >= other.valueOffset() + other.allocatedSize()
                || other.valueOffset() >= one.valueOffset() + one.allocatedSize()), () -> "they overlap: " + places);
        }
    }

    /** All of the file is one value's, as long as it is free. */
    private static void fillAll(final Store store, final MemorySegment target) {
        final byte[] value = PatternBytes.of(-1, StepsRig.FILE_UNITS * UNIT);
        target.copyFrom(MemorySegment.ofArray(value));
        assertEquals(PutOutcome.STORED, store.put(A, target));
        target.fill((byte) 0);
        assertEquals(new GetOutcome(true, value.length, ReplicaType.GDS), store.get(A, target));
        assertEquals(RemoveOutcome.REMOVED, store.remove(A, true));
    }
}
