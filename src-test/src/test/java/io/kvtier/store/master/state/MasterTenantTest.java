package io.kvtier.store.master.state;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.LeakCheck;
import io.kvtier.store.BatchResult;
import io.kvtier.store.PutOptions;
import io.kvtier.store.PutOutcome;
import io.kvtier.store.RemoveOutcome;
import io.kvtier.store.protocol.Batch;
import io.kvtier.store.protocol.Command.Ack;
import io.kvtier.store.protocol.ObjectCommand;
import io.kvtier.store.protocol.ObjectCommand.Scope;
import io.kvtier.store.protocol.PutStartReply;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** The same key in two tenants: two objects, whatever is done to one of them. */
@ExtendWith(LeakCheck.class)
class MasterTenantTest {
    private static final String ONE = "one/k";
    private static final String TWO = "two/k";

    private final TenantRig rig = new TenantRig(false);

    @BeforeEach
    void lend() {
        rig.memory(TenantRig.ANN, "m", 4096);
    }

    @AfterEach
    void close() {
        rig.close();
    }

    private PutStartReply.Started replacing(final String key, final long size) {
        return rig.started(rig.put(TenantRig.ANN, key, size, PutOptions.DEFAULT, true));
    }

    @Test
    void shouldReplaceAndRevokeInOneTenantAlone() {
        rig.store(ONE, 100);
        rig.store(TWO, 200);
        final PutStartReply.Started one = replacing(ONE, 300);
        final PutStartReply.Started two = replacing(TWO, 400);
        assertEquals(Ack.STALE, rig.apply(TenantRig.end(TWO, one, Scope.ALL)), "another key's version means nothing");
        assertEquals(Ack.STALE, rig.apply(TenantRig.revoke(ONE, two, Scope.ALL)));
        assertEquals(Ack.OK, rig.apply(TenantRig.revoke(ONE, one, Scope.ALL)));
        assertEquals(100, rig.query(ONE).size());
        assertEquals(200, rig.query(TWO).size());
        rig.ended(TWO, two);
        assertEquals(100, rig.query(ONE).size());
        assertEquals(400, rig.query(TWO).size());
        assertEquals(Ack.OK, rig.apply(TenantRig.revoke(TWO, replacing(TWO, 400), Scope.ALL)), "it lay where it was");
        assertTrue(rig.has(ONE));
        rig.remove(ONE);
        rig.assertEmpty();
    }

    @Test
    void shouldPutAndReadInOneTenantAlone() {
        final PutStartReply.Started one = rig.started(ONE, 100);
        final PutStartReply.Started two = rig.started(TWO, 200);
        assertEquals(new PutStartReply.Taken(PutOutcome.BEING_WRITTEN), rig.apply(rig.put(ONE, 100)));
        rig.ended(ONE, one);
        assertEquals(new PutStartReply.Taken(PutOutcome.ALREADY_EXISTS), rig.apply(rig.put(ONE, 100)));
        assertEquals(new PutStartReply.Taken(PutOutcome.BEING_WRITTEN), rig.apply(rig.put(TWO, 100)));
        assertTrue(rig.has(ONE) && !rig.has(TWO));
        rig.ended(TWO, two);
        rig.read(ONE);
        assertEquals(RemoveOutcome.REMOVED, removed(TWO));
        assertEquals(RemoveOutcome.LEASED, removed(ONE));
    }

    private RemoveOutcome removed(final String key) {
        return rig.apply(new ObjectCommand.Remove(TenantRig.key(key), false)).outcome();
    }

    @Test
    void shouldGiveTheItemsOfABatchToTheirTenants() {
        rig.store(TWO, 200);
        final List<BatchResult<PutStartReply>> puts =
            rig.apply(new Batch<>(List.of(rig.put(ONE, 100), rig.put(TWO, 100), rig.put("k", 50))));
        final PutStartReply.Started one = assertInstanceOf(PutStartReply.Started.class, puts.get(0).orThrow());
        assertEquals(new PutStartReply.Taken(PutOutcome.ALREADY_EXISTS), puts.get(1).orThrow());
        final PutStartReply.Started none = assertInstanceOf(PutStartReply.Started.class, puts.get(2).orThrow());
        assertEquals(List.of(Ack.OK, Ack.STALE), acks(new Batch<>(List.of(TenantRig.end(ONE, one, Scope.ALL),
            TenantRig.end(ONE, none, Scope.ALL)))));
        assertEquals(List.of(Ack.OK), acks(new Batch<>(List.of(TenantRig.revoke("k", none, Scope.ALL)))));
        assertEquals(List.of(100L, 200L, 0L), rig.apply(new Batch<>(List.of(read(ONE), read(TWO), read("k")))).stream()
            .map(reply -> reply.orThrow().size()).toList());
        assertEquals(List.of(RemoveOutcome.REMOVED, RemoveOutcome.NOT_FOUND), rig.apply(new Batch<>(List.of(
            new ObjectCommand.Remove(TenantRig.key(TWO), true), new ObjectCommand.Remove(TenantRig.key("k"), true))))
            .stream().map(reply -> reply.orThrow().outcome()).toList());
        assertTrue(rig.has(ONE));
    }

    private static ObjectCommand.ReadStart read(final String key) {
        return new ObjectCommand.ReadStart(TenantRig.key(key), false);
    }

    private List<Ack> acks(final Batch<Ack> batch) {
        return rig.apply(batch).stream().map(BatchResult::orThrow).toList();
    }
}
