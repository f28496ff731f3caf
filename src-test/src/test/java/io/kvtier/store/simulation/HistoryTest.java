package io.kvtier.store.simulation;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.store.ObjectKey;
import org.junit.jupiter.api.Test;

/** The judge of the simulation, judged by histories that are right or wrong at a glance. */
class HistoryTest {
    private static final ObjectKey KEY = ObjectKey.of("key");
    private static final ObjectKey OTHER = ObjectKey.of("other");

    private final History history = new History(new Tally());

    @Test
    void shouldAcceptTheWholeValueOfAPutThatWasDone() {
        final History.Put put = put(KEY, 1);
        assertDoesNotThrow(() -> read(KEY, 1, 20, put.unit(0), put.unit(1)));
    }

    @Test
    void shouldRefuseAMixOfTwoPuts() {
        final History.Put put = put(KEY, 1);
        final History.Put later = put(KEY, 2);
        refused("a mix", KEY, 1, 20, put.unit(0), later.unit(1));
    }

    @Test
    void shouldRefuseUnitsInTheWrongPlace() {
        final History.Put put = put(KEY, 1);
        refused("a mix", KEY, 1, 20, put.unit(1), put.unit(0));
    }

    @Test
    void shouldRefuseAPartOfAValue() {
        final History.Put put = put(KEY, 1);
        refused("another value", KEY, 1, 20, put.unit(0));
    }

    @Test
    void shouldRefuseWhatNobodyWrote() {
        put(KEY, 1);
        refused("nobody ever wrote", KEY, 1, 20, 0, 0);
    }

    @Test
    void shouldRefuseAnotherKeysValue() {
        final History.Put put = put(OTHER, 1);
        refused("another key", KEY, 1, 20, put.unit(0), put.unit(1));
    }

    @Test
    void shouldRefuseAnotherVersionThanTheMasterNamed() {
        final History.Put put = put(KEY, 1);
        refused("another value", KEY, 2, 20, put.unit(0), put.unit(1));
    }

    @Test
    void shouldRefuseAValueWhoseWriterWasNotDone() {
        final History.Put put = history.put(KEY, 2, "writer");
        history.started(put, 1, 1);
        refused("not done", KEY, 1, 20, put.unit(0), put.unit(1));
    }

    @Test
    void shouldRefuseWhatWasRemovedBeforeTheReadBegan() {
        final History.Put put = put(KEY, 1);
        history.removed(KEY, 1, 1, 14, 15);
        assertDoesNotThrow(() -> read(KEY, 1, 15, put.unit(0), put.unit(1)), "the read may have come first");
        refused("removed value came back", KEY, 1, 16, put.unit(0), put.unit(1));
    }

    @Test
    void shouldRefuseWhatWasStoredBeforeARemovalThatFoundNothing() {
        final History.Put put = put(KEY, 1);
        history.removed(KEY, 0, 1, 14, 15);
        refused("removed value came back", KEY, 1, 16, put.unit(0), put.unit(1));
    }

    @Test
    void shouldRefuseWhatWasReplacedBeforeTheReadBegan() {
        final History.Put put = put(KEY, 1);
        put(KEY, 2);
        refused("replaced value came back", KEY, 1, 20, put.unit(0), put.unit(1));
    }

    @Test
    void shouldAllowForWhatANewMasterCannotKnow() {
        final History.Put put = put(KEY, 1);
        history.removed(KEY, 1, 1, 14, 15);
        assertDoesNotThrow(() -> history.accepted(new History.Read(KEY, 1, 2, 16, 30, units(put), "a read")));
    }

    /** Term 3 goes on from what term 2 knew at 20, and that from what term 1 knew at 15. */
    @Test
    void shouldHoldARestoredMasterToWhatItsSnapshotsKnow() {
        final History.Put put = put(KEY, 1);
        history.removed(KEY, 1, 1, 14, 15);
        history.restored(2, 1, 15);
        history.restored(3, 2, 20);
        for (final long term : new long[] {2, 3}) {
            assertTrue(assertThrows(Violation.class, () -> history.accepted(new History.Read(KEY, 1, term, 16, 30,
                units(put), "a read"))).getMessage().contains("removed value came back"));
        }
        history.restored(4, 1, 14);
        assertDoesNotThrow(() -> history.accepted(new History.Read(KEY, 1, 4, 16, 30, units(put), "a read")));
    }

    @Test
    void shouldAllowForAnOlderValueThatWasAwayWhileAnInsertedOneCameAndWent() {
        final History.Put put = put(KEY, 1);
        history.onDisk(1);
        final History.Put later = history.put(KEY, 2, "writer");
        history.started(later, 2, 1);
        history.stored(later, true, 1, 10);
        assertDoesNotThrow(() -> read(KEY, 1, 20, put.unit(0), put.unit(1)));
        history.stored(later, false, 1, 12);
        refused("replaced value came back", KEY, 1, 20, put.unit(0), put.unit(1));
    }

    @Test
    void shouldTellATornValueFromAWholeOne() {
        final History.Put put = put(KEY, 1);
        final History.Put later = put(KEY, 2);
        assertFalse(History.isTorn(units(put)));
        assertTrue(History.isTorn(new long[] {put.unit(0), later.unit(1)}));
    }

    private static long[] units(final History.Put put) {
        return new long[] {put.unit(0), put.unit(1)};
    }

    /** A put of two units, whose end was sent at 5 and answered at 10, of the first term. */
    private History.Put put(final ObjectKey key, final long version) {
        final History.Put put = history.put(key, 2, "writer");
        history.started(put, version, 1);
        put.endSent(5);
        history.stored(put, false, 1, 10);
        return put;
    }

    private void read(final ObjectKey key, final long version, final long beginUs, final long... units) {
        history.accepted(new History.Read(key, version, 1, beginUs, 30, units, "a read"));
    }

    private void refused(final String why, final ObjectKey key, final long version, final long beginUs,
        final long... units) {
        final Violation violation = assertThrows(Violation.class, () -> read(key, version, beginUs, units));
        assertTrue(violation.getMessage().contains(why), violation::getMessage);
    }
}
