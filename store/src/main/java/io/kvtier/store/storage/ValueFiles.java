package io.kvtier.store.storage;

import io.kvtier.bindings.posix.BlockFile;
import io.kvtier.bindings.posix.OpenMode;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.storage.ValueFileHeader.DamagedFileException;
import io.kvtier.store.storage.ValueFileHeader.ForeignFileException;
import io.kvtier.transport.file.FileOpener;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.ConcurrentSkipListMap;

/**
 * The value files of a directory by address, and the directories that a file was deleted from since they were made
 * durable.
 *
 * <p><b>Threading:</b> {@link #of} from any thread; everything else one at a time.
 */
final class ValueFiles {
    private static final System.Logger LOG = System.getLogger(ValueFiles.class.getName());

    private final FileLayout layout;
    private final Path directory;
    private final NavigableMap<Long, ValueFile> files = new ConcurrentSkipListMap<>();
    private final NavigableMap<Long, StoredValue> found = new TreeMap<>();
    /** Files that could not be deleted: it is tried again. */
    private final Set<ValueFile> undead = new HashSet<>();
    private final Set<Path> changed = new HashSet<>();
    private final DurableNames names;
    private final SyncedDirectories directories;
    /** Where the next file begins; never 0. */
    private long next = DataFile.UNIT_BYTES;

    private ValueFiles(final FileLayout layout, final Path directory, final DurableNames names) {
        this.names = names;
        this.directories = new SyncedDirectories(names);
        this.layout = layout;
        this.directory = directory.toAbsolutePath();
    }

    /**
     * Reads the headers of all files; those that are damaged, or were not finished, are deleted.
     *
     * @param storageId of the directory.
     * @param opener    opens files.
     * @param whole     whether there are notes: without them nobody knows what was removed, and all goes.
     * @throws io.kvtier.store.StoreException            when the directory cannot be read or written.
     * @throws io.kvtier.bindings.NativeException when a file cannot be read.
     */
    static ValueFiles read(final FileLayout layout, final Path directory, final UUID storageId,
        final FileOpener opener, final boolean whole) {
        final ValueFiles all = new ValueFiles(layout, directory, DurableNames.of(opener));
        final String unfinished = DurableNames.temporary(Path.of("")).toString();
        for (final Path path : layout.files(all.directory)) {
            final String name = path.toString();
            final long address = layout.address(path);
            if (name.endsWith(unfinished) && layout.address(Path.of(name.substring(0,
                name.length() - unfinished.length()))) >= 0 || address >= 0 && !whole) {
                all.names.deleteIfExists(path);
            } else if (address >= 0) {
                all.add(path, address, storageId, opener);
            }
        }
        all.directories.syncAll(layout.directories(all.directory));
        return all;
    }

    private void add(final Path path, final long address, final UUID storageId, final FileOpener opener) {
        try (BlockFile file = opener.open(path.toString(), OpenMode.READ)) {
            final ValueFileHeader header = ValueFileHeader.read(file, layout, storageId, address);
            files.put(address, new ValueFile(path, header));
            header.values().forEach(value -> found.put(value.offset(), value));
            next = Math.max(next, address + header.length());
        } catch (final ForeignFileException e) {
            next = Math.max(next, address + DataFile.UNIT_BYTES);
            LOG.log(System.Logger.Level.WARNING, "file {0} is left alone: {1}; move it where it belongs, or delete it",
                path, e.getMessage());
        } catch (final DamagedFileException e) {
            LOG.log(System.Logger.Level.WARNING, "file {0} is damaged and is deleted with its values: {1}", path,
                e.getMessage());
            names.deleteIfExists(path);
        }
    }

    /** What the headers name, by address. */
    NavigableMap<Long, StoredValue> found() {
        return found;
    }

    /** No file that is new from now on has this address in it. */
    void beginBehind(final long address) {
        next = Math.max(next, Math.ceilDiv(address + 1, DataFile.UNIT_BYTES) * DataFile.UNIT_BYTES);
    }

    /** A range of the space for a new file. */
    long take(final long length) {
        final long address = next;
        next += length;
        return address;
    }

    /** Where a new file is to be, in a directory that is there, durably. */
    Path place(final long address, final ObjectKey first) {
        final Path path = layout.path(directory, address, first);
        makeDirectory(path.getParent());
        return path;
    }

    private void makeDirectory(final Path wanted) {
        if (!wanted.equals(directory)) {
            makeDirectory(wanted.getParent());
            directories.add(wanted);
        }
    }

    /** A file has its name. */
    void add(final ValueFile file) {
        files.put(file.address(), file);
    }

    Iterable<ValueFile> all() {
        return files.values();
    }

    /** The file that a value is in. */
    ValueFile of(final StoredValue value) {
        final Map.Entry<Long, ValueFile> entry = files.floorEntry(value.offset());
        if (entry == null) {
            throw new IllegalStateException("no file has " + value);
        }
        return entry.getValue();
    }

    /** Deletes a file without a value that anybody needs, or has that tried again later. */
    void delete(final ValueFile file) {
        try {
            changed.add(file.path().getParent());
            names.deleteIfExists(file.path());
            files.remove(file.address());
            undead.remove(file);
        } catch (final RuntimeException e) {
            undead.add(file);
            LOG.log(System.Logger.Level.WARNING, "file {0} has no value any more and could not be deleted; it will be "
                + "tried again: {1}", file.path(), e.getMessage());
        }
    }

    /** A file is deleted that is not among these. */
    void deletedFrom(final Path parent) {
        changed.add(parent);
    }

    /** Tries again what could not be deleted. */
    void deleteUndead() {
        Set.copyOf(undead).forEach(this::delete);
    }

    /** Afterwards no file that was deleted comes back. */
    void makeDeletionsDurable() {
        for (final Path one : Set.copyOf(changed)) {
            names.sync(one);
            changed.remove(one);
        }
    }
}
