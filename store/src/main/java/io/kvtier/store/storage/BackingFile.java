package io.kvtier.store.storage;

import io.kvtier.bindings.NativeException;
import io.kvtier.bindings.posix.BlockFile;
import io.kvtier.bindings.posix.BlockIo;
import io.kvtier.bindings.posix.OpenMode;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreException;
import io.kvtier.transport.file.FileOpener;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.UUID;

/**
 * The preallocated file that holds the values of a directory: a {@link FileHeader}, then the extent space.
 *
 * <p>The file is only ever grown. It is made under another name and renamed when whole, so that a crash while it is
 * made leaves nothing that looks like one.
 *
 * @param path      where it is.
 * @param capacity  bytes of the extent space.
 * @param storageId made with the file; the index names it, so that the two cannot be mixed up.
 */
record BackingFile(Path path, long capacity, UUID storageId) {
    static final String FILE_NAME = "kv_cache.data";
    static final long HEADER_BYTES = FileHeader.BYTES;

    /**
     * Opens the file of a directory, or makes it.
     *
     * @param directory where.
     * @param capacity  bytes of the extent space, a multiple of the unit; an existing smaller file is grown.
     * @param unit      bytes.
     * @param opener    opens files.
     * @return what it is; no descriptor is left open.
     */
    static BackingFile open(final Path directory, final long capacity, final long unit, final FileOpener opener) {
        final Path path = directory.resolve(FILE_NAME);
        try {
            DurableNames.of(opener).deleteIfExists(DurableNames.temporary(path));
            return Files.exists(path) ? existing(path, capacity, unit, opener) : create(path, capacity, unit, opener);
        } catch (final NativeException e) {
            throw new StoreException(ErrorCode.FILE_OPEN_FAIL, "cannot open or make " + path + " with "
                + (HEADER_BYTES + capacity) + " bytes; where the disk is full, free space or configure a smaller "
                + "capacity", e);
        }
    }

    private static BackingFile create(final Path path, final long capacity, final long unit, final FileOpener opener) {
        final UUID id = UUID.randomUUID();
        make(path, new FileHeader(FileHeader.Kind.DISK, unit, capacity, id, 0), opener);
        return new BackingFile(path, capacity, id);
    }

    /** Makes a file, in the place of what had its name: a crash leaves the new one whole, or what was there. */
    static void make(final Path path, final FileHeader header, final FileOpener opener) {
        final Path temporary = DurableNames.temporary(path);
        final DurableNames names = DurableNames.of(opener);
        boolean done = false;
        try {
            fill(temporary, header, opener);
            names.rename(temporary, path);
            done = true;
        } finally {
            if (!done) {
                names.deleteIfExists(temporary);
            }
        }
    }

    private static void fill(final Path path, final FileHeader header, final FileOpener opener) {
        try (BlockFile file = opener.open(path.toString(), OpenMode.CREATE_NEW)) {
            file.preallocate(0, HEADER_BYTES + header.capacity());
            header.write(file);
        }
    }

    private static BackingFile existing(final Path path, final long capacity, final long unit,
        final FileOpener opener) {
        try (BlockFile file = opener.open(path.toString(), OpenMode.READ_WRITE); Arena arena = Arena.ofConfined()) {
            final MemorySegment block = arena.allocate(HEADER_BYTES);
            final FileHeader header = header(path, block, BlockIo.readFully(file, block, 0), unit);
            final long known = header.capacity();
            if (file.size() < HEADER_BYTES + known) {
                throw refused(path, "is truncated: " + file.size() + " bytes, its header says "
                    + (HEADER_BYTES + known));
            }
            if (capacity < known) {
                throw refused(path, "has " + known + " bytes of capacity, more than the configured " + capacity
                    + "; configure at least that much");
            }
            if (capacity > known) {
                checkRoom(path, file.size(), HEADER_BYTES + capacity);
                file.preallocate(0, HEADER_BYTES + capacity);
                new FileHeader(FileHeader.Kind.DISK, unit, capacity, header.storageId(), 0).write(file);
            }
            return new BackingFile(path, capacity, header.storageId());
        }
    }

    /** A reservation that fails halfway keeps what it got, and this file is never cut: the room is looked for first. */
    static void checkRoom(final Path path, final long size, final long wanted) {
        final long free;
        try {
            free = Files.getFileStore(path).getUsableSpace();
        } catch (final IOException e) {
            throw new StoreException(ErrorCode.FILE_OPEN_FAIL, "cannot tell the free space beside " + path, e);
        }
        if (wanted - size > free) {
            throw new StoreException(ErrorCode.FILE_OPEN_FAIL, "backing file " + path + " cannot grow to "
                + wanted + " bytes: it has " + size + ", and only " + free + " are free; free space or configure a "
                + "smaller capacity");
        }
    }

    private static FileHeader header(final Path path, final MemorySegment block, final long there, final long unit) {
        try {
            return FileHeader.parse(FileHeader.Kind.DISK, block, there, unit);
        } catch (final IllegalArgumentException e) {
            throw refused(path, e.getMessage());
        }
    }

    private static StoreException refused(final Path path, final String why) {
        return new StoreException(ErrorCode.FILE_OPEN_FAIL, "backing file " + path + ' ' + why
            + "; use another directory, or delete this one's files to start empty");
    }
}
