package io.kvtier.store.storage;

import io.kvtier.alloc.Units;
import io.kvtier.bindings.posix.BlockFile;
import io.kvtier.bindings.posix.ErrnoException;
import io.kvtier.bindings.posix.OpenMode;
import io.kvtier.transport.Closings;
import io.kvtier.transport.RareLog;
import io.kvtier.transport.Transfer;
import io.kvtier.transport.TransferEngine;
import io.kvtier.transport.file.FileOpener;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import org.agrona.CloseHelper;

/**
 * Many files, each written once, with the names of its values in front of them: as many values as a {@link FileLayout}
 * says. What becomes of a value later is in notes beside them.
 *
 * <p>A file counts when it has its name, and gets that when all of it is durable; so a store writes no index. A value
 * that is removed is noted first; its blocks go back to the file system, as a hole or with the whole file, when the
 * note is durable, and the note is forgotten when the deletion of the file is. Nothing is copied to make room.
 */
final class FileMedium implements Medium {
    /** What is in the files besides their headers. */
    static final String NOTES_NAME = "notes.log";
    /** Notes of thousands of removals, each of which gives more back. */
    private static final long NOTES_AHEAD = 256 << 10;
    /** Files that are written at the same time: enough for any disk, and a few descriptors each. */
    private static final int MOST_WRITTEN = 64;

    private final FileLayout layout;
    private final TransferEngine engine;
    private final FileOpener opener;
    private final DurableNames names;
    private final UUID storageId;
    private final long capacity;
    private final ValueFiles files;
    private final IndexLog<FileNote, FileNote> notes;
    private final RecentSegments segments;
    private final RareLog complaints = new RareLog(System.getLogger(FileMedium.class.getName()));
    /** Being written, by the batches that are stored now; an own lock, since a batch writes without the backend's. */
    private final Set<NewFile> fresh = ConcurrentHashMap.newKeySet();
    private volatile long used;
    private boolean unsynced;

    /** A medium, and what was in it, oldest first. */
    record Opened(FileMedium medium, List<StoredValue> found) {
    }

    private FileMedium(final FileLayout layout, final BackendOptions options, final TransferEngine engine,
        final FileOpener opener, final UUID storageId, final ValueFiles files,
        final IndexLog<FileNote, FileNote> notes) {
        this.layout = layout;
        this.engine = engine;
        this.opener = opener;
        this.names = DurableNames.of(opener);
        this.storageId = storageId;
        this.capacity = Units.down(options.capacity(), DataFile.UNIT_BYTES);
        this.files = files;
        this.notes = notes;
        this.segments = new RecentSegments(engine);
    }

    /** Opens the files of a directory that is locked and of no other backend, or makes them. */
    static Opened open(final FileLayout layout, final BackendOptions options, final TransferEngine engine,
        final FileOpener opener) {
        final Path directory = options.directory();
        final UUID storageId = DirectoryHeader.open(directory, layout, opener);
        final Path path = directory.resolve(NOTES_NAME);
        final ValueFiles files = ValueFiles.read(layout, directory, storageId, opener, Files.exists(path));
        final NavigableMap<Long, StoredValue> known = files.found();
        final FileNote.Format format = new FileNote.Format(known);
        final IndexLog.Opened<FileNote, FileNote> opened = IndexLog.open(path, format, storageId, 0, opener);
        // Notes of files that are gone may still be there: no new value may have an address that they name.
        files.beginBehind(format.highest());
        try (Closings open = new Closings()) {
            open.keep(opened.log(), IndexLog::close);
            final FileMedium medium =
                new FileMedium(layout, options, engine, opener, storageId, files, opened.log());
            opened.log().reserve(NOTES_AHEAD);
            medium.clear(opened.values().stream().filter(note -> !note.used())
                .map(note -> known.get(note.address())).toList());
            final List<StoredValue> found =
                opened.values().stream().filter(FileNote::used).map(note -> known.get(note.address())).toList();
            // Of use for this alone, and one entry a value.
            known.clear();
            open.stayOpen();
            return new Opened(medium, found);
        }
    }

    @Override
    public long capacityBytes() {
        return capacity;
    }

    @Override
    public long usedBytes() {
        return used;
    }

    @Override
    public boolean take(final StoredValue value) {
        add(DataFile.extentBytes(value.size()));
        return true;
    }

    @Override
    public boolean reserve(final PendingStore pending) {
        final long bytes = DataFile.extentBytes(pending.size());
        if (bytes > capacity - used) {
            return false;
        }
        add(bytes);
        // No address: a value has one when it has a file.
        pending.reserved(0);
        return true;
    }

    @Override
    public void giveBack(final PendingStore pending) {
        if (pending.isLost()) {
            // It counts as taken until this is closed, as its file stays until then.
            return;
        }
        add(-DataFile.extentBytes(pending.size()));
    }

    /** Under the lock of the backend; read by anybody. */
    private void add(final long bytes) {
        used = used + bytes;
    }

    @Override
    public List<PendingStore> prepare(final List<PendingStore> reserved) {
        // First: on a full disk nothing can be removed that cannot be noted.
        notes.reserve(NOTES_AHEAD);
        final List<PendingStore> left = new ArrayList<>();
        for (final List<PendingStore> group : groups(reserved)) {
            try {
                fresh.add(NewFile.create(files, group, engine, opener));
            } catch (final ErrnoException e) {
                if (e.isOutOfSpace()) {
                    left.addAll(group);
                } else {
                    DataFile.failAll(group, e);
                }
            } catch (final RuntimeException | Error e) {
                DataFile.failAll(group, e);
            }
        }
        return left;
    }

    /** What goes into one file, in order. */
    private List<List<PendingStore>> groups(final List<PendingStore> reserved) {
        final List<List<PendingStore>> groups = new ArrayList<>();
        long bytes = 0;
        for (final PendingStore pending : reserved) {
            bytes += DataFile.extentBytes(pending.size());
            if (groups.isEmpty() || !layout.hasRoom(groups.getLast().size(), bytes)) {
                groups.add(new ArrayList<>());
                bytes = DataFile.extentBytes(pending.size());
            }
            groups.getLast().add(pending);
        }
        return groups;
    }

    /** The files of a batch, in order of their addresses. */
    private List<NewFile> filesOf(final List<PendingStore> batch) {
        final Set<PendingStore> wanted = new HashSet<>(batch);
        return fresh.stream().filter(file -> wanted.contains(file.values().getFirst()))
            .sorted(Comparator.comparingLong(NewFile::address)).toList();
    }

    @Override
    public void write(final List<PendingStore> batch) {
        final List<NewFile> all = filesOf(batch);
        for (int from = 0; from < all.size(); from += MOST_WRITTEN) {
            writeTogether(all.subList(from, Math.min(all.size(), from + MOST_WRITTEN)));
        }
    }

    private static void writeTogether(final List<NewFile> written) {
        final List<PendingStore> writing = new ArrayList<>();
        final List<Transfer> transfers = new ArrayList<>();
        written.forEach(file -> file.start(writing, transfers));
        // The processor takes checksums while the disk takes the bytes.
        writing.forEach(PendingStore::takeChecksum);
        for (int i = 0; i < writing.size(); i++) {
            DataFile.await(transfers.get(i), writing.get(i));
        }
        written.forEach(NewFile::sync);
    }

    @Override
    public void persist(final List<PendingStore> batch) {
        final Map<Path, List<NewFile>> named = new TreeMap<>();
        final Map<NewFile, ValueFile> finished = new HashMap<>();
        for (final NewFile file : filesOf(batch)) {
            fresh.remove(file);
            if (file.isLost()) {
                file.leave();
                continue;
            }
            if (!file.isWanted()) {
                file.abandon();
                continue;
            }
            final ValueFile done = file.finish(layout, storageId);
            if (done != null) {
                finished.put(file, done);
                named.computeIfAbsent(file.path().getParent(), parent -> new ArrayList<>()).add(file);
            }
        }
        named.forEach((parent, some) -> {
            try {
                names.sync(parent);
                some.forEach(file -> files.add(finished.get(file)));
            } catch (final RuntimeException e) {
                files.deletedFrom(parent);
                some.forEach(file -> file.fail(e));
            }
        });
    }

    @Override
    public void append(final List<StoredValue> removals) {
        unsynced = true;
        notes.append(removals.stream().map(value -> FileNote.removed(value.offset())).toList());
    }

    @Override
    public void record(final List<StoredValue> removals, final List<StoredValue> replaced,
        final List<StoredValue> values) {
        final List<StoredValue> gone = new ArrayList<>(removals);
        gone.addAll(replaced);
        if (!gone.isEmpty()) {
            append(gone);
        }
        if (unsynced) {
            sync();
        }
    }

    @Override
    public void sync() {
        notes.sync();
        unsynced = false;
    }

    @Override
    public boolean isDamaged() {
        return notes.isDamaged();
    }

    @Override
    public boolean isWorthRewriting() {
        return notes.isWorthRewriting();
    }

    @Override
    public void rewrite(final List<StoredValue> live) {
        // A note may be forgotten when the file of its value cannot come back.
        files.makeDeletionsDurable();
        final Set<Long> there = new HashSet<>();
        live.forEach(value -> there.add(value.offset()));
        final List<FileNote> all = new ArrayList<>();
        for (final ValueFile file : files.all()) {
            for (final long address : file.values()) {
                if (!there.contains(address)) {
                    all.add(FileNote.removed(address));
                }
            }
        }
        live.forEach(value -> all.add(FileNote.used(value.offset())));
        notes.rewrite(all);
        unsynced = false;
    }

    @Override
    public void free(final List<StoredValue> gone) {
        gone.forEach(value -> add(-DataFile.extentBytes(value.size())));
        clear(gone);
    }

    /** The blocks of values whose removal is durable go back to the file system. */
    private void clear(final List<StoredValue> gone) {
        files.deleteUndead();
        final Map<ValueFile, List<StoredValue>> touched = new HashMap<>();
        for (final StoredValue value : gone) {
            final ValueFile file = files.of(value);
            file.free(value.offset());
            touched.computeIfAbsent(file, one -> new ArrayList<>()).add(value);
        }
        touched.forEach((file, values) -> {
            if (file.isFree()) {
                segments.drop(file.path());
                files.delete(file);
            } else {
                punch(file, values);
            }
        });
    }

    /** What cannot be given back now is when the file is deleted. */
    private void punch(final ValueFile file, final List<StoredValue> values) {
        try (BlockFile open = opener.open(file.path().toString(), OpenMode.READ_WRITE)) {
            for (final StoredValue value : values) {
                open.punch(file.offset(value), DataFile.extentBytes(value.size()));
            }
        } catch (final RuntimeException e) {
            complaints.warn("removed values keep their room on the disk until their file is deleted", e::getMessage);
        }
    }

    @Override
    public ValueAccess access(final StoredValue value) {
        final ValueFile file = files.of(value);
        return new ValueAccess(engine, segments.open(file.path()), file.offset(value), true);
    }

    @Override
    public void close() {
        CloseHelper.closeAll(segments, notes);
    }
}
