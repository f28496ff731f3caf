package io.kvtier.store.snapshot.files;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.airlift.compress.v3.zstd.ZstdJavaCompressor;
import io.kvtier.store.DataType;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.replica.Replica;
import io.kvtier.store.replica.ReplicaDescriptor;
import io.kvtier.store.replica.ReplicaStatus;
import io.kvtier.store.snapshot.SavedObject;
import io.kvtier.store.snapshot.Snapshot;
import io.kvtier.transport.rpc.MessageWriter;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.function.Consumer;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.Test;

/** Snapshots of the same format that a later version wrote, or nobody should have. */
class LaterSnapshotTest {
    private static final SnapshotId ID = new SnapshotId(1000, 1);
    private static final UUID CLIENT = new UUID(1, 2);

    private final MemoryStore store = new MemoryStore();
    private final ByteArrayOutputStream payload = new ByteArrayOutputStream();
    private int chunks;

    private static int crc(final byte[]... parts) {
        final CRC32C sum = new CRC32C();
        for (final byte[] part : parts) {
            sum.update(part);
        }
        return (int) sum.getValue();
    }

    private static ByteBuffer little(final int bytes) {
        return ByteBuffer.allocate(bytes).order(ByteOrder.LITTLE_ENDIAN);
    }

    private void header() {
        final byte[] summed = little(32).put("KVTIERSN".getBytes(StandardCharsets.US_ASCII)).putInt(1).putInt(0)
            .putLong(ID.term()).putLong(ID.number()).array();
        payload.writeBytes(little(64).put(summed).putInt(crc(summed)).array());
    }

    private void chunk(final int section, final int rows, final Consumer<MessageWriter> content) {
        final MessageWriter writer = new MessageWriter();
        content.accept(writer);
        final byte[] raw = writer.toBytes();
        final ZstdJavaCompressor zstd = new ZstdJavaCompressor();
        final byte[] room = new byte[zstd.maxCompressedLength(raw.length)];
        final int length = section == 0 ? 0 : zstd.compress(raw, 0, raw.length, room, 0, room.length);
        final byte[] stored = Arrays.copyOf(room, length);
        final byte[] head =
            little(16).putInt(section).putInt(rows).putInt(section == 0 ? 0 : raw.length).putInt(length).array();
        payload.writeBytes(head);
        payload.writeBytes(little(4).putInt(crc(head, stored)).array());
        payload.writeBytes(stored);
        chunks++;
    }

    private SnapshotArchive.Found found() throws IOException {
        chunk(0, 0, end -> { });
        final byte[] bytes = payload.toByteArray();
        store.blobs().put(ID.payload(), bytes);
        CheckedText.write(store, ID.manifest(), new Manifest(1, "c", ID, 0, 0, 7, bytes.length,
            crc(bytes) & 0xFFFFFFFFL, chunks, Map.of()).json());
        return new SnapshotArchive(store, "c", 1).find();
    }

    private static void object(final MessageWriter row, final int fields) {
        row.array(fields).text("t").text("k").number(7).number(100).nothing().number(99).uuid(CLIENT).number(6)
            .text("").number(0).array(2);
        // A replica and a descriptor with a field more than this version knows.
        row.array(4).number(1).number(2).array(4).uuid(CLIENT).number(100).text("h:1").text("more").flag(true);
        row.array(3).number(2).number(77).array(1).text("of a type to come");
    }

    @Test
    void shouldPassOverWhatALaterVersionHasAdded() throws IOException {
        header();
        chunk(200, 3, rows -> rows.text("no rows at all").number(1).flag(false));
        chunk(1, 1, row -> row.array(7).number(1000).number(7).number(8).number(9).number(10).uuid(CLIENT)
            .text("more"));
        chunk(2, 1, row -> row.array(10).number(0).uuid(CLIENT).uuid(CLIENT).text("n").text("h").text("TAPE")
            .number(4096).number(4096).text("e").bytes(new byte[16]));
        chunk(5, 1, row -> row.array(9).number(1).text("COPY").text("").text("k").text("s").array(0).uuid(CLIENT)
            .text("POSTPONED").text(""));
        chunk(9, 1, row -> {
            object(row, 12);
            row.array(1).number(5);
        });

        final SnapshotArchive.Found found = found();
        assertEquals(List.of(), found.refused());
        final Snapshot snapshot = found.best().snapshot();
        assertEquals(CLIENT, snapshot.head().sharedVolume());
        assertEquals(List.of(), snapshot.head().segments());
        assertEquals(List.of(), snapshot.head().tasks().tasks());
        final MessageWriter strange = new MessageWriter();
        strange.array(1).text("of a type to come");
        assertEquals(List.of(new SavedObject(ObjectKey.of("t", "k"), 7, 100, false, 0, DataType.UNKNOWN, CLIENT, false,
            "", 0, List.of(new Replica(1, ReplicaStatus.COMPLETE, new ReplicaDescriptor.LocalDisk(CLIENT, 100, "h:1")),
                new Replica(2, ReplicaStatus.COMPLETE, new ReplicaDescriptor.Unknown(77, strange.toBytes()))))),
            snapshot.objects());
    }

    @Test
    void shouldTakeTheHigherVersionOfTwoRowsAndTheReplicasOfBothOfOne() throws IOException {
        header();
        chunk(1, 1, row -> row.array(5).number(1000).number(7).number(8).number(9).number(10));
        chunk(9, 3, rows -> {
            for (int i = 0; i < 3; i++) {
                rows.array(11).text("").text("k").number(i == 0 ? 5 : 7).number(100).number(3).number(0).uuid(CLIENT)
                    .number(0).text("").number(0).array(1).array(3).number(i).number(2).array(3)
                    .uuid(new UUID(0, i)).number(100).text("");
            }
        });

        final List<SavedObject> objects = found().best().snapshot().objects();
        assertEquals(1, objects.size());
        assertEquals(7, objects.getFirst().version());
        assertEquals(List.of(1L, 2L), objects.getFirst().replicas().stream().map(Replica::id).toList());
    }

    private void assertNotUnderstood(final SnapshotArchive.Found found) {
        assertEquals(null, found.best());
        assertEquals(1, found.refused().size());
        assertTrue(found.refused().getFirst().contains("cannot be understood"), found.refused().toString());
    }

    @Test
    void shouldRefuseRowsThatMeanNothing() throws IOException {
        header();
        chunk(1, 1, row -> row.array(5).number(1000).number(-7).number(8).number(9).number(10));
        assertNotUnderstood(found());
    }

    @Test
    void shouldRefuseMoreRowsThanAChunkHas() throws IOException {
        header();
        chunk(1, 2, row -> row.array(5).number(1000).number(7).number(8).number(9).number(10));
        assertNotUnderstood(found());
    }

    @Test
    void shouldRefuseASnapshotWithoutNumbers() throws IOException {
        header();
        assertNotUnderstood(found());
    }
}
