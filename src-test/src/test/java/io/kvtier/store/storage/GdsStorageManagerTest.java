package io.kvtier.store.storage;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.alloc.HostRegion;
import io.kvtier.alloc.RegionSlice;
import io.kvtier.bindings.NativeTag;
import io.kvtier.bindings.posix.Errno;
import io.kvtier.kit.Faults;
import io.kvtier.kit.Faults.Call;
import io.kvtier.kit.FaultyFiles;
import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.PatternBytes;
import io.kvtier.store.ObjectKey;
import io.kvtier.transport.Transfer;
import io.kvtier.transport.TransferException;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What happens to an extent between its reservation and its end. */
@ExtendWith(LeakCheck.class)
class GdsStorageManagerTest {
    private static final int UNIT = Value.UNIT;

    @TempDir
    private Path directory;

    private GdsRig.Setup setup(final long units, final boolean warm) {
        return GdsRig.Setup.of(directory.resolve("gds.data"), units, warm);
    }

    private GdsRig rig(final long units) {
        return setup(units, false).open();
    }

    private static GdsStorageStats stats(final long units, final long used, final long committed, final long reserved,
        final long unsettled, final long resting, final long leases) {
        return new GdsStorageStats(units * UNIT, used * UNIT, committed, reserved, unsettled, 0, resting, leases, 0,
            0);
    }

    @ParameterizedTest
    @EnumSource(GdsRig.Mover.class)
    void shouldReadBackWhatWasWrittenWhateverItsSize(final GdsRig.Mover mover) {
        final List<Value> values = IntStream.of(1, 7, UNIT - 1, UNIT, UNIT + 1, 3 * UNIT, 5 * UNIT - 9, 70_001, 1 << 20)
            .mapToObj(size -> Value.of("size-" + size, size, size)).toList();
        final long used = values.stream().mapToLong(Value::extent).sum();
        try (GdsRig rig = setup(512, true).by(mover).open()) {
            final List<StoredExtent> stored = values.stream().map(value -> rig.put(value, 100 + value.size())).toList();

            assertEquals(stored, rig.storage().committed());
            assertEquals(used, rig.storage().usedBytes());
            for (int i = 0; i < values.size(); i++) {
                assertEquals(0, stored.get(i).extent().offset() % UNIT);
                rig.assertReadable(values.get(i), stored.get(i));
            }
            rig.storage().flush();
            for (int i = 0; i < values.size(); i++) {
                rig.assertReadable(values.get(i), stored.get(i));
                rig.storage().drop(stored.get(i).extent().offset(), stored.get(i).replicaId());
            }
            rig.assertNothingLeft();
        }
    }

    @ParameterizedTest
    @EnumSource(GdsRig.Mover.class)
    void shouldReadAnyPartOfAValue(final GdsRig.Mover mover) {
        final Value value = Value.of("parts", 1, 3 * UNIT + 100);
        try (GdsRig rig = setup(8, false).by(mover).open();
            HostRegion memory = HostRegion.allocate(NativeTag.TEST, 4 * UNIT)) {
            final StoredExtent stored = rig.put(value, 1);
            try (GdsLease lease = rig.acquire(stored)) {
                for (final int offset : new int[] {0, 1, 511, UNIT - 1, UNIT, 2 * UNIT + 5, 3 * UNIT}) {
                    for (final int length : new int[] {1, 99, UNIT - 1, UNIT, UNIT + 3}) {
                        final int part = Math.min(length, value.size() - offset);
                        lease.read(offset, List.of(memory.slice(0, part)), length % 2 == 0).await();
                        final byte[] expected = new byte[part];
                        System.arraycopy(value.bytes(), offset, expected, 0, part);
                        assertArrayEquals(expected, PatternBytes.copyOf(memory.segment().asSlice(0, part)),
                            () -> "offset " + offset + ", length " + length);
                    }
                }
                // To the end of the last block, and no further.
                lease.read(2 * UNIT, List.of(memory.slice(0, 2 * UNIT)), true).await();
                assertThrows(IndexOutOfBoundsException.class,
                    () -> lease.read(2 * UNIT, List.of(memory.slice(0, 2 * UNIT), memory.slice(0, 1)), true));
                assertThrows(IndexOutOfBoundsException.class, () -> lease.read(-1, List.of(memory.slice(0, 1)), true));
            }
        }
    }

    @Test
    void shouldFindNothingUnlessAllAgrees() {
        final Value value = Value.of("k", 5, UNIT + 1);
        try (GdsRig rig = rig(8)) {
            final StoredExtent stored = rig.put(value, 1);
            final Extent extent = stored.extent();
            final GdsStorageManager storage = rig.storage();

            assertNull(storage.acquire(ObjectKey.of("other", "k"), 5, extent, UNIT + 1));
            assertNull(storage.acquire(value.key(), 4, extent, UNIT + 1));
            assertNull(storage.acquire(value.key(), 5, extent, UNIT));
            assertNull(storage.acquire(value.key(), 5, new Extent(extent.offset(), UNIT), UNIT + 1));
            assertNull(storage.acquire(value.key(), 5, new Extent(extent.offset() + UNIT, extent.bytes()), UNIT + 1));
            rig.assertReadable(value, stored);
            assertEquals(0, storage.stats().leases());
        }
    }

    @Test
    void shouldSayThatThereIsNoRoom() {
        try (GdsRig rig = rig(4)) {
            assertNull(rig.storage().reserve(ObjectKey.of("large"), 4 * UNIT + 1));
            assertNull(rig.storage().reserve(ObjectKey.of("huge"), Long.MAX_VALUE));
            assertThrows(IllegalArgumentException.class, () -> rig.storage().reserve(ObjectKey.of("empty"), 0));
            final GdsReservation first = rig.reserve(Value.of("a", 1, 3 * UNIT));
            assertNull(rig.storage().reserve(ObjectKey.of("b"), UNIT + 1));
            try (GdsReservation last = rig.reserve(Value.of("c", 1, 1))) {
                assertNotEquals(first.extent(), last.extent());
                assertNull(rig.storage().reserve(ObjectKey.of("d"), 1));
            }
            first.close();
            rig.assertNothingLeft();
        }
    }

    @Test
    void shouldFreeWhatWasNeverOfferedOrWasDeclined() {
        final Value value = Value.of("k", 1, 2 * UNIT);
        try (GdsRig rig = rig(4)) {
            final GdsReservation untouched = rig.reserve(value);
            assertEquals(stats(4, 2, 0, 1, 0, 0, 0), rig.storage().stats());
            untouched.close();
            rig.assertNothingLeft();

            final GdsReservation declined = rig.reserve(value);
            GdsRig.write(declined, value);
            declined.offered();
            declined.declined();
            declined.close();
            declined.close();
            rig.assertNothingLeft();

            final GdsReservation revoked = rig.reserve(value);
            revoked.offered();
            revoked.accepted(1, 7);
            GdsRig.write(revoked, value);
            revoked.declined();
            revoked.close();
            rig.assertNothingLeft();
            assertEquals(List.of(), rig.storage().unsettled(10));
        }
    }

    @Test
    void shouldRefuseStepsOutOfOrder() {
        final Value value = Value.of("k", 1, UNIT);
        try (GdsRig rig = rig(4); GdsRig.Source source = new GdsRig.Source(value, true)) {
            final GdsReservation reservation = rig.reserve(value);
            assertThrows(IllegalStateException.class, () -> reservation.accepted(1, 1));
            assertThrows(IllegalStateException.class, () -> reservation.commit(false, 0));
            assertThrows(IllegalArgumentException.class, () -> reservation.write(List.of()));
            assertThrows(IllegalArgumentException.class,
                () -> reservation.write(List.of(source.slices().getFirst(), source.slices().getFirst())));
            reservation.offered();
            reservation.offered();
            reservation.accepted(1, 1);
            assertThrows(IllegalStateException.class, reservation::offered);
            assertThrows(IllegalStateException.class, () -> reservation.accepted(2, 2));
            assertThrows(IllegalStateException.class, () -> reservation.commit(false, 0), "nothing was written");
            reservation.write(source.slices()).await();
            assertThrows(IllegalStateException.class, () -> reservation.write(source.slices()));
            assertTrue(reservation.commit(false, 99));
            assertEquals(List.of(new StoredExtent(value.key(), 1, reservation.extent(), UNIT, false, 0, 1)),
                rig.storage().committed());
            assertThrows(IllegalStateException.class, () -> reservation.commit(false, 0));
            assertThrows(IllegalStateException.class, reservation::declined);
            reservation.close();
            assertEquals(1, rig.storage().stats().committed(), "what is committed stays");
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void shouldLeaveUnsettledWhatTheMasterMayHave(final boolean accepted) {
        final Value value = Value.of("k", 3, UNIT + 5);
        try (GdsRig rig = rig(4)) {
            final GdsReservation reservation = rig.reserve(value);
            GdsRig.write(reservation, value);
            reservation.offered();
            if (accepted) {
                reservation.accepted(3, 17);
            }
            assertEquals(List.of(), rig.storage().unsettled(10), "it has an owner");
            reservation.close();

            final UnsettledExtent open = rig.storage().unsettled(10).getFirst();
            assertEquals(new UnsettledExtent(open.number(), value.key(), reservation.extent(), UNIT + 5, accepted,
                accepted ? 3 : 0, accepted ? 17 : 0), open);
            assertEquals(stats(4, 2, 0, 0, 1, 0, 0), rig.storage().stats());
            assertEquals(List.of(), rig.storage().unsettled(0));
            assertFalse(rig.storage().settle(open, Verdict.WAIT));
            assertEquals(List.of(open), rig.storage().unsettled(10));

            assertTrue(rig.storage().settle(open, Verdict.complete(17, 3)));
            final StoredExtent stored =
                new StoredExtent(value.key(), 3, reservation.extent(), value.size(), false, 0, 17);
            assertEquals(List.of(stored), rig.storage().committed());
            rig.assertReadable(value, stored);
            assertFalse(rig.storage().settle(open, Verdict.GONE), "that is long settled");
            rig.assertReadable(value, stored);
            rig.storage().drop(stored.extent().offset(), 17);
            rig.assertNothingLeft();
        }
    }

    @Test
    void shouldFreeWhatIsSettledAsGoneAndListTheOldestFirst() {
        try (GdsRig rig = rig(8)) {
            for (int i = 0; i < 4; i++) {
                final GdsReservation reservation = rig.reserve(Value.of("k" + i, 1, UNIT));
                reservation.offered();
                reservation.close();
            }
            assertEquals(List.of("k0", "k1"),
                rig.storage().unsettled(2).stream().map(one -> one.key().key()).toList());
            assertFalse(rig.storage().settle(rig.storage().unsettled(1).getFirst(), Verdict.WAIT));
            assertEquals(List.of("k1", "k2", "k3", "k0"),
                rig.storage().unsettled(10).stream().map(one -> one.key().key()).toList(), "others first");
            for (final UnsettledExtent one : rig.storage().unsettled(10)) {
                assertFalse(rig.storage().settle(one, Verdict.GONE));
                assertFalse(rig.storage().settle(one, Verdict.GONE));
            }
            rig.assertNothingLeft();
        }
    }

    /** Who holds an old list must not settle what has its place now. */
    @Test
    void shouldNotSettleAnotherReservationOnTheSameExtent() {
        try (GdsRig rig = rig(1)) {
            final UnsettledExtent first = rig.unsettled(Value.of("k", 1, UNIT));
            rig.storage().settle(first, Verdict.GONE);
            final UnsettledExtent second = rig.unsettled(Value.of("k", 1, UNIT));
            assertEquals(first.extent(), second.extent());

            rig.storage().settle(first, Verdict.GONE);
            assertEquals(List.of(second), rig.storage().unsettled(10));
        }
    }

    /** The master cannot know how the write went. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void shouldNotReadWhatWasNotWrittenThoughTheMasterCountsItAsComplete(final boolean tried) {
        final Value value = Value.of("k", 1, UNIT);
        final Faults faults = new Faults();
        try (GdsRig rig = setup(4, false).on(new FaultyFiles(faults)).open()) {
            final GdsReservation reservation = rig.reserve(value);
            reservation.offered();
            reservation.accepted(1, 1);
            if (tried) {
                faults.failNth(Call.WRITE, 1, Errno.EIO);
                assertThrows(TransferException.class, () -> GdsRig.write(reservation, value));
                assertThrows(IllegalStateException.class, () -> reservation.commit(false, 0));
            }
            reservation.close();

            final UnsettledExtent open = rig.storage().unsettled(1).getFirst();
            assertFalse(rig.storage().settle(open, Verdict.complete(1, 1)));
            rig.assertNothingLeft();
        }
    }

    @Test
    void shouldDropOnlyTheReplicaThatIsMeant() {
        final Value value = Value.of("k", 1, UNIT);
        try (GdsRig rig = rig(2)) {
            final StoredExtent stored = rig.put(value, 10);
            final long offset = stored.extent().offset();
            rig.storage().drop(offset, 9);
            rig.storage().drop(offset + UNIT, 10);
            rig.storage().drop(offset + 1, 10);
            rig.storage().drop(-1, 10);
            rig.storage().drop(Long.MAX_VALUE, 10);
            rig.assertReadable(value, stored);

            rig.storage().drop(offset, 10);
            assertFalse(rig.has(stored));
            rig.storage().drop(offset, 10);
            rig.assertNothingLeft();
            final StoredExtent next = rig.put(Value.of("next", 1, 2 * UNIT), 11);
            rig.storage().drop(offset, 10);
            rig.assertReadable(Value.of("next", 1, 2 * UNIT), next);
        }
    }

    /** An offer that came late has made another replica of the same value, and the answer to it was not heard. */
    @Test
    void shouldDropWhatIsCommittedWithALaterReplicaInItsPlace() {
        final Value value = Value.of("k", 1, UNIT);
        try (GdsRig rig = rig(2)) {
            final StoredExtent stored = rig.put(value, 10);
            rig.storage().drop(stored.extent().offset(), 12);
            assertFalse(rig.has(stored));
            assertFalse(rig.storage().adopt(stored, 12), "the answer comes after all");
            rig.assertNothingLeft();
        }
    }

    /** The master may have completed and evicted a replica before its writer has heard of it. */
    @ParameterizedTest
    @CsvSource({"OFFERED, true", "OFFERED, false", "ACCEPTED, true", "ACCEPTED, false"})
    void shouldFreeAtTheCommitWhatWasDroppedBefore(final String when, final boolean commits) {
        final Value value = Value.of("k", 1, UNIT);
        try (GdsRig rig = rig(4)) {
            final GdsReservation reservation = rig.reserve(value);
            GdsRig.write(reservation, value);
            reservation.offered();
            if (when.equals("OFFERED")) {
                rig.storage().drop(reservation.extent().offset(), 5);
            }
            reservation.accepted(1, 5);
            if (when.equals("ACCEPTED")) {
                rig.storage().drop(reservation.extent().offset(), 5);
            }
            assertEquals(UNIT, rig.storage().usedBytes(), "its owner may still write");
            if (commits) {
                assertFalse(reservation.commit(true, value.checksum()));
                assertFalse(rig.has(GdsRig.stored(value, reservation.extent(), 5)));
            }
            reservation.close();
            assertEquals(List.of(), rig.storage().unsettled(10), "the master has said that it has forgotten it");
            rig.assertNothingLeft();
        }
    }

    @Test
    void shouldFreeTheUnsettledThatIsDropped() {
        final Value value = Value.of("k", 1, UNIT);
        try (GdsRig rig = rig(4)) {
            final GdsReservation named = rig.reserve(value);
            named.offered();
            named.accepted(1, 5);
            named.close();
            rig.storage().drop(named.extent().offset(), 4);
            assertEquals(1, rig.storage().stats().unsettled());
            rig.storage().drop(named.extent().offset(), 5);
            rig.assertNothingLeft();

            final UnsettledExtent unnamed = rig.unsettled(value);
            rig.storage().drop(unnamed.extent().offset(), 6);
            assertEquals(List.of(unnamed), rig.storage().unsettled(10), "that may be an older replica");
            assertFalse(rig.storage().settle(unnamed, Verdict.complete(6, 1)), "dropped before it was heard of");
            rig.assertNothingLeft();
        }
    }

    /** Many drops of older replicas may be said again; they are no reason to forget everything. */
    @Test
    void shouldNotBeConfusedByDropsOfOlderReplicas() {
        final Value value = Value.of("k", 1, UNIT);
        try (GdsRig rig = rig(1)) {
            final GdsReservation reservation = rig.reserve(value);
            GdsRig.write(reservation, value);
            reservation.offered();
            for (int id = 100; id < 150; id++) {
                rig.storage().drop(0, id);
            }
            reservation.accepted(1, 150);
            for (int id = 100; id < 150; id++) {
                rig.storage().drop(0, id);
            }
            assertTrue(reservation.commit(true, value.checksum()));
            reservation.close();
            rig.assertReadable(value, GdsRig.stored(value, reservation.extent(), 150));
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void shouldKeepTheBytesOfAHeldValueThoughItIsDroppedAndTheFileRefilled(final boolean warm) {
        final Value held = Value.of("held", 1, 3 * UNIT - 5);
        try (GdsRig rig = setup(8, warm).open()) {
            final StoredExtent stored = rig.put(held, 1);
            rig.storage().flush();
            final GdsLease lease = rig.acquire(stored);
            final GdsLease second = rig.acquire(stored);
            assertEquals(2, rig.storage().stats().leases());
            rig.storage().drop(stored.extent().offset(), 1);
            assertFalse(rig.has(stored));
            assertFalse(lease.isStillValid());
            assertEquals(1, rig.storage().stats().deferredFrees());
            for (int round = 0; round < 5; round++) {
                final StoredExtent other = rig.put(Value.of("a" + round, 1, 5 * UNIT), 10 + round);
                assertNull(rig.storage().reserve(ObjectKey.of("b"), 1), "the extent of a held value is not given away");
                assertArrayEquals(held.bytes(), GdsRig.read(lease, held.size(), true));
                rig.storage().drop(other.extent().offset(), 10 + round);
                rig.storage().flush();
            }
            lease.close();
            lease.close();
            assertEquals(1, rig.storage().stats().leases());
            assertArrayEquals(held.bytes(), GdsRig.read(second, held.size(), false));
            assertEquals(3 * UNIT, rig.storage().usedBytes());
            second.close();
            assertThrows(IllegalStateException.class, () -> second.read(0, List.of(), true));
            rig.assertNothingLeft();
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void shouldListTheUnsettledOnceItsWriteHasEnded(final boolean dropped) throws InterruptedException {
        final Value value = Value.of("k", 1, UNIT);
        final Faults faults = new Faults();
        try (GdsRig rig = setup(2, false).on(new FaultyFiles(faults)).open();
            GdsRig.Source source = new GdsRig.Source(value, true)) {
            final GdsReservation reservation = rig.reserve(value);
            final Transfer write;
            try (Faults.Gate gate = faults.blockNext(Call.WRITE)) {
                write = reservation.write(source.slices());
                gate.awaitEntered();
                assertThrows(IllegalStateException.class, () -> reservation.commit(false, 0));
                reservation.offered();
                reservation.accepted(1, 1);
                assertThrows(IllegalStateException.class, () -> reservation.commit(false, 0));
                reservation.close();
                assertEquals(List.of(), rig.storage().unsettled(10));
                assertEquals(1, rig.storage().stats().unsettled());
                if (dropped) {
                    rig.storage().drop(reservation.extent().offset(), 1);
                    assertEquals(UNIT, rig.storage().usedBytes());
                }
            }
            write.await();
            if (!dropped) {
                final UnsettledExtent open = rig.storage().unsettled(10).getFirst();
                assertTrue(rig.storage().settle(open, Verdict.complete(1, 1)));
                rig.storage().drop(reservation.extent().offset(), 1);
            }
            rig.assertNothingLeft();
        }
    }

    @Test
    void shouldTryAWriteAgainThatTheEngineHasRefused() {
        final Value value = Value.of("k", 1, UNIT);
        try (GdsRig rig = rig(2); GdsRig.Source source = new GdsRig.Source(value, true)) {
            final HostRegion gone = HostRegion.allocate(NativeTag.TEST, UNIT);
            final GdsReservation reservation = rig.reserve(value);
            final List<RegionSlice> slices = List.of(gone.slice(0, UNIT));
            gone.close();
            assertThrows(RuntimeException.class, () -> reservation.write(slices));

            reservation.write(source.slices()).await();
            reservation.offered();
            reservation.accepted(1, 1);
            assertTrue(reservation.commit(true, value.checksum()));
            rig.assertReadable(value, GdsRig.stored(value, reservation.extent(), 1));
        }
    }

    @Test
    void shouldGiveWhatIsCommittedAnotherReplicaWhenTheMasterHasForgottenIt() {
        final Value value = Value.of("k", 1, UNIT);
        try (GdsRig rig = rig(4)) {
            final StoredExtent stored = rig.put(value, 5);
            assertTrue(rig.storage().adopt(stored, 50));
            assertTrue(rig.storage().adopt(stored, 50), "an answer may come twice");
            final StoredExtent renamed = GdsRig.stored(value, stored.extent(), 50);
            assertEquals(List.of(renamed), rig.storage().committed());
            rig.assertReadable(value, renamed);
            rig.storage().drop(stored.extent().offset(), 5);
            rig.assertReadable(value, renamed);

            // The drop of the replica to come overtakes the answer that names it.
            rig.storage().drop(stored.extent().offset(), 500);
            assertFalse(rig.has(renamed), "the master cannot have the one before any more");
            assertFalse(rig.storage().adopt(renamed, 500));
            rig.assertNothingLeft();

            final StoredExtent refused = rig.put(value, 6);
            rig.storage().refuse(stored);
            rig.assertReadable(value, refused);
            rig.storage().refuse(refused);
            rig.storage().refuse(refused);
            assertFalse(rig.storage().adopt(refused, 7));
            rig.assertNothingLeft();
        }
    }
}
