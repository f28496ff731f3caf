package io.kvtier.store.master.state;

import static io.kvtier.store.master.state.MasterRig.ALICE;
import static io.kvtier.store.master.state.MasterRig.BOB;
import static io.kvtier.store.master.state.MasterRig.DISCARD_MS;
import static io.kvtier.store.master.state.MasterRig.LEASE_MS;
import static io.kvtier.store.master.state.MasterRig.SOFT_PIN_MS;
import static io.kvtier.store.master.state.MasterRig.UNIT;
import static io.kvtier.store.master.state.MasterRig.key;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.LeakCheck;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.PutOptions;
import io.kvtier.store.RemoveOutcome;
import io.kvtier.store.SoftPin;
import io.kvtier.store.StoreException;
import io.kvtier.store.protocol.Command.Ack;
import io.kvtier.store.protocol.ObjectCommand;
import io.kvtier.store.protocol.ObjectCommand.Scope;
import io.kvtier.store.protocol.PutStartReply;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** Soft pins, hard pins and groups. */
@ExtendWith(LeakCheck.class)
class MasterPinTest {
    private static final PutOptions SOFT = PutOptions.DEFAULT.withSoftPin(SoftPin.ENABLE);
    private static final PutOptions GROUPED = PutOptions.DEFAULT.withGroup("group");

    private final MasterRig rig = new MasterRig();

    @AfterEach
    void closeRig() {
        rig.close();
    }

    @Test
    void shouldRefuseTimesOfAPinThatMeanNothingOrAreTooLong() {
        for (final SoftPin.Action action : SoftPin.Action.values()) {
            final long ttlMs = action == SoftPin.Action.ENABLE ? -1 : 1;
            assertEquals(ErrorCode.INVALID_PARAMS,
                assertThrows(StoreException.class, () -> new SoftPin(action, ttlMs)).code());
        }
        rig.memory(ALICE, "memory", 16 * UNIT);
        rig.assertRefused(ErrorCode.INVALID_PARAMS, new ObjectCommand.PutStart(ALICE, 1, key("key"), UNIT,
            PutOptions.DEFAULT.withSoftPin(SoftPin.forMillis(86_400_001)), false));
        rig.put(ALICE, "key", UNIT, PutOptions.DEFAULT.withSoftPin(SoftPin.forMillis(86_400_000)));
        assertEquals(1, rig.stats().softPinned());
    }

    @Test
    void shouldPinFromTheFirstEndForAFixedTime() {
        rig.memory(ALICE, "memory", 16 * UNIT);
        rig.nof(ALICE, "device", 16 * UNIT);
        final long version = rig.started(BOB, "key", UNIT, SOFT.withNofReplicas(1)).version();
        assertEquals(0, rig.stats().softPinned());
        rig.pass(1000);
        rig.end(BOB, "key", version, Scope.MEMORY);
        assertEquals(1, rig.stats().softPinned());
        rig.pass(500);
        rig.end(BOB, "key", version, Scope.NOF);
        rig.end(BOB, "key", version);
        rig.read("key");
        rig.advance(SOFT_PIN_MS - 501);
        assertEquals(1, rig.stats().softPinned());
        rig.read("key");
        rig.advance(1);
        assertEquals(0, rig.stats().softPinned());
    }

    @Test
    void shouldPinWithTheRestWhenTheFirstPartIsRevoked() {
        rig.memory(ALICE, "memory", 16 * UNIT);
        rig.nof(ALICE, "device", 16 * UNIT);
        final long version = rig.started(BOB, "key", UNIT, SOFT.withNofReplicas(1)).version();
        rig.revoke(BOB, "key", version, Scope.NOF);
        assertEquals(0, rig.stats().softPinned());
        rig.end(BOB, "key", version);
        assertEquals(1, rig.stats().softPinned());
    }

    @Test
    void shouldKeepSetOrEndAPinAsAnUpsertSays() {
        rig.memory(ALICE, "memory", 16 * UNIT);
        rig.put(BOB, "key", UNIT, PutOptions.DEFAULT.withSoftPin(SoftPin.forMillis(1000)));
        replace("key", PutOptions.DEFAULT);
        assertEquals(1, rig.stats().softPinned());
        replace("key", PutOptions.DEFAULT.withSoftPin(SoftPin.forMillis(5000)));
        rig.advance(1000);
        assertEquals(1, rig.stats().softPinned(), "the old end means nothing any more");
        replace("key", PutOptions.DEFAULT.withSoftPin(SoftPin.DISABLE));
        assertEquals(0, rig.stats().softPinned());
        rig.advance(10_000);
        assertEquals(0, rig.stats().softPinned());
        final long version = rig.replacing(BOB, "key", UNIT, SOFT).version();
        rig.revoke(BOB, "key", version);
        assertEquals(0, rig.stats().softPinned(), "a pin that was asked for comes with the value");
    }

    @Test
    void shouldEndAPinWithItsObject() {
        rig.memory(ALICE, "memory", 16 * UNIT);
        rig.putMany(BOB, "key", 4, SOFT);
        rig.remove("key0", false);
        assertEquals(3, rig.stats().softPinned());
        assertEquals(1, rig.removeMatching("", "key1", false));
        assertEquals(2, rig.removeMatching("", "", false));
        rig.assertEmpty();
        rig.put(BOB, "key0", UNIT);
        rig.advance(SOFT_PIN_MS);
        assertEquals(0, rig.stats().softPinned());
    }

    @Test
    void shouldPinUntilTheEndOfTimeWhenTheClockIsNearIt() {
        rig.pass(Long.MAX_VALUE - rig.nowMs() - LEASE_MS);
        rig.memory(ALICE, "memory", 16 * UNIT);
        rig.put(BOB, "key", UNIT, PutOptions.DEFAULT.withSoftPin(SoftPin.forMillis(LEASE_MS + 1)));
        assertEquals(1, rig.stats().softPinned());
    }

    @Test
    void shouldKeepOneEndForEachPinHoweverOftenItIsSet() {
        rig.memory(ALICE, "memory", 16 * UNIT);
        rig.put(BOB, "other", UNIT, SOFT);
        rig.put(BOB, "key", UNIT, SOFT);
        for (int i = 0; i < 20_000; i++) {
            rig.passAlive(1);
            replace("key", SOFT);
        }
        assertEquals(2, rig.stats().softPinned());
        rig.advance(SOFT_PIN_MS - 20_000);
        assertEquals(1, rig.stats().softPinned());
        rig.advance(19_999);
        assertEquals(1, rig.stats().softPinned());
        rig.advance(1);
        assertEquals(0, rig.stats().softPinned());
    }

    @Test
    void shouldKeepAHardPinForTheLifeOfTheObject() {
        rig.memory(ALICE, "memory", 2 * UNIT);
        rig.put(BOB, "key", UNIT, PutOptions.DEFAULT.withHardPin(true));
        replace("key", PutOptions.DEFAULT);
        assertEquals(0, rig.evict(1, 1).objects());
        rig.remove("key", false);
        rig.put(BOB, "key", UNIT);
        assertEquals(1, rig.evict(1, 1).objects());
    }

    @Test
    void shouldLeaseAllMembersOfAGroupThroughOne() {
        rig.memory(ALICE, "memory", 16 * UNIT);
        rig.putMany(BOB, "key", 3, GROUPED);
        rig.put(BOB, "alone", UNIT);
        rig.read("key1");
        rig.pass(LEASE_MS - 1);
        assertEquals(RemoveOutcome.LEASED, rig.remove("key0", false).outcome());
        rig.read("key2");
        rig.pass(LEASE_MS - 1);
        assertEquals(RemoveOutcome.LEASED, rig.remove("key0", false).outcome());
        assertEquals(RemoveOutcome.REMOVED, rig.remove("alone", false).outcome());
        rig.pass(1);
        assertEquals(RemoveOutcome.REMOVED, rig.remove("key0", false).outcome());
        assertEquals(2, rig.count("key", 3), "the others stay");
        assertEquals(1, rig.stats().groups());
    }

    @Test
    void shouldKeepTheGroupOfAnObjectThatIsReplaced() {
        rig.memory(ALICE, "memory", 16 * UNIT);
        rig.put(BOB, "key", UNIT, GROUPED);
        rig.put(BOB, "other", UNIT, GROUPED);
        rig.put(BOB, "alone", UNIT);
        replace("key", GROUPED);
        assertEquals(Ack.OK, rig.end(BOB, "key", rig.replacing(BOB, "key", 2 * UNIT, GROUPED).version()));
        rig.assertRefused(ErrorCode.INVALID_PARAMS, upsert("key", PutOptions.DEFAULT));
        rig.assertRefused(ErrorCode.INVALID_PARAMS, upsert("key", PutOptions.DEFAULT.withGroup("another")));
        rig.assertRefused(ErrorCode.INVALID_PARAMS, upsert("alone", GROUPED));
        rig.read("other");
        assertEquals(RemoveOutcome.LEASED, rig.remove("key", false).outcome());
    }

    @Test
    void shouldLetAnUngroupedPutTakeThePlaceOfAGroupedOneThatNeverEnded() {
        rig.memory(ALICE, "memory", 16 * UNIT);
        final long first = rig.started(BOB, "key", UNIT, GROUPED).version();
        assertEquals(1, rig.stats().groups());
        rig.advance(DISCARD_MS);
        rig.put(ALICE, "key", UNIT);
        assertEquals(0, rig.stats().groups());
        assertEquals(Ack.STALE, rig.end(BOB, "key", first));
        assertTrue(rig.exists("key"));
    }

    @Test
    void shouldKeepGroupsOfTenantsApart() {
        rig.memory(ALICE, "memory", 16 * UNIT);
        for (final String tenant : new String[] {"one", "two"}) {
            final PutStartReply.Started started = (PutStartReply.Started) rig.apply(new ObjectCommand.PutStart(BOB,
                5, ObjectKey.of(tenant, "key"), UNIT, GROUPED, false));
            rig.apply(new ObjectCommand.PutEnd(BOB, ObjectKey.of(tenant, "key"), started.version(), Scope.ALL,
                false, 0));
        }
        assertEquals(2, rig.stats().groups());
        rig.apply(new ObjectCommand.ReadStart(ObjectKey.of("one", "key"), false));
        assertEquals(1, rig.evict(1, 1).objects());
        assertTrue(rig.apply(new ObjectCommand.Query(ObjectKey.of("one", "key"))).found());
    }

    @Test
    void shouldRefuseAGroupThatCannotBeAName() {
        rig.memory(ALICE, "memory", 16 * UNIT);
        rig.assertRefused(ErrorCode.INVALID_KEY, new ObjectCommand.PutStart(ALICE, 1, key("key"), UNIT,
            PutOptions.DEFAULT.withGroup("\ud800"), false));
    }

    private void replace(final String name, final PutOptions options) {
        assertEquals(Ack.OK, rig.end(BOB, name, rig.replacing(BOB, name, UNIT, options).version()));
    }

    private static ObjectCommand.PutStart upsert(final String name, final PutOptions options) {
        return new ObjectCommand.PutStart(BOB, 9999, key(name), UNIT, options, true);
    }
}
