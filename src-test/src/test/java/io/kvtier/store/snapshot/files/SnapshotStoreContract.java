package io.kvtier.store.snapshot.files;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.kvtier.kit.PatternBytes;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.NoSuchFileException;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

/** What every store of snapshots does. */
public abstract class SnapshotStoreContract {
    /** The store, with nothing in it. */
    protected abstract SnapshotStore store();

    /** Bytes that it moves at once; blobs around multiples of it are tried. */
    protected abstract int unit();

    protected final void put(final String name, final byte[] bytes) throws IOException {
        try (SnapshotStore.Writing out = store().create(name)) {
            out.write(bytes, bytes.length);
            out.commit();
        }
    }

    protected final byte[] get(final String name) throws IOException {
        try (InputStream in = store().read(name)) {
            return in.readAllBytes();
        }
    }

    protected final Set<String> names() throws IOException {
        final List<String> all = store().names();
        final Set<String> names = new TreeSet<>(all);
        assertEquals(names.size(), all.size(), "each once");
        return names;
    }

    @Test
    void shouldHaveNothingAtFirst() throws IOException {
        assertEquals(Set.of(), names());
        assertEquals("none", assertThrows(NoSuchFileException.class, () -> store().read("none")).getFile()
            .replaceAll(".*/", ""));
        store().delete("none");
    }

    @Test
    void shouldGiveBackWhatWasWrittenWhateverItsSize() throws IOException {
        for (final int size : new int[] {0, 1, unit() - 1, unit(), unit() + 1, 3 * unit(), 3 * unit() + 5}) {
            final byte[] bytes = PatternBytes.of(size, size);
            put("blob", bytes);
            assertArrayEquals(bytes, get("blob"), () -> size + " bytes");
        }
        assertEquals(Set.of("blob"), names());
    }

    @Test
    void shouldAppendWhatIsWrittenBitByBit() throws IOException {
        final byte[] bytes = PatternBytes.of(1, 2 * unit() + 77);
        try (SnapshotStore.Writing out = store().create("blob")) {
            int at = 0;
            for (int step = 1; at < bytes.length; step = step * 5 + 1) {
                final int count = Math.min(step, bytes.length - at);
                // Only the first bytes are asked for.
                final byte[] part = new byte[count + 3];
                System.arraycopy(bytes, at, part, 0, count);
                out.write(part, count);
                at += count;
            }
            out.commit();
        }
        assertArrayEquals(bytes, get("blob"));
    }

    @Test
    void shouldShowABlobWhenItIsCommittedAndNotBefore() throws IOException {
        put("blob", new byte[] {1});
        final byte[] bytes = PatternBytes.of(2, unit() + 9);
        try (SnapshotStore.Writing out = store().create("blob");
             SnapshotStore.Writing other = store().create("other")) {
            out.write(bytes, bytes.length);
            other.write(bytes, bytes.length);
            assertArrayEquals(new byte[] {1}, get("blob"));
            assertThrows(NoSuchFileException.class, () -> store().read("other"));
            out.commit();
            assertArrayEquals(bytes, get("blob"));
        }
        assertThrows(NoSuchFileException.class, () -> store().read("other"));
        assertEquals(Set.of("blob"), names());
    }

    @Test
    void shouldDeleteOneBlob() throws IOException {
        put("a", new byte[] {1});
        put("b", new byte[] {2});
        store().delete("a");
        store().delete("a");
        assertEquals(Set.of("b"), names());
        assertThrows(NoSuchFileException.class, () -> store().read("a"));
        assertArrayEquals(new byte[] {2}, get("b"));
    }

    @Test
    void shouldListEveryBlob() throws IOException {
        final Set<String> wanted = new TreeSet<>();
        for (int i = 0; i < 25; i++) {
            put("blob-" + i + ".x", new byte[] {(byte) i});
            wanted.add("blob-" + i + ".x");
        }
        assertEquals(wanted, names());
    }

    /** So many snapshots. */
    public static void writeSnapshots(final SnapshotStore store, final int count) throws IOException {
        final SnapshotArchive archive = new SnapshotArchive(store, SnapshotSamples.CLUSTER, count);
        for (int i = 0; i < count; i++) {
            SnapshotSamples.write(archive, SnapshotSamples.head(), SnapshotSamples.objects());
        }
    }

    /** The one that a master would begin with. */
    public static SnapshotId newest(final SnapshotStore store) throws IOException {
        return new SnapshotArchive(store, SnapshotSamples.CLUSTER, 1).find().best().manifest().id();
    }

    /** An archive over it: what counts, retention, and what a restart finds. */
    @Test
    void shouldKeepSnapshots() throws IOException {
        final SnapshotArchive archive = new SnapshotArchive(store(), SnapshotSamples.CLUSTER, 2);
        archive.claimTerm(SnapshotSamples.TERM);
        for (int i = 0; i < 4; i++) {
            SnapshotSamples.write(archive, SnapshotSamples.head(), SnapshotSamples.objects());
        }
        final SnapshotId third = new SnapshotId(SnapshotSamples.TERM, 3);
        final SnapshotId fourth = new SnapshotId(SnapshotSamples.TERM, 4);
        assertEquals(new TreeSet<>(Set.of("latest", "term", third.manifest(), third.payload(), fourth.manifest(),
            fourth.payload())), names());
        final SnapshotArchive next = new SnapshotArchive(store(), SnapshotSamples.CLUSTER, 2);
        assertEquals(SnapshotSamples.TERM, next.claimedTerm());
        assertEquals(fourth, next.find().best().manifest().id());
        SnapshotArchiveTest.assertSame(SnapshotSamples.head(), SnapshotSamples.objects(),
            next.find().best().snapshot());
        store().delete(fourth.payload());
        assertEquals(third, next.find().best().manifest().id());
    }
}
