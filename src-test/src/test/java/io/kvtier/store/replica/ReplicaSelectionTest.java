package io.kvtier.store.replica;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** The one table of which replica is read. Letters are replicas in the order of the record; the first is read first. */
class ReplicaSelectionTest {
    private static final UUID ME = new UUID(1, 1);
    private static final UUID OTHER = new UUID(2, 2);
    private static final UUID MINE = new UUID(3, 3);
    private static final UUID FILE = new UUID(4, 4);
    private static final Locality HERE = new Locality(ME, Set.of(MINE), Set.of("nvme-own"),
        new Locality.GdsFile(FILE, 7), true);
    private static final Locality ASKS_NOBODY = new Locality(ME, Set.of(MINE), Set.of("nvme-own"),
        new Locality.GdsFile(FILE, 7), false);
    private static final Locality WITHOUT_FILE = new Locality(ME, Set.of(MINE), Set.of("nvme-own"));

    static Stream<Arguments> table() {
        return Stream.of(
            Arguments.of("own memory before any other", "disk-other disk-own memory-other memory-own", "3 2 1 0"),
            Arguments.of("within a rank the order of the record", "memory-other memory-other", "0 1"),
            Arguments.of("own disk before another's", "disk-other disk-own", "1 0"),
            Arguments.of("what is not complete is never read", "memory-own-processing disk-other", "1"),
            Arguments.of("removed ones are never read", "memory-own-removed", ""),
            Arguments.of("block devices between memory and disks", "disk-own nof-other nof-own memory-other",
                "3 2 1 0"),
            Arguments.of("the own file between block devices and disks, others' files last",
                "gds-other disk-other disk-own gds-own nof-other", "4 3 2 1 0"),
            Arguments.of("pages that all mount between the own file and disks",
                "disk-other disk-own shared nof-other gds-own memory-other", "5 3 4 2 1 0"),
            Arguments.of("pages that all mount are as near as each other", "shared shared", "0 1"),
            Arguments.of("what is not written to pages is not read", "shared-processing disk-other", "1"),
            Arguments.of("the own file as it was before is nobody's", "gds-own-earlier gds-own-file disk-other", "2"),
            Arguments.of("what is not complete in a file is not read", "gds-own-processing disk-other", "1"),
            Arguments.of("a file of its own last of all", "file disk-other gds-other file disk-own memory-other",
                "5 4 1 2 0 3"),
            Arguments.of("a file that is not written is not read", "file-processing disk-other", "1"),
            Arguments.of("a kind of a later version is never read", "later disk-other", "1"),
            Arguments.of("none", "", ""));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("table")
    void shouldReadInTheOrderOfTheTable(final String rule, final String replicas, final String order) {
        assertOrder(HERE, rule, replicas, order);
    }

    @Test
    void shouldReadOthersFilesOnlyWhereTheyAreAskedForThem() {
        assertOrder(ASKS_NOBODY, "others are not asked", "gds-other gds-own disk-other", "1 2");
        assertOrder(WITHOUT_FILE, "no file at all", "gds-other gds-own disk-other", "2");
    }

    private static void assertOrder(final Locality reader, final String rule, final String replicas,
        final String order) {
        final List<Replica> record = replicas.isEmpty() ? List.of()
            : IntStream.range(0, replicas.split(" ").length)
                .mapToObj(i -> replica(i, replicas.split(" ")[i])).toList();
        final List<Long> read = new ArrayList<>();
        Replica next = ReplicaSelection.best(record, reader, Set.of());
        while (next != null) {
            read.add(next.id());
            next = ReplicaSelection.best(record, reader, Set.copyOf(read));
        }
        final List<Long> expected = order.isEmpty() ? List.of()
            : Arrays.stream(order.split(" ")).map(Long::valueOf).toList();
        assertEquals(expected, read, rule);
    }

    private static Replica replica(final long id, final String words) {
        final ReplicaStatus status = words.endsWith("processing") ? ReplicaStatus.PROCESSING
            : words.endsWith("removed") ? ReplicaStatus.REMOVED : ReplicaStatus.COMPLETE;
        final boolean own = words.contains("own");
        final ReplicaDescriptor descriptor = switch (words.split("-")[0]) {
            case "memory" -> new ReplicaDescriptor.Memory(SegmentAddress.local(own ? MINE : OTHER), 0, 1);
            case "nof" -> new ReplicaDescriptor.Nof(own ? "nvme-own" : "nvme-other", 0, 1);
            case "gds" -> new ReplicaDescriptor.Gds(own ? ME : OTHER,
                words.endsWith("file") ? new UUID(5, 5) : FILE, words.endsWith("earlier") ? 6 : 7, 0, 1, 4096);
            case "shared" -> new ReplicaDescriptor.DistributedDisk("/mnt/bucket_00.data", 0, 1);
            case "file" -> new ReplicaDescriptor.Disk("/mnt/kv/a.kv", 1);
            case "disk" -> new ReplicaDescriptor.LocalDisk(own ? ME : OTHER, 1, "");
            default -> new ReplicaDescriptor.Unknown(77, new byte[3]);
        };
        return new Replica(id, status, descriptor);
    }
}
