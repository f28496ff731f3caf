package io.kvtier.store.storage.shared;

import io.kvtier.alloc.HostRegion;
import io.kvtier.bindings.Availability;
import io.kvtier.bindings.NativeException;
import io.kvtier.bindings.NativeTag;
import io.kvtier.bindings.posix.BlockFile;
import io.kvtier.bindings.posix.BlockIo;
import io.kvtier.bindings.posix.Errno;
import io.kvtier.bindings.posix.ErrnoException;
import io.kvtier.bindings.posix.OpenMode;
import io.kvtier.bindings.posix.PosixFile;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreException;
import io.kvtier.transport.Segment;
import io.kvtier.transport.TransferEngine;
import io.kvtier.transport.TransferException;
import io.kvtier.transport.file.FileOpener;
import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * Any file system that is mounted: system calls and io_uring past the page cache, by a transfer engine of its own.
 *
 * <p><b>Threading:</b> thread-safe. <b>Lifetime:</b> owns the engine.
 */
public final class PosixFileSystem implements FileSystemAdapter {
    /** Its name in the configuration. */
    public static final String NAME = "posix";

    private static final String ELSEWHERE = "name a folder on a file system that all hosts mount";
    /** A path that leads to another file each time that it is looked at is given up. */
    private static final int MOST_OPENED = 8;
    private static final long LOCK_WAIT_NANOS = TimeUnit.SECONDS.toNanos(60);
    private static final long LOCK_STEP_NANOS = TimeUnit.MILLISECONDS.toNanos(5);
    /** Two transports, each with a descriptor past the page cache and one for the calls that make durable. */
    private static final int DESCRIPTORS = 4;

    private static final byte TRIAL = 0x5a;

    private final FileOpener opener;
    private final TransferEngine engine;

    /**
     * Over an engine.
     *
     * @param opener opens the files that are made, grown and tried.
     * @param engine with transports of files that go past the page cache; closed with this.
     */
    public PosixFileSystem(final FileOpener opener, final TransferEngine engine) {
        this.opener = opener;
        this.engine = engine;
    }

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public SharedFile open(final String path) {
        for (int i = 0; i < MOST_OPENED; i++) {
            final Status before = status(path);
            if (before == null) {
                throw new StoreException(ErrorCode.FILE_OPEN_FAIL, path + " is not there; is the file system mounted "
                    + "on this host, and at the same place as on the others?");
            }
            final Segment segment = segment(path);
            boolean same = false;
            try {
                final Status after = status(path);
                same = after != null && after.identity().equals(before.identity());
                if (same) {
                    return new PosixSharedFile(engine, segment, path, after.identity());
                }
            } finally {
                if (!same) {
                    segment.close();
                }
            }
        }
        throw new StoreException(ErrorCode.FILE_OPEN_FAIL, path + " was replaced " + MOST_OPENED
            + " times while it was opened; nobody but the clients of one cluster may use that folder");
    }

    private Segment segment(final String path) {
        try {
            // Anew: one that is opened after a failure must not get the descriptors that others still fail on.
            return engine.openSegmentAnew(Path.of(path).toUri().toString());
        } catch (final NativeException | TransferException e) {
            throw cannotOpen(path, e);
        }
    }

    private static StoreException cannotOpen(final String path, final RuntimeException e) {
        return new StoreException(ErrorCode.FILE_OPEN_FAIL, "cannot open " + path + ": " + e.getMessage()
            + "; this user must be able to read it, and to write it where this client is not to read only", e);
    }

    @Override
    public Status status(final String path) {
        try {
            final BasicFileAttributes found = Files.readAttributes(Path.of(path), BasicFileAttributes.class);
            return new Status(found.fileKey(), found.size());
        } catch (final NoSuchFileException e) {
            return null;
        } catch (final IOException e) {
            throw new StoreException(ErrorCode.FILE_OPEN_FAIL, "the system does not tell what " + path + " is (" + e
                + "); look at the mount on this host", e);
        }
    }

    @Override
    public Growth grow(final String path, final long bytes) {
        try (BlockFile file = opener.open(path, OpenMode.CREATE)) {
            final long before = file.size();
            if (before < bytes) {
                growLocked(file, bytes);
                // Where a size is not seen before that, it is the size that the others look for.
                file.sync();
                syncFolder(path);
            }
            final long now = file.size();
            if (now < bytes) {
                throw new StoreException(ErrorCode.FILE_WRITE_FAIL, path + " has " + now + " bytes after it was grown "
                    + "to " + bytes + "; somebody cuts it: nobody but the clients of one cluster may use that folder");
            }
            return new Growth(before, now, isReserved(file, bytes));
        } catch (final NativeException e) {
            throw new StoreException(ErrorCode.FILE_OPEN_FAIL, "cannot make " + path + " with " + bytes + " bytes: "
                + e.getMessage() + "; where the file system is full, make room or configure fewer or smaller files",
                e);
        }
    }

    /**
     * One host at a time, where the file system has locks: one that reserves nothing is grown by setting the size, and
     * the size of a host that is configured with less would cut what one with more has just made.
     */
    private void growLocked(final BlockFile file, final long bytes) {
        final PosixFile descriptor = opener.descriptor(file);
        final long begun = System.nanoTime();
        while (file.size() < bytes) {
            if (descriptor == null || tryLock(descriptor)) {
                // Looked at again under the lock, by the call itself.
                if (file.size() < bytes) {
                    file.preallocate(0, bytes);
                }
                return;
            }
            if (System.nanoTime() - begun > LOCK_WAIT_NANOS) {
                throw new StoreException(ErrorCode.FILE_LOCK_FAIL, file.path() + " is being made by another host for "
                    + TimeUnit.NANOSECONDS.toSeconds(LOCK_WAIT_NANOS) + " s; look whether that one still runs");
            }
            LockSupport.parkNanos(LOCK_STEP_NANOS);
        }
    }

    /** True as well where there are no locks: then it has to do that the master takes clients of one layout only. */
    private static boolean tryLock(final PosixFile file) {
        try {
            return file.tryLock(true);
        } catch (final ErrnoException e) {
            return true;
        }
    }

    /** A new name is in its folder. Not every file system of several hosts syncs folders, or has to. */
    private void syncFolder(final String path) {
        try {
            opener.entries().sync(Path.of(path).getParent());
        } catch (final ErrnoException e) {
            if (e.errno() != Errno.EINVAL && e.errno() != Errno.ENOSYS && e.errno() != Errno.EOPNOTSUPP) {
                throw e;
            }
        }
    }

    private boolean isReserved(final BlockFile file, final long bytes) {
        final PosixFile descriptor = opener.descriptor(file);
        return descriptor != null && descriptor.status().allocatedBytes() >= bytes;
    }

    @Override
    public long freeBytes(final String folder) {
        try {
            return Files.getFileStore(Path.of(folder)).getUsableSpace();
        } catch (final IOException e) {
            throw new StoreException(ErrorCode.FILE_OPEN_FAIL, "the system does not tell how much room is left in "
                + folder + " (" + e + "); look at the mount on this host", e);
        }
    }

    @Override
    public Availability pastTheCache(final String folder) {
        Path file = null;
        try {
            file = Files.createTempFile(Path.of(folder), ".kvtier-direct-", "");
            return direct(file);
        } catch (final ErrnoException e) {
            if (e.isOutOfSpace()) {
                throw new StoreException(ErrorCode.FILE_WRITE_FAIL, "the file system of " + folder + " is full: "
                    + e.getMessage(), e);
            }
            return notDirect(e);
        } catch (final IOException | RuntimeException e) {
            return Availability.no("O_DIRECT could not be tried: " + e, "allow this user to write in " + folder
                + ", or " + ELSEWHERE);
        } finally {
            delete(file);
        }
    }

    private static Availability notDirect(final ErrnoException e) {
        return Availability.no(e.errno() == Errno.EINVAL || e.errno() == Errno.EOPNOTSUPP
            ? "the file system takes no O_DIRECT: what another host overwrites may be read as it was before ("
            + e.getMessage() + ')' : e.getMessage(), "mount it so that it does, or " + ELSEWHERE);
    }

    @Override
    public Availability readsPastTheCache(final String path) {
        try (BlockFile file = opener.open(path, OpenMode.READ_DIRECT);
            HostRegion memory = HostRegion.allocate(NativeTag.BOUNCE, BLOCK_BYTES)) {
            final long read = BlockIo.readFully(file, memory.segment(), 0);
            return read == BLOCK_BYTES ? Availability.yes("O_DIRECT for reading, blocks of " + file.alignment()
                + " bytes") : Availability.no("the first block of " + path + " was read as " + read + " bytes",
                ELSEWHERE);
        } catch (final ErrnoException e) {
            return notDirect(e);
        }
    }

    private Availability direct(final Path path) {
        try (BlockFile file = opener.open(path.toString(), OpenMode.READ_WRITE_DIRECT);
            HostRegion memory = HostRegion.allocate(NativeTag.BOUNCE, BLOCK_BYTES)) {
            memory.segment().fill(TRIAL);
            BlockIo.writeFully(file, memory.segment(), 0);
            file.sync();
            memory.segment().fill((byte) 0);
            final long read = BlockIo.readFully(file, memory.segment(), 0);
            if (read != BLOCK_BYTES || memory.segment().elements(ValueLayout.JAVA_BYTE)
                .anyMatch(one -> one.get(ValueLayout.JAVA_BYTE, 0) != TRIAL)) {
                return Availability.no("a block that was written past the page cache was read as " + read
                    + " bytes, or others", ELSEWHERE);
            }
            return Availability.yes("O_DIRECT, blocks of " + file.alignment() + " bytes");
        }
    }

    private static void delete(final Path file) {
        if (file != null) {
            try {
                Files.deleteIfExists(file);
            } catch (final IOException e) {
                System.getLogger(PosixFileSystem.class.getName()).log(System.Logger.Level.DEBUG,
                    "a file of a trial could not be removed", e);
            }
        }
    }

    @Override
    public int descriptorsPerFile() {
        return DESCRIPTORS;
    }

    @Override
    public boolean isAbandoned() {
        return engine.abandoned();
    }

    @Override
    public void close() {
        engine.close();
    }
}
