package io.kvtier.store.cli.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.store.BatchResult;
import io.kvtier.store.GetOutcome;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.PutOutcome;
import io.kvtier.store.cli.bench.ValueLoad.Operation;
import io.kvtier.store.replica.ReplicaType;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import org.junit.jupiter.api.Test;

final class ValueBatchesTest {
    private static final long BYTES = 4096;
    private static final int BATCH = 4;
    /** Of which four fifths are 17. */
    private static final long VALUES = 22;

    /** Keeps no values; writes down what it is asked for. */
    private static final class Recorder implements BatchBuffers {
        private final List<String> events = new ArrayList<>();
        private final List<ObjectKey> put = new ArrayList<>();
        private PutOutcome answer = PutOutcome.STORED;
        private boolean lost;
        /** Where it says that values come from. */
        private ReplicaType tier = ReplicaType.GDS;
        /** Processor time of a put; nanoseconds. */
        private long work;

        @Override
        public void write(final int place, final long number) {
            assertEquals(place, number % BATCH);
        }

        @Override
        public void spoil(final int place) {
            events.add("spoil " + place);
        }

        @Override
        public void check(final int place, final long number) {
            events.add("check " + place + ' ' + number);
        }

        @Override
        public void clear(final int place) {
            events.add("clear " + place);
        }

        @Override
        public void verify(final int place, final long number) {
            events.add("verify " + place + ' ' + number);
        }

        @Override
        public List<BatchResult<PutOutcome>> put(final List<ObjectKey> keys) {
            assertTrue(keys.size() <= BATCH, keys::toString);
            put.addAll(keys);
            final ThreadMXBean clock = ManagementFactory.getThreadMXBean();
            for (final long end = clock.getCurrentThreadCpuTime() + work; clock.getCurrentThreadCpuTime() < end;) {
                Thread.onSpinWait();
            }
            return keys.stream().map(key -> new BatchResult<>(answer, null)).toList();
        }

        @Override
        public List<BatchResult<GetOutcome>> get(final List<ObjectKey> keys, final int first) {
            for (int i = 0; i < keys.size(); i++) {
                assertTrue(put.contains(keys.get(i)), keys::toString);
                events.add("get " + (first + i) + ' ' + put.indexOf(keys.get(i)));
            }
            return keys.stream().map(key -> new BatchResult<>(lost ? GetOutcome.MISS
                : new GetOutcome(true, BYTES, tier), null)).toList();
        }
    }

    private static ValueBatches open(final Rig rig, final Operation operation, final Recorder recorder)
        throws IOException {
        return ValueBatches.open(rig, new ValueBatches.Shape(operation, BYTES, BATCH, ReplicaType.GDS), recorder,
            VALUES * BYTES);
    }

    @Test
    void shouldFillTheFileBeforePutsAndLeaveRoomBeforeGets() throws IOException {
        final Recorder puts = new Recorder();
        final Recorder gets = new Recorder();
        try (Rig rig = new Rig()) {
            open(rig, Operation.PUT, puts);
            open(rig, Operation.GET, gets);
        }
        // Whole batches.
        assertEquals(24, puts.put.size());
        assertEquals(17, gets.put.size());
    }

    @Test
    void shouldFetchWhatWasPutLast() throws IOException, InterruptedException {
        final Recorder recorder = new Recorder();
        try (Rig rig = new Rig()) {
            assertTrue(open(rig, Operation.PUT, recorder).mebibytesPerSecond(1) > 0);
        }
        assertEquals(recorder.put.size(), new HashSet<>(recorder.put).size(), "a key came twice");
        final int last = recorder.put.size() - 1;
        assertEquals(List.of("clear 4", "get 4 " + last, "verify 4 " + last), recorder.events);
    }

    @Test
    void shouldCheckEachValueThatWasFetched() throws IOException, InterruptedException {
        final Recorder recorder = new Recorder();
        try (Rig rig = new Rig()) {
            assertTrue(open(rig, Operation.GET, recorder).mebibytesPerSecond(1) > 0);
        }
        final List<String> events = recorder.events;
        assertEquals(List.of("clear 0", "clear 1", "clear 2", "clear 3"), events.subList(0, 4));
        // One batch or more, then a last look at each place.
        assertEquals(0, (events.size() - 8) % 12, events::toString);
        for (int i = 0; i < BATCH; i++) {
            final String got = events.get(8 + i).substring("get ".length());
            assertEquals("spoil " + i, events.get(4 + i));
            assertEquals("check " + got, events.get(12 + i));
            final String last = events.get(events.size() - 8 + i).substring("check ".length());
            assertEquals("verify " + last, events.get(events.size() - 4 + i));
        }
    }

    @Test
    void shouldCountTheProcessorTimeOfAGigabyte() throws IOException, InterruptedException {
        final Recorder recorder = new Recorder();
        try (Rig rig = new Rig()) {
            final ValueBatches load = open(rig, Operation.PUT, recorder);
            // Of some ticks: the clock of the process goes by 10 ms, and may be one behind.
            recorder.work = 300_000_000;
            final double least = recorder.work / 1e9 * (1e9 / (BATCH * BYTES));
            final double taken = load.cpuSecondsPerGigabyte(1);
            // A clock of the process beside one of a thread.
            assertTrue(taken > least * 0.9, () -> taken + " of at least " + least);
        }
    }

    @Test
    void shouldFailWhenAValueIsNotThere() throws IOException {
        final Recorder recorder = new Recorder();
        try (Rig rig = new Rig()) {
            final ValueBatches load = open(rig, Operation.GET, recorder);
            recorder.lost = true;
            final IOException thrown = assertThrows(IOException.class, () -> load.mebibytesPerSecond(1));
            assertTrue(thrown.getMessage().contains("of 4096 bytes"), thrown::getMessage);
        }
    }

    /** Else the speed of memory could be shown as that of a disk. */
    @Test
    void shouldFailWhenAValueComesFromAnotherTier() throws IOException {
        final Recorder recorder = new Recorder();
        try (Rig rig = new Rig()) {
            final ValueBatches load = open(rig, Operation.GET, recorder);
            recorder.tier = ReplicaType.MEMORY;
            final IOException thrown = assertThrows(IOException.class, () -> load.mebibytesPerSecond(1));
            assertTrue(thrown.getMessage().contains("in GDS: ") && thrown.getMessage().contains("MEMORY"),
                thrown::getMessage);
        }
    }

    @Test
    void shouldFailWhenAValueIsNotTaken() throws IOException {
        final Recorder recorder = new Recorder();
        recorder.answer = PutOutcome.NO_SPACE;
        try (Rig rig = new Rig()) {
            final IOException thrown = assertThrows(IOException.class, () -> open(rig, Operation.PUT, recorder));
            assertTrue(thrown.getMessage().contains("NO_SPACE"), thrown::getMessage);
        }
    }
}
