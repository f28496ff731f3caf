package io.kvtier.bindings;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import io.kvtier.kit.LeakCheck;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

@ExtendWith(LeakCheck.class)
class NativeResourcesTest {
    @Test
    void shouldCountHandlesAndBytesByTagWhenCreatedAndReleased() {
        assertFalse(NativeResources.snapshot().containsKey(NativeTag.TEST));

        NativeResources.created(NativeTag.TEST, 100);
        NativeResources.created(NativeTag.TEST, 23);
        assertEquals(new NativeResources.Usage(2, 123), NativeResources.snapshot().get(NativeTag.TEST));

        NativeResources.released(NativeTag.TEST, 100);
        assertEquals(new NativeResources.Usage(1, 23), NativeResources.snapshot().get(NativeTag.TEST));

        NativeResources.released(NativeTag.TEST, 23);
        assertFalse(NativeResources.snapshot().containsKey(NativeTag.TEST));
    }

    @Test
    void shouldListHandlesWithoutBytesWhenTheyHoldNone() {
        NativeResources.created(NativeTag.TEST, 0);
        try {
            assertEquals(new NativeResources.Usage(1, 0), NativeResources.snapshot().get(NativeTag.TEST));
        } finally {
            NativeResources.released(NativeTag.TEST, 0);
        }
    }

    @Test
    void shouldLoseNoCountWhenThreadsReportAtOnce() throws InterruptedException {
        final List<Thread> threads = IntStream.range(0, 8).mapToObj(i -> Thread.ofPlatform().unstarted(() -> {
            for (int n = 0; n < 1000; n++) {
                NativeResources.created(NativeTag.TEST, 7);
            }
        })).toList();
        threads.forEach(Thread::start);
        for (final Thread thread : threads) {
            thread.join();
        }

        assertEquals(new NativeResources.Usage(8000, 56_000), NativeResources.snapshot().get(NativeTag.TEST));
        for (int n = 0; n < 8000; n++) {
            NativeResources.released(NativeTag.TEST, 7);
        }
    }
}
