package io.kvtier.store.storage;

import io.kvtier.bindings.posix.BlockFile;
import io.kvtier.bindings.posix.BlockIo;
import io.kvtier.bindings.posix.Errno;
import io.kvtier.bindings.posix.ErrnoException;
import io.kvtier.bindings.posix.OpenMode;
import io.kvtier.store.DiskBackend;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreException;
import io.kvtier.transport.file.FileOpener;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Optional;
import java.util.UUID;
import java.util.stream.Stream;

/**
 * What says which backend a directory is of: the file that each makes first, a {@link FileHeader} where there are many
 * others.
 *
 * <p><b>Threading:</b> stateless; the directory is locked.
 */
final class DirectoryHeader {
    private DirectoryHeader() {
    }

    /**
     * Refuses a directory that another backend has made.
     *
     * @param directory where.
     * @param wanted    the one that is to use it.
     * @throws StoreException FILE_OPEN_FAIL, naming both.
     */
    static void refuseOthers(final Path directory, final DiskBackend wanted) {
        final Optional<DiskBackend> there =
            Arrays.stream(DiskBackend.values()).filter(one -> one != wanted && made(directory, one)).findFirst();
        if (there.isPresent()) {
            throw new StoreException(ErrorCode.FILE_OPEN_FAIL, "directory " + directory + " has values of "
                + there.get().configName() + " (" + firstFile(there.get()) + "), and " + wanted.configName()
                + " is to use it; set " + DiskBackend.VARIABLE + " to " + there.get().configName()
                + ", use another directory, or delete this one's files to start empty");
        }
    }

    /** Whether a backend has made a directory, or the directories of nodes in it. */
    static boolean made(final Path directory, final DiskBackend backend) {
        return Files.exists(directory.resolve(firstFile(backend)))
            || backend == DiskBackend.DISTRIBUTED && hasNodes(directory);
    }

    private static boolean hasNodes(final Path root) {
        if (!Files.isDirectory(root)) {
            return false;
        }
        try (Stream<Path> all = Files.list(root)) {
            return all.anyMatch(one -> Files.exists(one.resolve(firstFile(DiskBackend.DISTRIBUTED))));
        } catch (final IOException | UncheckedIOException e) {
            // Who cannot list it says so where it is opened.
            return false;
        }
    }

    private static String firstFile(final DiskBackend backend) {
        return switch (backend) {
            case OFFSET_ALLOCATOR -> BackingFile.FILE_NAME;
            case BUCKET -> FileLayout.BUCKET.headerName();
            case FILE_PER_KEY -> FileLayout.FILE_PER_KEY.headerName();
            case DISTRIBUTED -> FileLayout.DISTRIBUTED.headerName();
        };
    }

    /**
     * The storage id of a directory, which is made with it.
     *
     * @param directory where; it is of no other backend.
     * @param layout    of its files.
     * @param opener    opens files.
     * @throws StoreException FILE_OPEN_FAIL when the header is none that this release reads; it is left as it is.
     */
    static UUID open(final Path directory, final FileLayout layout, final FileOpener opener) {
        final Path path = directory.resolve(layout.headerName());
        DurableNames.of(opener).deleteIfExists(DurableNames.temporary(path));
        if (Files.exists(path)) {
            return read(path, layout, opener);
        }
        if (layout == FileLayout.BUCKET) {
            tryHole(directory, opener);
        }
        final UUID id = UUID.randomUUID();
        BackingFile.make(path, new FileHeader(layout.kind(), DataFile.UNIT_BYTES, 0, id, 0), opener);
        return id;
    }

    private static UUID read(final Path path, final FileLayout layout, final FileOpener opener) {
        try (BlockFile file = opener.open(path.toString(), OpenMode.READ); Arena arena = Arena.ofConfined()) {
            final MemorySegment block = arena.allocate(FileHeader.BYTES);
            return FileHeader.parse(layout.kind(), block, BlockIo.readFully(file, block, 0), DataFile.UNIT_BYTES)
                .storageId();
        } catch (final IllegalArgumentException e) {
            throw new StoreException(ErrorCode.FILE_OPEN_FAIL, "header " + path + ' ' + e.getMessage()
                + "; use another directory, or delete this one's files to start empty", e);
        }
    }

    /** Without holes the room of values that are removed from a bucket would never come back. */
    private static void tryHole(final Path directory, final FileOpener opener) {
        final Path path = DurableNames.temporary(directory.resolve("hole"));
        final DurableNames names = DurableNames.of(opener);
        names.deleteIfExists(path);
        try (BlockFile file = opener.open(path.toString(), OpenMode.CREATE_NEW)) {
            file.preallocate(0, 2 * DataFile.UNIT_BYTES);
            file.punch(0, DataFile.UNIT_BYTES);
        } catch (final ErrnoException e) {
            if (e.errno() != Errno.EOPNOTSUPP) {
                throw e;
            }
            throw new StoreException(ErrorCode.FILE_OPEN_FAIL, "the file system of " + directory + " cannot make holes "
                + "in files (fallocate with FALLOC_FL_PUNCH_HOLE), which " + DiskBackend.BUCKET.configName()
                + " needs; set " + DiskBackend.VARIABLE + " to " + DiskBackend.OFFSET_ALLOCATOR.configName() + " or "
                + DiskBackend.FILE_PER_KEY.configName() + ", or name a directory on ext4 or XFS", e);
        } finally {
            names.deleteIfExists(path);
        }
    }
}
