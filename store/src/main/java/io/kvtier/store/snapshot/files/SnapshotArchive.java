package io.kvtier.store.snapshot.files;

import io.kvtier.store.snapshot.SavedObject;
import io.kvtier.store.snapshot.Snapshot;
import io.kvtier.store.snapshot.SnapshotHead;
import java.io.Closeable;
import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.nio.file.NoSuchFileException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.TreeSet;

/**
 * The snapshots of one cluster, as {@code store/FORMAT.md} has them: which there are, which one counts, and how another
 * one is added.
 *
 * <p><b>Threading:</b> thread-safe but for {@link Writer}, of which one is open at a time. <b>Blocking:</b> on the
 * store.
 */
public final class SnapshotArchive {
    static final String LATEST = "latest";
    static final String TERM = "term";

    private final SnapshotStore store;
    private final String clusterId;
    private final int keep;

    /**
     * The archive in a store.
     *
     * @param store     has it.
     * @param clusterId whose snapshots are read and written; one of another cluster is refused.
     * @param keep      how many are kept, 1 or more.
     */
    public SnapshotArchive(final SnapshotStore store, final String clusterId, final int keep) {
        if (keep < 1) {
            throw new IllegalArgumentException(keep + " snapshots are to be kept; it must be 1 or more");
        }
        this.store = store;
        this.clusterId = clusterId;
        this.keep = keep;
    }

    /**
     * A snapshot that can be restored.
     *
     * @param manifest what it is.
     * @param snapshot what is in it.
     */
    public record Restorable(Manifest manifest, Snapshot snapshot) {
    }

    /**
     * What was found.
     *
     * @param best    the snapshot that counts; null when there is none that is whole.
     * @param refused why each that would have counted before it was refused, in words.
     * @param later   whether a later version wrote one of these.
     */
    public record Found(Restorable best, List<String> refused, boolean later) {
    }

    /**
     * Reads the snapshot that counts: that which {@code latest} names, or else the newest other one that is whole.
     *
     * @return what was found.
     * @throws StoreUnavailableException when the store does not answer or refuses, so that it is not known which is
     *                                   whole.
     * @throws IOException               when the store cannot be read.
     */
    public Found find() throws IOException {
        final List<String> refused = new ArrayList<>();
        boolean later = false;
        for (final SnapshotId id : candidates(refused)) {
            try {
                return new Found(read(id), refused, later);
            } catch (final SnapshotFormatException e) {
                refused.add(e.getMessage());
                later |= e.isLater();
            } catch (final NoSuchFileException e) {
                refused.add("snapshot " + id + " has no " + e.getFile());
            } catch (final StoreUnavailableException | InterruptedIOException e) {
                // What is not reached may be whole: a master that began with an older one would put that in its place.
                throw e;
            } catch (final IOException e) {
                refused.add("snapshot " + id + " cannot be read: " + e);
            }
        }
        return new Found(null, refused, later);
    }

    private List<SnapshotId> candidates(final List<String> refused) throws IOException {
        final List<SnapshotId> ids = new ArrayList<>(ids().descendingSet());
        try {
            final SnapshotId latest = latest();
            if (latest != null) {
                ids.remove(latest);
                ids.addFirst(latest);
            }
        } catch (final SnapshotFormatException e) {
            refused.add(e.getMessage());
        }
        return ids;
    }

    /** What {@code latest} names; null when there is no such file. */
    private SnapshotId latest() throws IOException {
        final String line;
        try {
            line = CheckedText.read(store, LATEST);
        } catch (final NoSuchFileException e) {
            return null;
        }
        return SnapshotId.of(line).orElseThrow(() -> new SnapshotFormatException(LATEST + " names no snapshot"));
    }

    /** Those with a manifest, oldest first. */
    private TreeSet<SnapshotId> ids() throws IOException {
        final TreeSet<SnapshotId> ids = new TreeSet<>();
        for (final String name : store.names()) {
            SnapshotId.ofName(name).filter(id -> name.equals(id.manifest())).ifPresent(ids::add);
        }
        return ids;
    }

    /**
     * Reads a snapshot.
     *
     * @param id which.
     * @return the whole of it.
     * @throws SnapshotFormatException when it is not whole, or not for this cluster and version.
     * @throws IOException             when it cannot be read.
     */
    public Restorable read(final SnapshotId id) throws IOException {
        final Manifest manifest = Manifest.read(id.manifest(), CheckedText.read(store, id.manifest()));
        if (!manifest.id().equals(id) || !manifest.clusterId().equals(clusterId)) {
            throw new SnapshotFormatException(id.manifest() + " is that of snapshot " + manifest.id()
                + " of cluster '" + manifest.clusterId() + "', not of cluster '" + clusterId + "'");
        }
        final RowReader rows = new RowReader();
        try (InputStream in = store.read(id.payload())) {
            final PayloadReader payload = new PayloadReader(in, manifest);
            for (PayloadReader.Chunk chunk = payload.next(); chunk != null; chunk = payload.next()) {
                final Section section = Section.of(chunk.section());
                if (section != null) {
                    rows.chunk(section, chunk.rows(), chunk.content());
                }
            }
            return new Restorable(manifest, rows.snapshot());
        } catch (final RuntimeException e) {
            // Its checksums are right, so that somebody has written it like this.
            throw new SnapshotFormatException(id.payload() + " cannot be understood: " + e.getMessage(), false, e);
        }
    }

    /**
     * The term that {@link #claimTerm} wrote last, of a master that may have taken no snapshot.
     *
     * @return the term; 0 when none was written.
     * @throws IOException when it cannot be read or is damaged: what that master gave out is not known then.
     */
    public long claimedTerm() throws IOException {
        try {
            final String line = CheckedText.read(store, TERM);
            if (line.matches("\\d{19}")) {
                return Long.parseLong(line);
            }
            throw unknownTerm(TERM + " has no term in its first line, but '" + line + "'", null);
        } catch (final NoSuchFileException e) {
            return 0;
        } catch (final SnapshotFormatException e) {
            throw unknownTerm(e.getMessage(), e);
        } catch (final NumberFormatException e) {
            throw unknownTerm(TERM + " has a number in its first line that is too large for a term", e);
        }
    }

    private IOException unknownTerm(final String why, final Exception cause) {
        return new IOException("it is not known which term the last master in " + store + " had, so that its numbers "
            + "might be given out again: " + why + "; delete that file when this machine's clock is right", cause);
    }

    /**
     * Makes durable that a master has a term, before it gives out the first number of that term.
     *
     * @param claimed the term, above all before, not negative.
     * @throws IOException when it is not known to be durable, in words for who starts the master.
     */
    public void claimTerm(final long claimed) throws IOException {
        try {
            CheckedText.write(store, TERM, String.format(Locale.ROOT, "%019d", claimed));
        } catch (final IOException e) {
            throw new IOException("term " + claimed + " of this master cannot be written to " + store + ", without "
                + "which a later master might give out its numbers again; let the master write there, or start it "
                + "without snapshots: " + e, e);
        }
    }

    /**
     * Begins another snapshot.
     *
     * @param term      of the master.
     * @param takenAtMs wall clock at the moment that it is of.
     * @return takes what is in it.
     * @throws SupersededException when there is one of a later term.
     * @throws IOException         when it cannot be begun.
     */
    public Writer begin(final long term, final long takenAtMs) throws IOException {
        checkTerm(term);
        final SnapshotId last = ids().floor(new SnapshotId(term, 9_999_999_999L));
        final SnapshotId id = new SnapshotId(term, last == null || last.term() < term ? 1 : last.number() + 1);
        return new Writer(id, takenAtMs);
    }

    private void checkTerm(final long term) throws IOException {
        SnapshotId latest = null;
        try {
            latest = latest();
        } catch (final SnapshotFormatException e) {
            // It is written anew with this one.
        }
        if (latest != null && latest.term() > term) {
            throw new SupersededException("a master of term " + latest.term() + " has written snapshot " + latest
                + " to " + store + "; this one's term is " + term + ": another master has taken over, and this one "
                + "writes no snapshots any more");
        }
    }

    /** A snapshot that is being written. <b>Threading:</b> one thread. */
    public final class Writer implements Closeable {
        private final SnapshotId id;
        private final long takenAtMs;
        private final SnapshotStore.Writing out;
        private final PayloadWriter payload;
        private final RowWriter rows;
        private long lastVersion;

        private Writer(final SnapshotId id, final long takenAtMs) throws IOException {
            this.id = id;
            this.takenAtMs = takenAtMs;
            out = store.create(id.payload());
            try {
                payload = new PayloadWriter(out, id);
            } catch (final IOException e) {
                out.close();
                throw e;
            }
            rows = new RowWriter(payload);
        }

        /**
         * Writes all but the objects; called once, first.
         *
         * @param head what is written.
         * @throws IOException when it cannot be written.
         */
        public void head(final SnapshotHead head) throws IOException {
            lastVersion = head.lastVersion();
            rows.head(head);
        }

        /**
         * Writes objects.
         *
         * @param objects some.
         * @throws IOException when they cannot be written.
         */
        public void objects(final List<SavedObject> objects) throws IOException {
            rows.objects(objects);
        }

        /**
         * Makes the snapshot durable and the one that counts, and deletes older ones.
         *
         * @param durationMs milliseconds that it took.
         * @return what it is.
         * @throws SupersededException when a master of a later term has written one meanwhile.
         * @throws IOException         when it is not known to be durable; the one before may count then, or this one.
         */
        public Manifest commit(final long durationMs) throws IOException {
            payload.finish();
            out.commit();
            final Manifest manifest = new Manifest(Manifest.FORMAT, clusterId, id, takenAtMs, durationMs, lastVersion,
                payload.bytes(), payload.crc32c(), payload.chunks(), payload.rows());
            checkTerm(id.term());
            CheckedText.write(store, id.manifest(), manifest.json());
            CheckedText.write(store, LATEST, id.toString());
            deleteOld();
            return manifest;
        }

        /** Forgets what was not committed. */
        @Override
        public void close() throws IOException {
            out.close();
        }
    }

    /** Deletes all that is older than the oldest that is kept; what was left behind by a crash too. */
    private void deleteOld() throws IOException {
        final List<SnapshotId> newest = new ArrayList<>(ids().descendingSet());
        if (newest.size() < keep) {
            return;
        }
        final SnapshotId oldestKept = newest.get(keep - 1);
        final List<String> old = new ArrayList<>();
        for (final String name : store.names()) {
            if (SnapshotId.ofName(name).filter(id -> id.compareTo(oldestKept) < 0).isPresent()) {
                old.add(name);
            }
        }
        // Manifests first: what has none is no snapshot.
        old.sort(Comparator.comparing((String name) -> !name.endsWith(SnapshotId.MANIFEST))
            .thenComparing(Comparator.naturalOrder()));
        for (final String name : old) {
            store.delete(name);
        }
    }

    /**
     * The ids of all that have a manifest.
     *
     * @return newest first.
     * @throws IOException when the store cannot be read.
     */
    public List<SnapshotId> list() throws IOException {
        return List.copyOf(ids().descendingSet());
    }

    /**
     * The id that {@code latest} names.
     *
     * @return the id, if that is there and whole.
     * @throws IOException when the store cannot be read.
     */
    public Optional<SnapshotId> named() throws IOException {
        try {
            return Optional.ofNullable(latest());
        } catch (final SnapshotFormatException e) {
            return Optional.empty();
        }
    }

    @Override
    public String toString() {
        return store.toString();
    }
}
