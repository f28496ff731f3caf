package io.kvtier.transport.tcp;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.kvtier.transport.AccessToken;
import io.kvtier.transport.SegmentAddress;
import org.junit.jupiter.api.Test;

/** Numbers of segments on one connection: no two have the same, or one's bytes would be taken for the other's. */
class LaneHandlesTest {
    private static final PeerException REFUSAL = new PeerException(Status.UNKNOWN_SEGMENT, "nothing is exported");

    private final LaneHandles handles = new LaneHandles();
    private final TcpSegment first = segment("first");
    private final TcpSegment second = segment("second");
    private final TcpSegment third = segment("third");

    private static TcpSegment segment(final String name) {
        return new TcpSegment(null, SegmentAddress.parse("tcp://127.0.0.1:1/" + name), AccessToken.NONE, one -> { });
    }

    /** A cancelled read lets its segment be closed while the server is still asked to open it. */
    @Test
    void shouldFreeANumberOnceWhenASegmentIsReleasedBeforeItsOpeningIsRefused() {
        final LaneHandles.Handle opening = handles.add(first, 8);
        handles.remove(first);
        handles.refused(first, opening, REFUSAL);
        final LaneHandles.Handle meanwhile = handles.add(second, 8);
        handles.free(opening);

        assertNotEquals(meanwhile.number(), handles.add(third, 8).number());
        assertEquals(REFUSAL, opening.refusal());
    }

    @Test
    void shouldGiveANumberAgainOnceItIsReleasedOrRefused() {
        final LaneHandles.Handle released = handles.add(first, 1);
        assertNull(handles.add(second, 1));
        handles.remove(first);
        assertNull(handles.add(second, 1), "the server may still take the number for the first");
        handles.free(released);

        final LaneHandles.Handle refused = handles.add(second, 1);
        assertEquals(0, refused.number());
        handles.refused(second, refused, REFUSAL);
        assertNull(handles.of(second));
        assertEquals(0, handles.add(third, 1).number());
    }
}
