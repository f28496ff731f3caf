package io.kvtier.store.protocol.wire;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.store.DataType;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.protocol.ObjectCommand.Query;
import io.kvtier.store.protocol.ReadReply;
import io.kvtier.store.replica.Replica;
import io.kvtier.store.replica.ReplicaDescriptor;
import io.kvtier.store.replica.ReplicaStatus;
import io.kvtier.store.replica.ReplicaType;
import io.kvtier.transport.rpc.MalformedMessageException;
import io.kvtier.transport.rpc.MessageWriter;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A place in a shared file on the wire, among peers that know the kind and peers that do not. */
class DistributedDiskWireTest {
    private static final String BEFORE = "98 03 ce00011170 91 94 0a 01 05";
    private static final String AFTER = "00 c2 00 00 01";
    /** {@code {"/m/a", 65536, 70000}}. */
    private static final String PLACE = "93 a4 2f6d2f61 ce00010000 ce00011170";
    private static final Query QUERY = new Query(ObjectKey.of("k1"));

    private final WireCodec codec = new WireCodec();

    private Replica read(final String message) {
        return codec.<ReadReply>readReply(QUERY, RecordedMessages.bytes(message)).replicas().getFirst();
    }

    private byte[] written(final ReplicaDescriptor descriptor) {
        final MessageWriter out = new MessageWriter();
        codec.writeReply(QUERY, new ReadReply(3, 70_000, List.of(new Replica(10, ReplicaStatus.COMPLETE, descriptor)),
            0, false, 0, 0, DataType.KVCACHE), out);
        return out.toBytes();
    }

    @Test
    void shouldReadAPlaceInASharedFile() {
        assertEquals(new Replica(10, ReplicaStatus.COMPLETE,
            new ReplicaDescriptor.DistributedDisk("/m/a", 65_536, 70_000)), read(BEFORE + PLACE + AFTER));
        assertEquals(5, ReplicaType.DISTRIBUTED_DISK.number());
    }

    @Test
    void shouldPassOverFieldsThatALaterVersionAppends() {
        assertEquals(new ReplicaDescriptor.DistributedDisk("/m/a", 65_536, 70_000),
            read(BEFORE + "95" + PLACE.substring(2) + "81 a161 c0 c3" + AFTER).descriptor());
    }

    /** No path, not absolute, out of its folder, offset or size that cannot be, a field too few, of another type. */
    @ParameterizedTest
    @ValueSource(strings = {
        "93 a0 ce00010000 ce00011170",
        "93 a1 2f ce00010000 ce00011170",
        "93 a3 6d2f61 ce00010000 ce00011170",
        "93 a4 2f6d2f61 00 00",
        "93 a5 2f6d2f2e2e ce00010000 ce00011170",
        "93 a7 2f6d2f2e2e2f61 ce00010000 ce00011170",
        "93 a6 2f6d2f2e2f61 ce00010000 ce00011170",
        "93 a4 2f6d0061 ce00010000 ce00011170",
        "93 a4 2f6d2f61 ff ce00011170",
        "93 a4 2f6d2f61 01 ce00011170",
        "93 a4 2f6d2f61 d1f000 ce00011170",
        "93 a4 2f6d2f61 ce00010000 00",
        "93 a4 2f6d2f61 ce00010000 ff",
        "93 a4 2f6d2f61 cf7ffffffffffff000 ce00011170",
        "92 a4 2f6d2f61 ce00010000",
        "93 a4 2f6d2f61 a136 ce00011170",
        "93 c4042f6d2f61 ce00010000 ce00011170",
        "93 a4 2f6dff61 ce00010000 ce00011170"})
    void shouldRefuseWhatIsNoPlaceInASharedFile(final String descriptor) {
        assertThrows(MalformedMessageException.class, () -> read(BEFORE + descriptor + AFTER));
    }

    /**
     * A peer from before this kind does with 5 what everybody does with a number that is not known. It takes one value
     * of at most 16 KiB, whatever the place is.
     */
    @Test
    void shouldBeCarriedUnchangedByAPeerThatDoesNotKnowTheKind() {
        final byte[] longest = written(new ReplicaDescriptor.DistributedDisk("/" + "\u20ac".repeat(1364),
            Long.MAX_VALUE - 4095, 1));
        final int kind = 11;
        assertEquals(5, longest[kind]);
        final byte[] toOlder = longest.clone();
        toOlder[kind] = 77;

        final Replica carried = codec.<ReadReply>readReply(QUERY, toOlder).replicas().getFirst();
        final ReplicaDescriptor.Unknown unknown = (ReplicaDescriptor.Unknown) carried.descriptor();
        assertTrue(unknown.fields().length > 4095, "all of it");
        final byte[] fromOlder = written(unknown);
        assertEquals(77, fromOlder[kind]);
        fromOlder[kind] = 5;
        assertArrayEquals(longest, fromOlder);
    }

    @ParameterizedTest
    @CsvSource({
        "a/b, 0, 1, file_path is 'a/b'",
        "/a/../b, 0, 1, file_path is '/a/../b'",
        "/a, 4097, 1, offset is 4097; it must be 0 or a positive multiple of 4096",
        "/a, 0, 0, object_size is 0; it must be 1 or more",
        "/a, 9223372036854771712, 4096, offset is 9223372036854771712; it must be so small"})
    void shouldNameWhatIsWrong(final String path, final long offset, final long size, final String message) {
        final String said = assertThrows(IllegalArgumentException.class,
            () -> new ReplicaDescriptor.DistributedDisk(path, offset, size)).getMessage();
        assertTrue(said.startsWith(message), said);
    }

    @Test
    void shouldMeasureAPathInBytes() {
        new ReplicaDescriptor.DistributedDisk("/" + "\u20ac".repeat(1364), 0, 1);
        final String longer = "/" + "\u20ac".repeat(1365);
        assertThrows(IllegalArgumentException.class, () -> new ReplicaDescriptor.DistributedDisk(longer, 0, 1));
    }
}
