package io.kvtier.store.master;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.ManualClock;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.PutOptions;
import io.kvtier.store.SoftPin;
import io.kvtier.store.StoreException;
import io.kvtier.store.master.state.Effects;
import io.kvtier.store.master.state.MasterSettings;
import io.kvtier.store.master.state.StateMachine;
import io.kvtier.store.protocol.AdminCommand;
import io.kvtier.store.protocol.Command;
import io.kvtier.store.protocol.ObjectCommand;
import io.kvtier.store.protocol.PutStartReply;
import io.kvtier.store.protocol.SegmentCommand;
import io.kvtier.store.protocol.WorkKind;
import io.kvtier.store.replica.SegmentAddress;
import io.kvtier.transport.AccessToken;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** A master that has no thread: time passes all the same, and nothing that happened is kept from the listener. */
@ExtendWith(LeakCheck.class)
class EmbeddedMasterTest {
    private static final UUID CLIENT = new UUID(1, 1);

    private final ManualClock clock = new ManualClock(1000);
    private final List<String> told = new ArrayList<>();
    private final Effects listener = new Effects() {
        @Override
        public void workQueued(final UUID clientId, final WorkKind kind) {
            told.add(kind + " of " + clientId);
        }

        @Override
        public void spaceFreed() {
            told.add("space");
        }
    };

    @Test
    void shouldEndASoftPinThoughNobodyTouchesItsValue() {
        try (EmbeddedMaster master = new EmbeddedMaster(MasterSettings.embedded(1, 0, 0, 0), clock, listener)) {
            master.apply(new SegmentCommand.Ping(CLIENT, "client", "host", ""));
            master.apply(new SegmentCommand.Mount(CLIENT, new SegmentCommand.SegmentSpec("memory",
                SegmentCommand.Medium.MEMORY, 1 << 20, 4096, new SegmentAddress(new UUID(2, 2), "", AccessToken.NONE),
                true)));
            final ObjectKey key = ObjectKey.of("pinned");
            final PutStartReply.Started started = (PutStartReply.Started) master.apply(new ObjectCommand.PutStart(
                CLIENT, 1, key, 100, PutOptions.DEFAULT.withSoftPin(SoftPin.forMillis(5000)), false));
            master.apply(new ObjectCommand.PutEnd(CLIENT, key, started.version(), ObjectCommand.Scope.ALL, false, 0));
            clock.advance(4999);
            assertEquals(1, master.apply(new AdminCommand.Statistics()).softPinned());

            clock.advance(1);

            assertEquals(0, master.apply(new AdminCommand.Statistics()).softPinned());
        }
    }

    @Test
    void shouldTellWhatHappenedThoughTheCommandIsRefused() {
        final Running running = new Running(effects -> new StateMachine() {
            @Override
            public <R> R apply(final Command<R> command, final long nowMs) {
                effects.spaceFreed();
                effects.workQueued(CLIENT, WorkKind.OFFLOADS);
                throw new StoreException(ErrorCode.INVALID_PARAMS, "a test's");
            }

            @Override
            public void close() {
                told.add("closed");
            }
        }, clock);
        try (EmbeddedMaster master = new EmbeddedMaster(running, listener)) {
            assertThrows(StoreException.class, () -> master.apply(new AdminCommand.Statistics()));

            assertEquals(List.of("OFFLOADS of " + CLIENT, "space"), told);
        }
        assertEquals("closed", told.getLast());
    }
}
