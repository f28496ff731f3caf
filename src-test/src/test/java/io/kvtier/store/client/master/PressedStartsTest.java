package io.kvtier.store.client.master;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kvtier.store.ObjectKey;
import io.kvtier.store.PutOptions;
import io.kvtier.store.client.call.Counters;
import io.kvtier.store.client.call.Pressure;
import io.kvtier.store.protocol.Command;
import io.kvtier.store.protocol.Master;
import io.kvtier.store.protocol.ObjectCommand;
import io.kvtier.store.protocol.PutStartReply;
import io.kvtier.transport.Gate;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.Test;

/** Puts that wait for room at a master in the same process. */
class PressedStartsTest {
    private static final PutStartReply STARTED = new PutStartReply.Started(1, List.of());

    private final Pressure pressure = new Pressure();
    private final Counters counters = new Counters();
    private int asked;

    /** Room comes free at once after it was found that there is none, before the put begins to wait. */
    private final Master master = new Master() {
        @Override
        @SuppressWarnings("unchecked") // Nothing but puts is started.
        public <R> R apply(final Command<R> command) {
            asked++;
            if (asked <= 2) {
                pressure.signal();
                return (R) new PutStartReply.NoSpace(true);
            }
            return (R) STARTED;
        }
    };

    @Test
    void shouldNotMissRoomThatCameFreeWhileTheMasterAnswered() {
        final PressedStarts starts = new PressedStarts(master, pressure, new Gate(), counters, 20_000);
        final PutStarts.Answer answer = starts.start(new ObjectCommand.PutStart(new UUID(1, 2), 1, ObjectKey.of("key"),
            1, PutOptions.DEFAULT, false));
        assertEquals(STARTED, answer.reply());
        assertEquals(3, asked);
        assertEquals(1, counters.putWaits().sum(), "a put is counted once");
    }
}
