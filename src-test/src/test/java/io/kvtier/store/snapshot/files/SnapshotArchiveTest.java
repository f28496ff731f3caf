package io.kvtier.store.snapshot.files;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.store.ObjectKey;
import io.kvtier.store.snapshot.SavedObject;
import io.kvtier.store.snapshot.SavedRemovals;
import io.kvtier.store.snapshot.Snapshot;
import io.kvtier.store.snapshot.SnapshotHead;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Snapshots as blobs: what was written is read, what is damaged is refused, and what counts is found. */
class SnapshotArchiveTest {
    private static final String FIRST = "0000001796000000000-0000000001";
    private static final String SECOND = "0000001796000000000-0000000002";

    private final MemoryStore store = new MemoryStore();
    private final SnapshotArchive archive = new SnapshotArchive(store, SnapshotSamples.CLUSTER, 2);

    /** Everything but the arrays of removed versions, which records compare by identity. */
    static void assertSame(final SnapshotHead head, final List<SavedObject> objects, final Snapshot read) {
        assertEquals(objects, read.objects());
        assertEquals(head.term(), read.head().term());
        assertEquals(head.lastVersion(), read.head().lastVersion());
        assertEquals(head.lastReplicaId(), read.head().lastReplicaId());
        assertEquals(head.segments(), read.head().segments());
        assertEquals(head.files(), read.head().files());
        assertEquals(head.tenants(), read.head().tenants());
        assertEquals(head.tasks(), read.head().tasks());
        assertEquals(head.sharedVolume(), read.head().sharedVolume());
        assertEquals(head.removals().slots(), read.head().removals().slots());
        assertEquals(head.removals().patterns(), read.head().removals().patterns());
        assertEquals(head.removals().pages().size(), read.head().removals().pages().size());
        for (int i = 0; i < head.removals().pages().size(); i++) {
            final SavedRemovals.Page page = read.head().removals().pages().get(i);
            assertEquals(head.removals().pages().get(i).index(), page.index());
            assertArrayEquals(head.removals().pages().get(i).versions(), page.versions());
        }
    }

    private void write() throws IOException {
        SnapshotSamples.write(archive, SnapshotSamples.head(), SnapshotSamples.objects());
    }

    private SnapshotId best() throws IOException {
        final SnapshotArchive.Restorable best = archive.find().best();
        return best == null ? null : best.manifest().id();
    }

    @Test
    void shouldReadWhatWasWritten() throws IOException {
        write();

        final SnapshotArchive.Found found = archive.find();
        assertEquals(List.of(), found.refused());
        assertSame(SnapshotSamples.head(), SnapshotSamples.objects(), found.best().snapshot());
        final Manifest manifest = found.best().manifest();
        assertEquals(FIRST, manifest.id().toString());
        assertEquals(1_796_000_123_456L, manifest.takenAtMs());
        assertEquals(42, manifest.durationMs());
        assertEquals(SnapshotSamples.LAST_VERSION, manifest.lastVersion());
        assertEquals(2, manifest.objects());
        assertEquals(store.blobs().get(FIRST + ".payload").length, manifest.payloadBytes());
        assertEquals(Map.of("numbers", 1L, "segments", 2L, "files", 1L, "tenants", 1L, "tasks", 2L, "drains", 1L,
            "removed", 1L, "patterns", 2L, "objects", 2L), manifest.rows());
    }

    /** The format's promise to snapshots that were written long ago. */
    @Test
    void shouldReadWhatTheFirstVersionWrote() throws IOException {
        for (final String name : List.of(FIRST + ".payload", FIRST + ".manifest", "latest")) {
            try (InputStream recorded = getClass().getResourceAsStream("/snapshots/v1/" + name)) {
                assertNotNull(recorded, name);
                store.blobs().put(name, recorded.readAllBytes());
            }
        }

        final SnapshotArchive.Found found = archive.find();
        assertEquals(List.of(), found.refused());
        // The volume of the shared files came later, and so did files of single values.
        assertSame(SnapshotSamples.inVolume(null), SnapshotSamples.objectsWithoutFile(), found.best().snapshot());
    }

    @Test
    void shouldKeepTheTermBesideTheSnapshots() throws IOException {
        assertEquals(0, archive.claimedTerm());
        archive.claimTerm(1_796_000_000_000L);
        for (int i = 0; i < 5; i++) {
            write();
        }

        assertEquals(1_796_000_000_000L, archive.claimedTerm());
        assertEquals(2, archive.list().size(), "of which the last two are kept");
        archive.claimTerm(1_796_000_000_001L);
        assertEquals(1_796_000_000_001L, archive.claimedTerm());
        assertEquals("0000001796000000001",
            new String(store.blobs().get("term"), StandardCharsets.UTF_8).lines().findFirst().orElseThrow());
    }

    @Test
    void shouldRefuseATermThatIsDamaged() throws IOException {
        archive.claimTerm(1_796_000_000_000L);
        final byte[] whole = store.blobs().get("term");
        for (int at = 0; at < whole.length; at++) {
            final byte[] damaged = whole.clone();
            damaged[at] ^= (byte) (1 << at % 8);
            store.blobs().put("term", damaged);
            final String why = assertThrows(IOException.class, archive::claimedTerm).getMessage();
            assertTrue(why.contains("term is damaged") && why.contains("delete that file"), why);
        }
    }

    @Test
    void shouldRefuseATermThatIsNone() throws IOException {
        for (final String line : List.of("", "1796000000000", "9999999999999999999", "-000001796000000000")) {
            CheckedText.write(store, "term", line);
            final String why = assertThrows(IOException.class, archive::claimedTerm).getMessage();
            assertTrue(why.contains("term has ") && why.contains("delete that file"), why);
        }
    }

    @Test
    void shouldSayThatTheTermCannotBeWritten() {
        store.failAfter(1);

        final String why = assertThrows(IOException.class, () -> archive.claimTerm(5)).getMessage();
        assertTrue(why.startsWith("term 5 of this master cannot be written") && why.contains("the store is full"), why);
    }

    @Test
    void shouldReadManyObjectsInManyChunks() throws IOException {
        final List<SavedObject> objects = new ArrayList<>();
        final SavedObject sample = SnapshotSamples.objects().getFirst();
        for (int i = 0; i < 20_000; i++) {
            objects.add(new SavedObject(ObjectKey.of("key" + i), i + 1, i, true, i * 31L,
                sample.dataType(), sample.writer(), false, "", 0, sample.replicas()));
        }
        final Manifest manifest = SnapshotSamples.write(archive, SnapshotSamples.head(), objects);

        assertTrue(manifest.chunks() > 10, "chunks: " + manifest.chunks());
        assertEquals(objects, archive.find().best().snapshot().objects());
    }

    @Test
    void shouldTakeThePreviousSnapshotWhereverAByteOfTheLastOneIsWrong() throws IOException {
        write();
        write();
        assertEquals(SECOND, best().toString());
        for (final String name : List.of(SECOND + ".payload", SECOND + ".manifest")) {
            final byte[] whole = store.blobs().get(name);
            for (int at = 0; at < whole.length; at++) {
                final byte[] damaged = whole.clone();
                damaged[at] ^= (byte) (1 << at % 8);
                store.blobs().put(name, damaged);
                final SnapshotArchive.Found found = archive.find();
                assertEquals(FIRST, found.best().manifest().id().toString(), name + " at " + at);
                assertEquals(1, found.refused().size(), found.refused().toString());
                assertFalse(found.later());
            }
            store.blobs().put(name, whole);
        }
    }

    @Test
    void shouldTakeThePreviousSnapshotWhereverTheLastOneEnds() throws IOException {
        write();
        write();
        for (final String name : List.of(SECOND + ".payload", SECOND + ".manifest")) {
            final byte[] whole = store.blobs().get(name);
            for (int length = 0; length < whole.length; length++) {
                store.blobs().put(name, Arrays.copyOf(whole, length));
                assertEquals(FIRST, best().toString(), name + " of " + length);
            }
            store.blobs().put(name, Arrays.copyOf(whole, whole.length + 1));
            assertEquals(FIRST, best().toString(), name + " and a byte more");
            store.blobs().put(name, whole);
        }
    }

    @Test
    void shouldTakeTheNewestWhenThePointerIsWrong() throws IOException {
        write();
        write();
        final byte[] whole = store.blobs().get("latest");
        for (int at = 0; at < whole.length; at++) {
            final byte[] damaged = whole.clone();
            damaged[at] ^= 1;
            store.blobs().put("latest", damaged);
            assertEquals(SECOND, best().toString(), "at " + at);
            store.blobs().put("latest", Arrays.copyOf(whole, at));
            assertEquals(SECOND, best().toString(), "of " + at);
        }
        store.blobs().remove("latest");
        assertEquals(SECOND, best().toString());
    }

    @Test
    void shouldTakeWhatThePointerNames() throws IOException {
        write();
        final byte[] first = store.blobs().get("latest");
        write();
        store.blobs().put("latest", first);

        assertEquals(FIRST, best().toString());
    }

    @Test
    void shouldRefuseALaterFormatAndSayWhy() throws IOException {
        write();
        final String line = new String(store.blobs().get(FIRST + ".manifest"), StandardCharsets.UTF_8).lines()
            .findFirst().orElseThrow();
        CheckedText.write(store, FIRST + ".manifest", line.replace("\"format\":1", "\"format\":2"));

        final SnapshotArchive.Found found = archive.find();
        assertNull(found.best());
        assertTrue(found.later());
        assertTrue(found.refused().getFirst().contains("has format 2, written by a later version; this one reads 1"),
            found.refused().toString());
    }

    @Test
    void shouldPassOverWhatALaterVersionAddsToAManifest() throws IOException {
        write();
        final String line = new String(store.blobs().get(FIRST + ".manifest"), StandardCharsets.UTF_8).lines()
            .findFirst().orElseThrow();
        CheckedText.write(store, FIRST + ".manifest",
            line.replace("{\"format\"", "{\"new\":{\"a\":[1,{}]},\"more\":[2],\"flag\":true,\"format\""));

        assertEquals(FIRST, best().toString());
    }

    @Test
    void shouldRefuseAnotherClustersSnapshots() throws IOException {
        write();

        final SnapshotArchive.Found found = new SnapshotArchive(store, "green", 2).find();
        assertNull(found.best());
        assertTrue(found.refused().getFirst().contains("of cluster 'blue', not of cluster 'green'"),
            found.refused().toString());
    }

    @Test
    void shouldCommitInOrderAndKeepAsManyAsItWasTold() throws IOException {
        for (int i = 0; i < 3; i++) {
            write();
        }
        final String third = "0000001796000000000-0000000003";
        assertEquals(List.of("+ " + FIRST + ".payload", "+ " + FIRST + ".manifest", "+ latest",
            "+ " + SECOND + ".payload", "+ " + SECOND + ".manifest", "+ latest", "+ " + third + ".payload",
            "+ " + third + ".manifest", "+ latest", "- " + FIRST + ".manifest", "- " + FIRST + ".payload"),
            store.journal());
        assertEquals(third, archive.named().orElseThrow().toString());
    }

    /** Whatever step fails, what counted before still counts, or the new one does, and the next one can be written. */
    @Test
    void shouldLeaveAGoodSnapshotWhateverStepFails() throws IOException {
        write();
        final TreeMap<String, byte[]> before = new TreeMap<>(store.blobs());
        boolean failed = true;
        int steps = 0;
        while (failed) {
            store.blobs().clear();
            store.blobs().putAll(before);
            store.failAfter(steps++);
            try {
                write();
                failed = false;
            } catch (final IOException e) {
                assertEquals("the store is full", e.getMessage());
            }
            store.failAfter(Long.MAX_VALUE);
            final boolean whole = store.blobs().containsKey(SECOND + ".manifest");
            final boolean named = archive.named().orElseThrow().toString().equals(SECOND);
            assertEquals(named ? SECOND : FIRST, best().toString(), "after " + steps + " steps");
            assertTrue(whole || !named);
            write();
            assertEquals(archive.list().getFirst(), best());
        }
        assertTrue(steps > 8, "steps: " + steps);
    }

    @Test
    void shouldDeleteWhatACrashLeftOfOlderOnes() throws IOException {
        store.blobs().put("0000001795000000000-0000000009.payload", new byte[1]);
        store.blobs().put("0000001795000000000-0000000008.payload.tmp", new byte[1]);
        store.blobs().put("9000001795000000000-0000000008.payload", new byte[1]);
        store.blobs().put("somebody's", new byte[1]);
        write();
        write();

        assertEquals(List.of(FIRST + ".manifest", FIRST + ".payload", SECOND + ".manifest", SECOND + ".payload",
            "9000001795000000000-0000000008.payload", "latest", "somebody's"), List.copyOf(store.blobs().keySet()));
    }

    @Test
    void shouldWriteNoneWhenAMasterOfALaterTermDoes() throws IOException {
        final SnapshotHead later = SnapshotSamples.ofTerm(SnapshotSamples.TERM + 1);
        SnapshotSamples.write(archive, later, List.of());

        final String why = assertThrows(SupersededException.class, this::write).getMessage();
        assertTrue(why.contains("another master has taken over"), why);
        assertEquals(SnapshotSamples.TERM + 1, best().term());
    }

    @Test
    void shouldNotTakeOverWhenAMasterOfALaterTermCommitsMeanwhile() throws IOException {
        try (SnapshotArchive.Writer writer = archive.begin(SnapshotSamples.TERM, 0)) {
            writer.head(SnapshotSamples.head());
            SnapshotSamples.write(archive, SnapshotSamples.ofTerm(SnapshotSamples.TERM + 1), List.of());
            assertThrows(SupersededException.class, () -> writer.commit(1));
        }
        assertEquals(SnapshotSamples.TERM + 1, best().term());
    }

    @Test
    void shouldFindNothingWhereNothingIs() throws IOException {
        final SnapshotArchive.Found found = archive.find();
        assertNull(found.best());
        assertEquals(List.of(), found.refused());
        assertFalse(found.later());
    }

    @Test
    void shouldKeepFilesOfAClusterInAFolderOfItsOwn(@TempDir final Path directory) throws IOException {
        final SnapshotArchive blue =
            new SnapshotArchive(DirectoryStore.open(directory, SnapshotSamples.CLUSTER), SnapshotSamples.CLUSTER, 1);
        SnapshotSamples.write(blue, SnapshotSamples.head(), SnapshotSamples.objects());
        SnapshotSamples.write(blue, SnapshotSamples.head(), SnapshotSamples.objects());

        try (var names = Files.list(directory.resolve("blue"))) {
            assertEquals(List.of(SECOND + ".manifest", SECOND + ".payload", "latest"),
                names.map(name -> name.getFileName().toString()).sorted().toList());
        }
        assertEquals("rw-------", PosixFilePermissions.toString(
            Files.getPosixFilePermissions(directory.resolve("blue").resolve(SECOND + ".payload"))));
        assertSame(SnapshotSamples.head(), SnapshotSamples.objects(), blue.find().best().snapshot());
        assertNull(new SnapshotArchive(DirectoryStore.open(directory, "Blue"), "Blue", 1).find().best());
    }

    @Test
    void shouldGiveEachClusterANameThatIsOneOfAFile() {
        assertEquals("a-B_9.x", DirectoryStore.folderName("a-B_9.x"));
        assertEquals("%2E.", DirectoryStore.folderName(".."));
        assertEquals("a%2Fb%25%20%C3%A4", DirectoryStore.folderName("a/b% \u00e4"));
    }

    @Test
    void shouldForgetWhatIsNotCommitted(@TempDir final Path directory) throws IOException {
        final SnapshotArchive files = new SnapshotArchive(DirectoryStore.open(directory, "c"), "c", 1);
        try (SnapshotArchive.Writer writer = files.begin(7, 0)) {
            writer.head(SnapshotSamples.ofTerm(7));
        }
        try (var names = Files.list(directory.resolve("c"))) {
            assertEquals(List.of(), names.toList());
        }
    }
}
