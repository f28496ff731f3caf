package io.kvtier.store.client.gds;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreException;
import io.kvtier.store.protocol.Command;
import io.kvtier.store.protocol.Command.Ack;
import io.kvtier.store.protocol.GdsCommand.GdsState;
import io.kvtier.store.protocol.GdsCommand.GdsWork;
import io.kvtier.store.protocol.GdsCommand.ReportGdsWork;
import io.kvtier.store.protocol.Master;
import io.kvtier.transport.HostDetour;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.Test;

/** What a client tells the master of its file, and from where on it counts. */
class GdsReportsTest {
    private static final UUID CLIENT = new UUID(1, 2);
    private static final UUID FILE = new UUID(3, 4);
    private static final GdsState STATE = new GdsState(4096, 1, 0, HostDetour.NONE, "posix: ready");

    private final List<ReportGdsWork> told = new ArrayList<>();
    private Ack answer = Ack.OK;
    private boolean silent;
    private final GdsReports reports = new GdsReports(new Master() {
        @Override
        @SuppressWarnings("unchecked") // Nothing else is told.
        public <R> R apply(final Command<R> command) {
            told.add((ReportGdsWork) command);
            if (silent) {
                throw new StoreException(ErrorCode.RPC_TIMEOUT, "no answer");
            }
            return (R) answer;
        }
    }, CLIENT, FILE, 77);

    private static GdsWork puts(final long count) {
        return new GdsWork(count, 0, 4096 * count, 0, 0, 0, 0, 0, 0, 0);
    }

    private static ReportGdsWork report(final long run, final long count) {
        return new ReportGdsWork(CLIENT, FILE, 77, run, puts(count), STATE);
    }

    @Test
    void shouldTellNothingBeforeTheFileIsRegistered() {
        reports.tell(puts(1), STATE);
        assertEquals(List.of(), told);
    }

    @Test
    void shouldTellEachChangeOnce() {
        reports.begin();
        reports.tell(puts(0), STATE);
        reports.tell(puts(0), STATE);
        reports.tell(puts(2), STATE);
        reports.tell(puts(2), STATE);
        final GdsState fuller = new GdsState(8192, 2, 0, HostDetour.NONE, STATE.way());
        reports.tell(puts(2), fuller);
        assertEquals(List.of(report(1, 0), report(1, 2), new ReportGdsWork(CLIENT, FILE, 77, 1, puts(2), fuller)),
            told);
    }

    /** Whether the master has heard of it or not: the next report says all again. */
    @Test
    void shouldTellAgainWhatWasNotAnswered() {
        reports.begin();
        silent = true;
        assertThrows(StoreException.class, () -> reports.tell(puts(2), STATE));
        silent = false;
        reports.tell(puts(2), STATE);
        reports.tell(puts(3), STATE);
        assertEquals(List.of(report(1, 2), report(1, 2), report(1, 3)), told);
    }

    /** A master that has forgotten the file keeps the sum of what it had heard. */
    @Test
    void shouldBeginANewRunBehindWhatTheMasterHasHeard() {
        reports.begin();
        reports.tell(puts(5), STATE);
        answer = Ack.STALE;
        reports.tell(puts(7), STATE);
        answer = Ack.OK;
        reports.begin();
        reports.tell(puts(8), STATE);
        assertEquals(List.of(report(1, 5), report(1, 7), report(2, 3)), told, "those two that nobody knew, and one");
        reports.begin();
        reports.tell(puts(8), STATE);
        assertEquals(report(3, 0), told.getLast(), "how the file is must be told all the same");
    }
}
