package io.kvtier.alloc;

import io.kvtier.bindings.posix.Errno;
import io.kvtier.bindings.posix.ErrnoException;
import io.kvtier.bindings.posix.Mapping;
import io.kvtier.bindings.posix.OpenMode;
import io.kvtier.bindings.posix.PosixFile;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileStore;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.regex.Pattern;

/**
 * Files of shared memory: their names, how they come to be, whose they are, and how those of dead processes go.
 *
 * <p>The owner holds an exclusive {@code flock} on its file from before the first byte until it is unlinked. The kernel
 * takes the lock back when the process dies, whatever it died of: a file that has the name and that nobody has locked
 * is nobody's. Process numbers cannot tell that, since containers that share the folder count their own.
 *
 * <p>Between creating and locking a file an owner can be taken for dead. Who removes files holds their lock meanwhile,
 * so an owner that does not get the lock, or has it on a file that lost its name, leaves that file and takes another.
 *
 * @param directory where.
 * @param names     gives a name a call.
 * @param created   hears of each file that was created, before it is locked.
 */
record SharedFiles(Path directory, Supplier<String> names, Consumer<Path> created) {
    /** Names that are tried. One is enough but for 64 equal random bits, or a sweep in the same microsecond. */
    static final int TRIES = 8;

    /**
     * How much is allocated by one call. A signal, such as a profiler sends many times a second, makes the kernel undo
     * the whole call, and it is begun anew.
     */
    private static final long STEP_BYTES = 64L << 20;
    private static final Pattern NAME = Pattern.compile("kvtier-[0-9]+-[0-9a-f]{16}");
    private static final SecureRandom RANDOM = new SecureRandom();
    private static final Set<Integer> REFUSED = Set.of(Errno.EACCES, Errno.EPERM, Errno.EROFS);

    /**
     * A file and its memory.
     *
     * @param path    where it is.
     * @param file    holds the owner's lock; null for who only mapped it.
     * @param mapping the whole file.
     * @param header  what it begins with.
     */
    record Mapped(Path path, PosixFile file, Mapping mapping, SharedHeader header) {
    }

    SharedFiles(final Path directory) {
        this(directory, SharedFiles::name, path -> { });
    }

    private static String name() {
        return "kvtier-" + ProcessHandle.current().pid() + '-' + HexFormat.of().toHexDigits(RANDOM.nextLong());
    }

    /** Makes a file with all its blocks, so that a full file system is an error here and not a fault at some access. */
    Mapped create(final long bytes, final byte[] token) {
        final long fileBytes = fileBytes(bytes);
        for (int i = 0; i < TRIES; i++) {
            final Mapped made = tryCreate(directory.resolve(names.get()), new SharedHeader(bytes, fileBytes), token);
            if (made != null) {
                return made;
            }
        }
        throw new ErrnoException("open", Errno.EEXIST, directory + ", " + TRIES + " names tried, each taken or removed "
            + "by another process at once");
    }

    private long fileBytes(final long bytes) {
        long block = Mapping.PAGE_BYTES;
        long free = Long.MAX_VALUE;
        try {
            final FileStore store = Files.getFileStore(directory);
            // On hugetlbfs a huge page; nothing shorter can be mapped there.
            block = Math.max(block, store.getBlockSize());
            // A file system without a limit says 0, of all and of what is free.
            free = store.getTotalSpace() == 0 ? free : store.getUsableSpace();
        } catch (final IOException e) {
            // Creating the file will say what is wrong with the folder, or nothing is.
            free = Long.MAX_VALUE;
        }
        final long fileBytes = Math.ceilDiv(bytes + SharedHeader.BYTES, block) * block;
        // Asked first, because an allocation that fails in the end has left nothing to others meanwhile.
        if (fileBytes > free) {
            throw new ErrnoException("fallocate", Errno.ENOSPC, directory + ", length " + fileBytes + ", free " + free
                + "; SharedRegion.removeStale frees what dead processes left");
        }
        return fileBytes;
    }

    private Mapped tryCreate(final Path path, final SharedHeader header, final byte[] token) {
        final PosixFile file;
        try {
            file = PosixFile.open(path.toString(), OpenMode.CREATE_NEW, PosixFile.MODE_PRIVATE);
        } catch (final ErrnoException e) {
            if (e.errno() == Errno.EEXIST) {
                return null;
            }
            throw e;
        }
        Mapped made = null;
        try {
            created.accept(path);
            if (file.tryLock(true) && hasName(file, path)) {
                made = new Mapped(path, file, fill(file, header, token), header);
            }
            return made;
        } finally {
            if (made == null) {
                unlink(path, file);
            }
        }
    }

    private static Mapping fill(final PosixFile file, final SharedHeader header, final byte[] token) {
        for (long at = 0; at < header.fileBytes(); at += STEP_BYTES) {
            file.preallocate(at, Math.min(STEP_BYTES, header.fileBytes() - at));
        }
        if (file.status().allocatedBytes() < header.fileBytes()) {
            throw new ErrnoException("fallocate", Errno.EOPNOTSUPP, file.path() + ", length " + header.fileBytes()
                + ", which this file system does not reserve; use a folder on tmpfs or hugetlbfs");
        }
        final Mapping mapping = Mapping.of(file, 0, header.fileBytes(), true);
        boolean written = false;
        try {
            header.write(mapping.segment(), token);
            PageFaults.raise();
            written = true;
        } finally {
            if (!written) {
                mapping.close();
            }
        }
        return mapping;
    }

    private static boolean hasName(final PosixFile file, final Path path) {
        try (PosixFile named = PosixFile.open(path.toString(), OpenMode.READ)) {
            return named.identity().equals(file.identity());
        } catch (final ErrnoException e) {
            if (e.errno() == Errno.ENOENT) {
                return false;
            }
            throw e;
        }
    }

    /** Takes the name away first: a file that is unlocked and has one is anybody's to remove. */
    static void unlink(final Path path, final PosixFile file) {
        try {
            Files.deleteIfExists(path);
        } catch (final IOException e) {
            throw new UncheckedIOException("cannot remove " + path + "; SharedRegion.removeStale can, once it may", e);
        } finally {
            file.close();
        }
    }

    /**
     * Maps a file of another process, or of this one once more.
     *
     * @param token what it must have been created with; null for anything.
     */
    static Mapped open(final Path path, final byte[] token) {
        // Opening a pipe waits for its other end.
        if (Files.exists(path) && !Files.isRegularFile(path)) {
            throw new IllegalArgumentException("cannot use " + path + " as shared memory: it is not a regular file");
        }
        try {
            return open(path, token, true);
        } catch (final ErrnoException e) {
            if (REFUSED.contains(e.errno())) {
                return open(path, token, false);
            }
            throw e;
        }
    }

    private static Mapped open(final Path path, final byte[] token, final boolean writable) {
        try (PosixFile file = PosixFile.open(path.toString(), writable ? OpenMode.READ_WRITE : OpenMode.READ)) {
            final SharedHeader header = SharedHeader.read(file, token);
            if (file.tryLock(false)) {
                throw new IllegalStateException("the owner of " + path + " has closed it or is dead: nobody holds its "
                    + "lock; ask for the address anew (SharedRegion.removeStale removes what a dead process left)");
            }
            return new Mapped(path, null, Mapping.of(file, 0, header.fileBytes(), writable), header);
        }
    }

    /** Finds the files that nobody owns any more, and removes them if told to. */
    static List<Path> stale(final Path directory, final boolean remove) {
        final List<Path> found = new ArrayList<>();
        try (DirectoryStream<Path> all = Files.newDirectoryStream(directory, "kvtier-*")) {
            for (final Path path : all) {
                if (NAME.matcher(path.getFileName().toString()).matches()
                    && Files.isRegularFile(path, LinkOption.NOFOLLOW_LINKS) && isStale(path, remove)) {
                    found.add(path);
                }
            }
        } catch (final DirectoryIteratorException e) {
            throw new UncheckedIOException("cannot list " + directory, e.getCause());
        } catch (final IOException e) {
            throw new UncheckedIOException("cannot list " + directory, e);
        }
        return found;
    }

    private static boolean isStale(final Path path, final boolean remove) {
        try (PosixFile file = PosixFile.open(path.toString(), OpenMode.READ)) {
            return file.tryLock(true) && (!remove || Files.deleteIfExists(path));
        } catch (final ErrnoException e) {
            if (REFUSED.contains(e.errno()) || e.errno() == Errno.ENOENT) {
                // Another user's, or removed meanwhile.
                return false;
            }
            throw e;
        } catch (final IOException e) {
            // Of another user whose files may be read: the folder's sticky bit forbids to remove it.
            return false;
        }
    }
}
