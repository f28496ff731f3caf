package io.kvtier.transport.tcp;

import io.kvtier.transport.Slice;
import java.util.ArrayList;
import java.util.List;

/**
 * A loop of the client: its inbox takes slices and parts of slices, and those that came together are sent together.
 *
 * <p><b>Threading:</b> that of {@link Loop}; the list is the loop's.
 */
final class ClientLoop {
    private final int index;
    private final List<PeerLanes> touched = new ArrayList<>();
    private final Loop loop;
    /** Requests that somebody waits for. */
    private int awaited;

    ClientLoop(final int index) {
        this.index = index;
        this.loop = new Loop("kvtier-tcp-" + (index + 1), this::take, this::pump, () -> awaited == 0);
    }

    Loop loop() {
        return loop;
    }

    /** To be pumped once the inbox was emptied. */
    void touch(final PeerLanes lanes) {
        touched.add(lanes);
    }

    void began() {
        awaited++;
    }

    void ended() {
        awaited--;
    }

    private void take(final Object item) {
        if (item instanceof Stage stage) {
            stage.slice().peer().lanes(index).enqueue(stage);
        } else {
            final Slice slice = (Slice) item;
            ((TcpSegment) slice.handle()).peer().lanes(index).enqueue(slice);
        }
    }

    private void pump() {
        for (int i = 0; i < touched.size(); i++) {
            final PeerLanes lanes = touched.get(i);
            lanes.untouch();
            lanes.pump();
        }
        touched.clear();
    }
}
