package io.kvtier.store.master.state;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kvtier.kit.LeakCheck;
import io.kvtier.store.protocol.Command.Ack;
import io.kvtier.store.protocol.GdsCommand;
import io.kvtier.store.protocol.GdsCommand.GdsState;
import io.kvtier.store.protocol.GdsCommand.GdsStorageSpec;
import io.kvtier.store.protocol.GdsCommand.GdsWork;
import io.kvtier.store.protocol.MasterStats.GdsTold;
import io.kvtier.transport.HostDetour;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** What owners of files tell of their work: kept by file, and never less in all than before. */
@ExtendWith(LeakCheck.class)
class GdsReportsTest {
    private static final UUID OTHER_FILE = new UUID(0xF11E, 2);
    private static final GdsState IDLE = new GdsState(0, 0, 0, HostDetour.NONE, "posix: ready");

    private final MasterRig rig = new MasterRig();

    @BeforeEach
    void register() {
        register(MasterRig.ALICE, GdsReplicasTest.FILE);
    }

    @AfterEach
    void close() {
        rig.close();
    }

    private void register(final UUID client, final UUID file) {
        assertEquals(Ack.OK, rig.apply(new GdsCommand.RegisterGdsStorage(client,
            new GdsStorageSpec(file, GdsReplicasTest.GENERATION, "", 40_960, 40_960, 40_960))));
        rig.ping(client, "h");
    }

    /** So much of everything, and of reads ten times that. */
    private static GdsWork work(final long each) {
        return new GdsWork(each, each, each, 10 * each, each, each, each, each, each, each);
    }

    private Ack report(final UUID client, final UUID file, final long run, final GdsWork work) {
        return rig.apply(new GdsCommand.ReportGdsWork(client, file, GdsReplicasTest.GENERATION, run, work, IDLE));
    }

    private Ack report(final long run, final GdsWork work) {
        return report(MasterRig.ALICE, GdsReplicasTest.FILE, run, work);
    }

    private GdsWork all() {
        return rig.stats().gds().told().work();
    }

    private GdsWork listed() {
        return rig.apply(new GdsCommand.GdsStorages()).getFirst().work();
    }

    @Test
    void shouldKeepWhatTheOwnerHasToldLast() {
        final GdsState state = new GdsState(8192, 2, 1, HostDetour.ALWAYS, "gds: compatibility mode");
        assertEquals(Ack.OK, report(1, work(3)));
        assertEquals(Ack.OK, rig.apply(new GdsCommand.ReportGdsWork(MasterRig.ALICE, GdsReplicasTest.FILE,
            GdsReplicasTest.GENERATION, 1, work(5), state)));
        assertEquals(work(5), listed());
        assertEquals(state, rig.apply(new GdsCommand.GdsStorages()).getFirst().state());
        assertEquals(new GdsTold(work(5), 2, 1, 1), rig.stats().gds().told());
    }

    @Test
    void shouldLowerNoCountForAReportThatComesTwiceOrLate() {
        report(1, work(3));
        report(1, work(3));
        report(1, work(2));
        report(1, new GdsWork(1, 9, 1, 1, 1, 1, 1, 1, 1, 1));
        assertEquals(new GdsWork(3, 9, 3, 30, 3, 3, 3, 3, 3, 3), all());
    }

    /** The owner registers again what the master still knows: it begins at 0, and has told the rest before. */
    @Test
    void shouldAddTheRunsOfOneFile() {
        report(1, work(3));
        register(MasterRig.ALICE, GdsReplicasTest.FILE);
        report(2, work(1));
        assertEquals(work(4), all());
        assertEquals(Ack.STALE, report(1, work(100)), "sent in a run that is over");
        assertEquals(work(4), listed());
    }

    @Test
    void shouldBeginAtZeroWithANewRegistrationAndKeepTheSum() {
        report(1, work(3));
        rig.apply(new GdsCommand.UnregisterGdsStorage(MasterRig.ALICE, GdsReplicasTest.FILE,
            GdsReplicasTest.GENERATION));
        assertEquals(new GdsTold(work(3), 0, 0, 0), rig.stats().gds().told());
        assertEquals(Ack.STALE, report(1, work(4)), "nobody knows the file");
        register(MasterRig.ALICE, GdsReplicasTest.FILE);
        assertEquals(GdsWork.NONE, listed());
        assertEquals(work(3), all());
        report(2, work(2));
        assertEquals(work(2), listed());
        assertEquals(work(5), all());
    }

    @Test
    void shouldKeepFilesOfDifferentClientsApart() {
        register(MasterRig.BOB, OTHER_FILE);
        report(1, work(1));
        report(MasterRig.BOB, OTHER_FILE, 7, work(2));
        assertEquals(work(3), all());
        assertEquals(work(1), listed());
        assertEquals(Ack.STALE, report(MasterRig.BOB, GdsReplicasTest.FILE, 8, work(9)), "it is Alice's");
        // Another process has the file now: the one before has ended.
        register(MasterRig.BOB, GdsReplicasTest.FILE);
        assertEquals(work(3), all());
        assertEquals(Ack.STALE, report(2, work(9)));
    }
}
