package io.kvtier.store.master.state;

import static io.kvtier.store.master.state.MasterRig.ALICE;
import static io.kvtier.store.master.state.MasterRig.BOB;
import static io.kvtier.store.master.state.MasterRig.LEASE_MS;
import static io.kvtier.store.master.state.MasterRig.UNIT;
import static io.kvtier.store.master.state.MasterRig.key;
import static io.kvtier.store.master.state.MasterRig.places;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.LeakCheck;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.PutOptions;
import io.kvtier.store.RemoveOutcome;
import io.kvtier.store.StoreException;
import io.kvtier.store.protocol.Batch;
import io.kvtier.store.protocol.Command;
import io.kvtier.store.protocol.Command.Ack;
import io.kvtier.store.protocol.ObjectCommand;
import io.kvtier.store.protocol.ObjectCommand.FindReply;
import io.kvtier.store.protocol.ObjectCommand.Scope;
import io.kvtier.store.protocol.PutStartReply;
import io.kvtier.store.protocol.ReadReply;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Leases, holds, searches and removals. */
@ExtendWith(LeakCheck.class)
class MasterRemovalTest {
    private final MasterRig rig = new MasterRig();

    @AfterEach
    void closeRig() {
        rig.close();
    }

    @Test
    void shouldKeepWhatWasReadForTheTimeOfALease() {
        rig.memory(ALICE, "memory", 64 * UNIT);
        rig.put(BOB, "key", UNIT);
        assertEquals(LEASE_MS, rig.read("key").leaseMs());
        assertEquals(RemoveOutcome.LEASED, rig.remove("key", false).outcome());
        rig.pass(LEASE_MS - 1);
        assertEquals(RemoveOutcome.LEASED, rig.remove("key", false).outcome());
        rig.pass(1);
        assertEquals(RemoveOutcome.REMOVED, rig.remove("key", false).outcome());
        rig.assertEmpty();
    }

    @Test
    void shouldRemoveByForceAndLetTheRangeRestForTheLease() {
        rig.memory(ALICE, "memory", UNIT);
        rig.put(BOB, "key", UNIT);
        rig.read("key");
        assertEquals(RemoveOutcome.REMOVED, rig.remove("key", true).outcome());
        assertFalse(rig.exists("key"));
        assertEquals(UNIT, rig.stats().memoryUsed());
        assertEquals(new PutStartReply.NoSpace(true), rig.start(BOB, "other", UNIT));
        rig.pass(LEASE_MS);
        rig.put(BOB, "other", UNIT);
    }

    @Test
    void shouldLeaseByAskingWhetherItExistsButNotByLooking() {
        rig.memory(ALICE, "memory", 64 * UNIT);
        rig.putMany(BOB, "key", 4, PutOptions.DEFAULT);
        assertTrue(rig.apply(new ObjectCommand.Exists(key("key0"))));
        assertTrue(rig.query("key1").found());
        assertEquals(4, rig.find("", "", false).size());
        assertEquals(Set.of("default/key3"), rig.find("", "3$", true));
        assertEquals(RemoveOutcome.LEASED, rig.remove("key0", false).outcome());
        assertEquals(RemoveOutcome.REMOVED, rig.remove("key1", false).outcome());
        assertEquals(RemoveOutcome.REMOVED, rig.remove("key2", false).outcome());
        assertEquals(RemoveOutcome.LEASED, rig.remove("key3", false).outcome());
    }

    @Test
    void shouldHoldAReplicaUntilTheReadIsDone() {
        rig.memory(ALICE, "memory", UNIT);
        rig.put(BOB, "key", UNIT);
        final ReadReply first = rig.hold("key");
        final ReadReply second = rig.hold("key");
        assertEquals(first.held(), second.held());
        assertNotEquals(0, first.held());
        assertEquals(1, rig.stats().heldReplicas());
        rig.remove("key", true);
        rig.pass(LEASE_MS);
        assertEquals(new PutStartReply.NoSpace(true), rig.start(BOB, "other", UNIT));
        assertEquals(Ack.OK, rig.apply(new ObjectCommand.ReadDone(key("key"), first.held())));
        assertEquals(new PutStartReply.NoSpace(true), rig.start(BOB, "other", UNIT));
        assertEquals(Ack.OK, rig.apply(new ObjectCommand.ReadDone(key("key"), first.held())));
        assertEquals(Ack.STALE, rig.apply(new ObjectCommand.ReadDone(key("key"), first.held())));
        rig.assertEmpty();
        rig.put(BOB, "other", UNIT);
    }

    @Test
    void shouldRemoveWhatMatchesAndNothingElse() {
        rig.memory(ALICE, "memory", 64 * UNIT);
        for (final String name : List.of("model-a/layer1", "model-a/layer2", "model-b/layer1", "other")) {
            rig.put(BOB, name, UNIT);
        }
        assertEquals(0, rig.removeMatching("", "^layer", false));
        assertEquals(Set.of("default/model-a/layer1", "default/model-b/layer1"), rig.find("", "layer1$", false));
        assertEquals(2, rig.removeMatching("", "^model-a/layer(1|2)$", false));
        assertEquals(Set.of("default/model-b/layer1", "default/other"), rig.find("", "", false));
        assertEquals(1, rig.removeMatching("", "^(other|none)$", false));
        assertEquals(0, rig.removeMatching("another", "", false));
        assertEquals(1, rig.removeMatching("default", "", false));
        rig.assertEmpty();
    }

    @Test
    void shouldRemoveWhatMatchesByForceThoughItIsLeased() {
        rig.memory(ALICE, "memory", 64 * UNIT);
        rig.putMany(BOB, "key", 4, PutOptions.DEFAULT);
        rig.putMany(BOB, "other", 2, PutOptions.DEFAULT);
        rig.find("", "", true);
        assertEquals(0, rig.removeMatching("", "^key", false));
        assertEquals(2, rig.removeMatching("", "^key[01]$", true));
        assertEquals(Set.of("default/key2", "default/key3", "default/other0", "default/other1"),
            rig.find("", "", false));
        assertEquals(RemoveOutcome.LEASED, rig.remove("key2", false).outcome());
    }

    @Test
    void shouldPassOverWhatIsLeasedOrBeingWritten() {
        rig.memory(ALICE, "memory", 64 * UNIT);
        rig.putMany(BOB, "key", 3, PutOptions.DEFAULT);
        rig.read("key0");
        final long version = rig.started(BOB, "unfinished", UNIT).version();
        assertEquals(2, rig.removeMatching("", "", false));
        assertTrue(rig.exists("key0"));
        assertEquals(1, rig.removeMatching("", "", true));
        assertEquals(Ack.OK, rig.end(BOB, "unfinished", version));
        assertEquals(1, rig.stats().objects());
    }

    @Test
    void shouldRefuseAPatternOrACursorThatIsNone() {
        rig.memory(ALICE, "memory", 64 * UNIT);
        rig.put(BOB, "key", UNIT);
        rig.assertRefused(ErrorCode.INVALID_PARAMS, new ObjectCommand.RemoveMatching("", "(", false, 0));
        rig.assertRefused(ErrorCode.INVALID_PARAMS, new ObjectCommand.Find("", "[", true, 0));
        for (final long cursor : new long[] {-2, FindReply.END, ObjectCatalogue.BUCKETS}) {
            rig.assertRefused(ErrorCode.INVALID_PARAMS, new ObjectCommand.RemoveMatching("", "", true, cursor));
            rig.assertRefused(ErrorCode.INVALID_PARAMS, new ObjectCommand.Find("", "", true, cursor));
        }
    }

    @Test
    void shouldFindAllOfALargeCatalogueOnceInParts() {
        rig.memory(ALICE, "memory", 20_010 * UNIT);
        rig.putMany(BOB, "key", 20_000, PutOptions.DEFAULT);
        final TreeSet<String> found = new TreeSet<>();
        long cursor = 0;
        int parts = 0;
        while (cursor != FindReply.END) {
            final FindReply part = rig.apply(new ObjectCommand.Find("", "", false, cursor));
            assertTrue(part.found().size() <= Reads.SCAN_OBJECTS + 100, "a part stays small");
            part.found().forEach(one -> assertTrue(found.add(one.key().key())));
            // What comes and goes between two parts does not move what stays.
            rig.put(BOB, "new" + parts, UNIT);
            rig.remove("new" + parts, true);
            cursor = part.cursor();
            parts++;
        }
        found.removeIf(name -> name.startsWith("new"));
        assertEquals(20_000, found.size());
        assertEquals(5, parts);
        assertEquals(20_000, rig.removeMatching("", "", false));
        rig.assertEmpty();
    }

    @Test
    void shouldAnswerABatchOfRemovalsInItsOrder() {
        rig.memory(ALICE, "memory", 2048 * UNIT);
        rig.putMany(BOB, "key", 1000, PutOptions.DEFAULT);
        rig.put(BOB, "Schlüssel /\n☃ 𝄞", UNIT);
        final List<ObjectCommand.Remove> items = new ArrayList<>();
        for (int i = 0; i < 1000; i++) {
            items.add(new ObjectCommand.Remove(key("key" + i), false));
        }
        items.add(new ObjectCommand.Remove(key("key7"), false));
        items.add(new ObjectCommand.Remove(key("none"), false));
        items.add(new ObjectCommand.Remove(key("Schlüssel /\n☃ 𝄞"), false));
        final var results = rig.apply(new Batch<>(items));
        assertEquals(1003, results.size());
        for (int i = 0; i < 1003; i++) {
            assertEquals(i == 1000 || i == 1001 ? RemoveOutcome.NOT_FOUND : RemoveOutcome.REMOVED,
                results.get(i).orThrow().outcome());
        }
        assertEquals(0, rig.apply(new Batch<>(List.<ObjectCommand.Remove>of())).size());
        rig.assertEmpty();
    }

    @Test
    void shouldAnswerABatchOfExistenceInItsOrder() {
        rig.memory(ALICE, "memory", 64 * UNIT);
        rig.put(BOB, "grouped", UNIT, PutOptions.DEFAULT.withGroup("group"));
        rig.started(BOB, "unfinished", UNIT);
        final PutStartReply.Started started = (PutStartReply.Started) rig.apply(new ObjectCommand.PutStart(BOB, 1,
            ObjectKey.of("tenant", "key"), UNIT, PutOptions.DEFAULT, false));
        rig.apply(new ObjectCommand.PutEnd(BOB, ObjectKey.of("tenant", "key"), started.version(), Scope.ALL, false,
            0));
        final List<ObjectKey> keys = List.of(key("none"), key("grouped"), key("unfinished"), key("key"),
            ObjectKey.of("tenant", "key"));
        final List<Boolean> answers = new ArrayList<>();
        rig.apply(new Batch<>(keys.stream().map(ObjectCommand.Exists::new).toList()))
            .forEach(result -> answers.add(result.orThrow()));
        assertEquals(List.of(false, true, false, false, true), answers);
    }

    @Test
    void shouldKeepTheKeysOfTenantsApart() {
        rig.memory(ALICE, "memory", 64 * UNIT);
        for (final String tenant : List.of("one", "two")) {
            final ObjectKey name = ObjectKey.of(tenant, "key");
            final PutStartReply.Started started = (PutStartReply.Started) rig.apply(
                new ObjectCommand.PutStart(BOB, 1, name, UNIT, PutOptions.DEFAULT, false));
            rig.apply(new ObjectCommand.PutEnd(BOB, name, started.version(), Scope.ALL, false, 0));
        }
        rig.put(BOB, "key", UNIT);
        assertEquals(Set.of("one/key", "two/key", "default/key"), rig.find("", "key", false));
        assertEquals(Set.of("two/key"), rig.find("two", "^k", true));
        assertEquals(Set.of(), rig.find("three", "", true));
        assertEquals(1, rig.removeMatching("one", "key", false));
        assertEquals(Set.of("two/key", "default/key"), rig.find("", "key", false));
        assertEquals(1, rig.removeMatching("", "", false), "the search in the other tenant leased what it found");
        assertEquals(1, rig.removeMatching("two", "", true));
        rig.advance(LEASE_MS);
        rig.assertEmpty();
    }

    @Test
    void shouldClearWhatAClientWroteAndNobodyReads() {
        final UUID first = rig.memory(ALICE, "first", 64 * UNIT);
        rig.memory(ALICE, "second", 64 * UNIT);
        rig.put(BOB, "own", UNIT, PutOptions.DEFAULT.withReplicas(2));
        rig.put(BOB, "leased", UNIT, PutOptions.DEFAULT.withReplicas(2));
        rig.put(ALICE, "others", UNIT, PutOptions.DEFAULT.withReplicas(2));
        rig.started(BOB, "unfinished", UNIT);
        rig.read("leased");
        final List<ObjectKey> keys = List.of(key("own"), key("leased"), key("others"), key("unfinished"),
            key("none"));
        assertEquals(List.of(key("own")), rig.apply(new ObjectCommand.ReplicaClear(BOB, keys, "second")));
        assertEquals(List.of(first), places(rig.query("own").replicas()));
        assertEquals(List.of(), rig.apply(new ObjectCommand.ReplicaClear(BOB, keys, "second")));
        assertEquals(List.of(), rig.apply(new ObjectCommand.ReplicaClear(BOB, keys, "nowhere")));
        assertEquals(List.of(key("own")), rig.apply(new ObjectCommand.ReplicaClear(BOB, keys, "")));
        assertFalse(rig.exists("own"));
        assertEquals(2, rig.query("leased").replicas().size());
        assertEquals(2, rig.query("others").replicas().size());
        assertEquals(1, rig.stats().pendingWrites());
    }

    @Test
    void shouldRemoveAnObjectWhoseLastReplicaIsCleared() {
        rig.memory(ALICE, "memory", 64 * UNIT);
        rig.put(BOB, "key", UNIT);
        assertEquals(List.of(key("key")),
            rig.apply(new ObjectCommand.ReplicaClear(BOB, List.of(key("key")), "memory")));
        rig.assertEmpty();
    }

    @Test
    void shouldPromiseALeaseOnlyWhereOneWasGiven() {
        rig.memory(ALICE, "memory", 64 * UNIT);
        rig.put(BOB, "key", UNIT);
        assertEquals(0, rig.query("key").leaseMs());
        assertEquals(0, rig.apply(new ObjectCommand.Find("", "", false, 0)).found().stream()
            .mapToLong(found -> found.object().leaseMs()).sum());
        assertEquals(RemoveOutcome.REMOVED, rig.remove("key", false).outcome());
        rig.put(BOB, "key", UNIT);
        long leaseMs = 0;
        for (long cursor = 0; cursor != FindReply.END;) {
            final FindReply part = rig.apply(new ObjectCommand.Find("", "", true, cursor));
            leaseMs += part.found().stream().mapToLong(found -> found.object().leaseMs()).sum();
            cursor = part.cursor();
        }
        assertEquals(LEASE_MS, leaseMs);
    }

    @Test
    void shouldLeaveNoTraceOfASearchThatTakesTooManySteps() {
        rig.memory(ALICE, "memory", 64 * UNIT);
        rig.putMany(BOB, "key", 40, PutOptions.DEFAULT);
        rig.put(BOB, "a".repeat(4000) + "!", UNIT);
        final String hard = "^(key.*|(a+)+)$";
        rig.assertRefused(ErrorCode.INVALID_PARAMS, new ObjectCommand.RemoveMatching("", hard, true, 0));
        rig.assertRefused(ErrorCode.INVALID_PARAMS, new ObjectCommand.Find("", hard, true, 0));
        assertEquals(41, rig.removeMatching("", "", false), "nothing has been leased");
    }

    /** They need more steps than there is time for, and none of them is a look at a character of the key. */
    static Stream<String> blind() {
        return Stream.of("(?:^|^)".repeat(60) + "(?!)", "(?:\\z|\\z)".repeat(60) + "(?!)", "(|)".repeat(60) + "(?!)",
            "^.*" + "(?:a?|b?)".repeat(60) + "c", "(?:^{2147483647}){2147483647}", "(?:(?:){2147483647}){2147483647}",
            "(?:$?\\G?)".repeat(60) + "(?!)",
            "(?<=(?:^|^)" + "(?:^|^)".repeat(60) + "(?!))");
    }

    /** One client that sends such a one must not stop the master for all the others. */
    @ParameterizedTest
    @MethodSource("blind")
    @Timeout(value = 1, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
    void shouldRefuseAPatternThatTakesTimeWithoutLookingAtTheKey(final String pattern) {
        rig.memory(ALICE, "memory", 64 * UNIT);
        rig.put(BOB, "kkkk", UNIT);
        rig.assertRefused(ErrorCode.INVALID_PARAMS, new ObjectCommand.Find("", pattern, true, 0));
        rig.assertRefused(ErrorCode.INVALID_PARAMS, new ObjectCommand.RemoveMatching("", pattern, true, 0));
        assertEquals(1, rig.removeMatching("", "", false), "nothing has been leased");
    }

    /** What cannot be rewritten so that it looks at the key. */
    @ParameterizedTest
    @ValueSource(strings = {"(k)\\1", "(?<a>k)\\k<a>", "(?x)k # comment (", "(?ix:k)", "[]k]", "[k&&&a]", "\\c\\Q(\\E",
        "k\\b{g}"})
    void shouldRefuseAPatternThatIsNotForKeys(final String pattern) {
        rig.memory(ALICE, "memory", 64 * UNIT);
        rig.assertRefused(ErrorCode.INVALID_PARAMS, new ObjectCommand.Find("", pattern, true, 0));
    }

    /** About 100,000 steps on each of these keys, none of which has a match. */
    private static final String SLOW = "a*a*b|-";

    private static String slowKey(final int number) {
        return "a".repeat(60) + '/' + number;
    }

    @Test
    void shouldEndAPartOfAScanEarlyWhenItsPatternIsSlow() {
        rig.memory(ALICE, "memory", 1024 * UNIT);
        for (int i = 0; i < 300; i++) {
            rig.put(BOB, slowKey(i), UNIT);
        }
        rig.put(BOB, "found-", UNIT);
        int parts = 0;
        int found = 0;
        for (long cursor = 0; cursor != FindReply.END; parts++) {
            final FindReply part = rig.apply(new ObjectCommand.Find("", SLOW, false, cursor));
            found += part.found().size();
            cursor = part.cursor();
        }
        assertEquals(1, found);
        assertTrue(parts > 3 && parts < 100, parts + " parts");
        assertEquals(1, rig.removeMatching("", SLOW, false));
        assertEquals(300, rig.stats().objects());
    }

    /** Keys that a hostile client chose so that all of them lie where a scan cannot stop between them. */
    @Test
    void shouldRefuseAPatternThatIsSlowOnTheKeysOfOneBucket() {
        rig.memory(ALICE, "memory", 1024 * UNIT);
        for (int number = 0, there = 0; there < 150; number++) {
            if (key(slowKey(number)).hashCode() * 0x9E3779B9 >>> 20 == 5) {
                rig.put(BOB, slowKey(number), UNIT);
                there++;
            }
        }
        for (final Command<?> slow : List.of(new ObjectCommand.Find("", SLOW, true, 0),
            new ObjectCommand.RemoveMatching("", SLOW, true, 0))) {
            final StoreException e = assertThrows(StoreException.class, () -> rig.apply(slow));
            assertEquals(ErrorCode.INVALID_PARAMS, e.code());
            assertTrue(e.getMessage().contains("'" + SLOW + "'") && e.getMessage().contains("10000000 steps")
                && e.getMessage().contains("fewer repetitions"), e.getMessage());
        }
        assertEquals(150, rig.removeMatching("", "^a", false), "nothing has been leased");
    }
}
