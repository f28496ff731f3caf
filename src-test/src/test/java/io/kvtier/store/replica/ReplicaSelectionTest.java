package io.kvtier.store.replica;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** The one table of which replica is read. Letters are replicas in the order of the record; the first is read first. */
class ReplicaSelectionTest {
    private static final UUID ME = new UUID(1, 1);
    private static final UUID OTHER = new UUID(2, 2);
    private static final String HERE = "here:1";

    static Stream<Arguments> table() {
        return Stream.of(
            Arguments.of("own memory before any other", "disk-other disk-own memory-other memory-own", "3 2 1 0"),
            Arguments.of("within a rank the order of the record", "memory-other memory-other", "0 1"),
            Arguments.of("own disk before another's", "disk-other disk-own", "1 0"),
            Arguments.of("what is not complete is never read", "memory-own-processing disk-other", "1"),
            Arguments.of("removed ones are never read", "memory-own-removed", ""),
            Arguments.of("none", "", ""));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("table")
    void shouldReadInTheOrderOfTheTable(final String rule, final String replicas, final String order) {
        final List<Replica> record = replicas.isEmpty() ? List.of()
            : IntStream.range(0, replicas.split(" ").length)
                .mapToObj(i -> replica(i, replicas.split(" ")[i])).toList();
        final List<Long> read = new ArrayList<>();
        Replica next = ReplicaSelection.best(record, ME, HERE, Set.of());
        while (next != null) {
            read.add(next.id());
            next = ReplicaSelection.best(record, ME, HERE, Set.copyOf(read));
        }
        final List<Long> expected = order.isEmpty() ? List.of()
            : Arrays.stream(order.split(" ")).map(Long::valueOf).toList();
        assertEquals(expected, read, rule);
    }

    private static Replica replica(final long id, final String words) {
        final ReplicaStatus status = words.endsWith("processing") ? ReplicaStatus.PROCESSING
            : words.endsWith("removed") ? ReplicaStatus.REMOVED : ReplicaStatus.COMPLETE;
        final ReplicaDescriptor descriptor = words.startsWith("memory")
            ? new ReplicaDescriptor.Memory(1, words.contains("own") ? HERE : "there:1", 0, 1, 0)
            : new ReplicaDescriptor.LocalDisk(words.contains("own") ? ME : OTHER, 1, "");
        return new Replica(id, status, descriptor);
    }
}
