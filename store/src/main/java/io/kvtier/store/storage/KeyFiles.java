package io.kvtier.store.storage;

import io.kvtier.bindings.NativeException;
import io.kvtier.bindings.posix.BlockFile;
import io.kvtier.bindings.posix.BlockIo;
import io.kvtier.bindings.posix.Errno;
import io.kvtier.bindings.posix.ErrnoException;
import io.kvtier.bindings.posix.OpenMode;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreException;
import io.kvtier.transport.file.FileOpener;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import java.util.regex.Pattern;

/**
 * Files of single values on a file system that several hosts mount. Each has a value's bytes and nothing else, and gets
 * its name when they are durable; the name is never given to another value.
 *
 * <p>The folder that they are in is made once, and never by a write: where it is gone, its file system is most likely
 * not mounted any more, and what is behind it belongs to this host alone.
 *
 * <p><b>Threading:</b> {@link #write} by one thread at a time, all else by any; nobody writes or deletes a file that
 * another thread writes. <b>Blocking:</b> on the file system, without a time limit.
 */
public final class KeyFiles {
    private static final Pattern NAME = Pattern.compile("[0-9a-f]{16}-[0-9a-f]{16}\\.kv(\\.tmp)?");
    private static final Pattern FOLDER = Pattern.compile("[0-9a-f]{2}");
    /** A folder takes a block. */
    private static final long LEAST_ROOM = 4096;
    private static final String UNFINISHED = DurableNames.temporary(Path.of("")).toString();

    private final FileOpener opener;
    private final DurableNames names;
    /** One that is there may have been made by a process that did not get to its sync. */
    private final SyncedDirectories parts;

    /**
     * Those of a host.
     *
     * @param opener opens files.
     */
    public KeyFiles(final FileOpener opener) {
        this.opener = opener;
        this.names = DurableNames.of(opener);
        this.parts = new SyncedDirectories(names);
    }

    /**
     * Makes sure of a folder in one that is there already: what is to be mounted is not made.
     *
     * @param folder absolute.
     * @return why it will not do on this host, in words; null when it will.
     */
    public String prepare(final Path folder) {
        final String problem = problem(folder.getParent());
        if (problem != null) {
            return problem;
        }
        try {
            names.createDurably(folder);
            return null;
        } catch (final StoreException | NativeException e) {
            return e.getMessage();
        }
    }

    /**
     * Looks whether a folder is there, and can be written to.
     *
     * @param folder absolute.
     * @return why it will not do on this host, in words; null when it will.
     */
    public static String problem(final Path folder) {
        try {
            Files.readAttributes(folder, BasicFileAttributes.class);
        } catch (final NoSuchFileException e) {
            return folder + " is not there";
        } catch (final IOException e) {
            return folder + " cannot be looked at: " + e.getMessage();
        }
        return Files.isDirectory(folder) && Files.isWritable(folder) ? null
            : folder + " is no folder that this process may write to";
    }

    /**
     * The size of the file system that a folder is on.
     *
     * @param folder one that is there.
     * @return bytes, used or not; 0 when that cannot be told.
     */
    public static long capacity(final Path folder) {
        try {
            return Math.max(0, Files.getFileStore(folder).getTotalSpace());
        } catch (final IOException e) {
            return 0;
        }
    }

    /**
     * Writes a file: under another name, made durable, given its name, and that made durable. Afterwards it is whole
     * and stays so; when this throws, nothing of it is left, unless that could not be deleted.
     *
     * @param path  absolute; in a folder that is {@linkplain #prepare there}, or in a folder there.
     * @param bytes the value; native memory.
     * @throws StoreException  FILE_OPEN_FAIL or FILE_WRITE_FAIL.
     * @throws NativeException when a call fails.
     */
    public void write(final Path path, final MemorySegment bytes) {
        final Path temporary = DurableNames.temporary(path);
        boolean done = false;
        try {
            parts.add(path.getParent());
            // Of a try whose answer was lost.
            names.deleteIfExists(temporary);
            try (BlockFile file = opener.open(temporary.toString(), OpenMode.CREATE_NEW)) {
                if (bytes.byteSize() > 0) {
                    BlockIo.writeFully(file, bytes, 0);
                }
                file.sync();
            }
            names.rename(temporary, path);
            done = true;
        } finally {
            if (!done) {
                abandon(path);
            }
        }
    }

    private void abandon(final Path path) {
        try {
            delete(path);
        } catch (final StoreException e) {
            // The master has it deleted as well, for it is told that the write failed.
            System.getLogger(KeyFiles.class.getName()).log(System.Logger.Level.WARNING, e.getMessage());
        }
    }

    /**
     * Whether a file could not be written for want of room. Of names and folders the system says it in words alone.
     *
     * @param failure what {@link #write} threw.
     * @param folder  the one that was {@linkplain #prepare prepared}.
     * @return true when there is none.
     */
    public static boolean isOutOfSpace(final Throwable failure, final Path folder) {
        if (failure instanceof ErrnoException failed) {
            return failed.isOutOfSpace();
        }
        try {
            return failure instanceof StoreException && Files.getFileStore(folder).getUsableSpace() < LEAST_ROOM;
        } catch (final IOException e) {
            return false;
        }
    }

    /**
     * Deletes a file under both names that it may have; one that is not there is no error, where its folder is.
     *
     * @param path absolute.
     * @throws StoreException FILE_WRITE_FAIL, when it may still be there.
     */
    public void delete(final Path path) {
        names.deleteIfExists(DurableNames.temporary(path));
        names.deleteIfExists(path);
        final Path folder = path.getParent().getParent();
        if (!Files.isDirectory(folder)) {
            throw new StoreException(ErrorCode.FILE_WRITE_FAIL, "cannot delete " + path + ": " + folder
                + " is not there; is the file system mounted on this host?");
        }
    }

    /**
     * Reads a file, past the page cache where the file system can.
     *
     * @param path   absolute.
     * @param size   bytes that it must have.
     * @param target filled with them; native memory at a whole block, and of whole blocks.
     * @return null when all bytes were read; otherwise why nobody will ever read them: it is not there, or has another
     *         size.
     * @throws NativeException when it cannot be opened or read, which may be this host's trouble.
     * @throws StoreException  FILE_OPEN_FAIL, when its folder cannot be looked at or is not there.
     */
    public String read(final Path path, final long size, final MemorySegment target) {
        try (BlockFile file = open(path)) {
            final long found = file.size();
            if (found != size) {
                return path + " has " + found + " bytes; it was written with " + size;
            }
            final long read = size == 0 ? 0 : BlockIo.readFully(file, target, 0);
            return read == size ? null : path + " ended at " + read + " while it was read; it was written with " + size;
        } catch (final ErrnoException e) {
            if (e.errno() == Errno.ENOENT && !isListed(path)) {
                return path + " is not there";
            }
            throw e;
        }
    }

    private BlockFile open(final Path path) {
        try {
            return opener.open(path.toString(), OpenMode.READ_DIRECT);
        } catch (final ErrnoException e) {
            if (e.errno() != Errno.EINVAL) {
                throw e;
            }
            // There is no direct I/O here. A file is never written again: what a cache has of it is right.
            return opener.open(path.toString(), OpenMode.READ);
        }
    }

    /**
     * Whether its folder has it. A host may have remembered that there was no such name; opening a folder asks anew.
     */
    private static boolean isListed(final Path path) {
        try (DirectoryStream<Path> all = Files.newDirectoryStream(path.getParent(), path.getFileName().toString())) {
            return all.iterator().hasNext();
        } catch (final IOException | DirectoryIteratorException e) {
            throw new StoreException(ErrorCode.FILE_OPEN_FAIL, "the folder of " + path + " cannot be looked at; is the "
                + "file system mounted on this host, and at the same place as on the others?", e);
        }
    }

    /**
     * Deletes the files in a folder that nobody knows. What is not named as such files are is left alone.
     *
     * @param folder absolute.
     * @param most   files that are asked about at once.
     * @param known  says of paths which are known; under the names that the files have, or will have.
     * @return how many were deleted.
     * @throws StoreException FILE_OPEN_FAIL or FILE_WRITE_FAIL; those before are deleted.
     */
    public long sweep(final Path folder, final int most, final Function<List<String>, List<Boolean>> known) {
        long deleted = 0;
        for (final Path part : list(folder, FOLDER)) {
            final List<String> paths = list(part, NAME).stream().map(Path::toString).map(name ->
                name.endsWith(UNFINISHED) ? name.substring(0, name.length() - UNFINISHED.length()) : name).toList();
            for (int from = 0; from < paths.size(); from += most) {
                final List<String> some = paths.subList(from, Math.min(paths.size(), from + most));
                final List<Boolean> answers = known.apply(some);
                for (int i = 0; i < some.size(); i++) {
                    // One that was not answered about stays.
                    if (i < answers.size() && !answers.get(i)) {
                        delete(Path.of(some.get(i)));
                        deleted++;
                    }
                }
            }
        }
        return deleted;
    }

    private static List<Path> list(final Path folder, final Pattern name) {
        final List<Path> found = new ArrayList<>();
        try (DirectoryStream<Path> all = Files.newDirectoryStream(folder)) {
            for (final Path path : all) {
                if (name.matcher(path.getFileName().toString()).matches()) {
                    found.add(path);
                }
            }
        } catch (final IOException | DirectoryIteratorException e) {
            throw new StoreException(ErrorCode.FILE_OPEN_FAIL, "folder " + folder + " cannot be listed", e);
        }
        return found;
    }
}
