package io.kvtier.store.storage;

import io.kvtier.alloc.Units;
import io.kvtier.bindings.NativeException;
import io.kvtier.bindings.posix.BlockFile;
import io.kvtier.bindings.posix.BlockIo;
import io.kvtier.bindings.posix.Errno;
import io.kvtier.bindings.posix.ErrnoException;
import io.kvtier.bindings.posix.OpenMode;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreException;
import io.kvtier.transport.file.FileOpener;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.UUID;

/**
 * The preallocated file of a {@link GdsStorageManager}: a {@link FileHeader}, then the extent space.
 *
 * <p>What cannot be gone on with (another version, unit or capacity, a damaged header, a file that was cut) starts
 * anew: its header says so, durably, before the first of its bytes is given to anybody, so that no index and no
 * descriptor of before fits it. It keeps its id when that can be read, and has another generation. It is only ever
 * grown or written over in its place; where it is larger than it shall be, another one takes its place. What has not
 * even the magic is somebody else's and is refused.
 *
 * @param path   where it is.
 * @param header what it says.
 * @param anew   whether nothing of before counts any more.
 */
record GdsBackingFile(Path path, FileHeader header, boolean anew) {
    private static final System.Logger LOG = System.getLogger(GdsBackingFile.class.getName());
    private static final long UNIT = DataFile.UNIT_BYTES;

    /**
     * Opens the file, or makes it.
     *
     * @param path     where.
     * @param capacity bytes of the extent space, a multiple of the unit.
     * @param opener   opens files.
     * @return what it is; no descriptor is left open.
     */
    static GdsBackingFile open(final Path path, final long capacity, final FileOpener opener) {
        DurableNames.of(opener).deleteIfExists(DurableNames.temporary(path));
        if (Files.notExists(path, LinkOption.NOFOLLOW_LINKS)) {
            return made(path, next(null, capacity), opener);
        }
        if (!Files.isRegularFile(path)) {
            throw refused(path, "is not a regular file");
        }
        final FileHeader known;
        final long size;
        try (BlockFile file = opener.open(path.toString(), OpenMode.READ_WRITE)) {
            size = file.size();
            known = size == 0 ? null : header(path, capacity, size, file);
            if (known != null && fits(known, capacity, size)) {
                return new GdsBackingFile(path, known, false);
            }
            // An empty one is nobody's. It is not written over in its place, because who finds it half made would not
            // know it for one of this store.
            if (size != 0 && size <= FileHeader.BYTES + capacity) {
                final FileHeader next = next(known, capacity);
                rewrite(path, file, size, next);
                return new GdsBackingFile(path, next, true);
            }
        }
        return instead(path, size, next(known, capacity), opener);
    }

    /** The same file with another generation: nothing of before counts. */
    GdsBackingFile renew(final FileOpener opener) {
        final FileHeader next = next(header, header.capacity());
        try (BlockFile file = opener.open(path.toString(), OpenMode.READ_WRITE)) {
            next.write(file);
        }
        return new GdsBackingFile(path, next, true);
    }

    /** Makes a smaller file, for which there must be room beside the one that is there. */
    private static GdsBackingFile instead(final Path path, final long size, final FileHeader header,
        final FileOpener opener) {
        try {
            return made(path, header, opener);
        } catch (final ErrnoException e) {
            if (e.errno() != Errno.ENOSPC || size == 0) {
                throw e;
            }
            final long wanted = FileHeader.BYTES + header.capacity();
            throw new StoreException(ErrorCode.FILE_OPEN_FAIL, "GDS file " + path + " has " + size + " bytes and is to "
                + "have " + wanted + "; a new one is made beside it first, for which the disk has no room: free "
                + wanted + " bytes, delete the file, whose values are given up in any case, or configure at least "
                + Units.up(size - FileHeader.BYTES, UNIT) + ", with which it stays in its place", e);
        }
    }

    private static GdsBackingFile made(final Path path, final FileHeader header, final FileOpener opener) {
        BackingFile.make(path, header, opener);
        return new GdsBackingFile(path, header, true);
    }

    /** The header of a file of this kind; null, and a warning, when it cannot be read. */
    private static FileHeader header(final Path path, final long capacity, final long size, final BlockFile file) {
        try (Arena arena = Arena.ofConfined()) {
            final MemorySegment block = arena.allocate(FileHeader.BYTES);
            final long there = BlockIo.readFully(file, block, 0);
            if (!FileHeader.hasMagic(FileHeader.Kind.GDS, block, there)) {
                throw refused(path, "is not one that this store has made");
            }
            final FileHeader found = FileHeader.parse(FileHeader.Kind.GDS, block, there, UNIT);
            if (!fits(found, capacity, size)) {
                warn(path, "has " + size + " bytes, its header says " + found.capacity() + " for values and generation "
                    + found.generation() + ", and " + capacity + " are configured");
            }
            return found;
        } catch (final IllegalArgumentException e) {
            warn(path, e.getMessage());
            return null;
        }
    }

    private static boolean fits(final FileHeader known, final long capacity, final long size) {
        return known.capacity() == capacity && size >= FileHeader.BYTES + capacity && known.generation() > 0;
    }

    private static void rewrite(final Path path, final BlockFile file, final long size, final FileHeader next) {
        final long wanted = FileHeader.BYTES + next.capacity();
        if (size < wanted) {
            BackingFile.checkRoom(path, size, wanted);
            file.preallocate(0, wanted);
        }
        next.write(file);
    }

    private static FileHeader next(final FileHeader before, final long capacity) {
        if (before != null && before.generation() > 0 && before.generation() < Long.MAX_VALUE) {
            return new FileHeader(FileHeader.Kind.GDS, UNIT, capacity, before.storageId(), before.generation() + 1);
        }
        // A random start: who only compares generations shall not take a file that was deleted for this one.
        final long generation = 1 + (UUID.randomUUID().getLeastSignificantBits() >>> 2 & Long.MAX_VALUE >> 2);
        return new FileHeader(FileHeader.Kind.GDS, UNIT, capacity, UUID.randomUUID(), generation);
    }

    private static void warn(final Path path, final String why) {
        LOG.log(System.Logger.Level.WARNING, "GDS file {0} {1}; it starts empty, with another generation", path, why);
    }

    private static StoreException refused(final Path path, final String why) {
        return new StoreException(ErrorCode.FILE_OPEN_FAIL, "GDS file " + path + ' ' + why
            + ", and is left as it is; name another file, or delete this one");
    }

    /** What a failed call of the system means to who configured the file. */
    static StoreException failed(final Path path, final long capacity, final NativeException cause) {
        return new StoreException(ErrorCode.FILE_OPEN_FAIL, "cannot open or make GDS file " + path + " with "
            + (FileHeader.BYTES + capacity) + " bytes, or the files beside it; where the disk is full, free space or "
            + "configure a smaller capacity", cause);
    }
}
