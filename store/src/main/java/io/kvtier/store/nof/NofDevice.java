package io.kvtier.store.nof;

import io.kvtier.alloc.Units;
import io.kvtier.bindings.NativeException;
import io.kvtier.bindings.posix.BlockFile;
import io.kvtier.bindings.posix.BlockIo;
import io.kvtier.bindings.posix.Errno;
import io.kvtier.bindings.posix.ErrnoException;
import io.kvtier.bindings.posix.OpenMode;
import io.kvtier.bindings.posix.PosixFile;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreException;
import io.kvtier.transport.file.FileOpener;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.UUID;

/**
 * A block device, or a file in place of one, that this process lends to the store.
 *
 * <p>One that has no label is given one only when its first MiB is all zeros, or when it is a file that is made now:
 * what holds a file system, a partition table or anybody's data is refused and stays as it is. While it is open it is
 * marked as used: a block device is opened exclusively, so that it can be neither mounted nor lent a second time on
 * this host; a file is locked. Others read and write it beside that.
 *
 * <p><b>Threading:</b> immutable but for {@link #close()}. <b>Lifetime:</b> until closed. <b>Blocking:</b> opening, on
 * the device.
 */
public final class NofDevice implements AutoCloseable {
    private static final long LOOKED_AT_BYTES = 1 << 20;
    private static final Path DEVICES = Path.of("/dev");
    /** The one folder there that is for files. */
    private static final Path SHARED_MEMORY = Path.of("/dev/shm");

    private final Path path;
    private final UUID id;
    private final long capacity;
    private final boolean fresh;
    private final BlockFile hold;

    private NofDevice(final Path path, final UUID id, final long capacity, final boolean fresh,
        final BlockFile hold) {
        this.path = path;
        this.id = id;
        this.capacity = capacity;
        this.fresh = fresh;
        this.hold = hold;
    }

    /**
     * Opens a device that is to be lent, and gives it a label where it has none.
     *
     * @param given where it is.
     * @param bytes how much of it is used, the label included; 0 for all of it. A file that is absent is made, and one
     *              that is smaller grows.
     * @param files opens it.
     * @return the device.
     * @throws StoreException FILE_OPEN_FAIL, saying what is wrong with it and what to do; FILE_LOCK_FAIL when it is in
     *                        use.
     */
    public static NofDevice open(final Path given, final long bytes, final FileOpener files) {
        final Path path = given.toAbsolutePath();
        if (bytes != 0) {
            checkEnough(path, bytes);
        }
        try {
            final Hold hold = hold(path, bytes, files);
            try {
                return label(path, bytes, hold.file(), files);
            } catch (final RuntimeException | Error e) {
                giveUp(path, hold, e);
                throw e;
            }
        } catch (final NativeException e) {
            throw new StoreException(ErrorCode.FILE_OPEN_FAIL, "block device " + path + " cannot be lent"
                + (bytes == 0 ? "" : " with " + bytes + " bytes"), e);
        }
    }

    /** What keeps others off a device; a file may have been made for it. */
    private record Hold(BlockFile file, boolean made) {
    }

    /** A file that was made goes again: it may have all that was left of the disk. */
    private static void giveUp(final Path path, final Hold hold, final Throwable why) {
        try {
            // While it is held: nobody else can have begun to use it.
            if (hold.made()) {
                Files.deleteIfExists(path);
            }
        } catch (final IOException e) {
            why.addSuppressed(e);
        } finally {
            hold.file().close();
        }
    }

    private static Hold hold(final Path path, final long bytes, final FileOpener files) {
        final boolean absent = Files.notExists(path, LinkOption.NOFOLLOW_LINKS);
        if (absent && bytes > 0 && (!path.startsWith(DEVICES) || path.startsWith(SHARED_MEMORY))) {
            final BlockFile made = files.open(path.toString(), OpenMode.CREATE_NEW);
            return new Hold(locked(path, made, files), true);
        }
        if (absent && !path.startsWith(DEVICES)) {
            throw DeviceLabel.refused(path, "does not exist; give a size to have a file made there (PATH:SIZE)");
        }
        if (!DeviceLabel.isBlockDevice(path)) {
            return new Hold(locked(path, files.open(path.toString(), OpenMode.READ_WRITE), files), false);
        }
        try {
            return new Hold(files.open(path.toString(), OpenMode.READ_WRITE_EXCLUSIVE), false);
        } catch (final ErrnoException e) {
            if (e.errno() != Errno.EBUSY) {
                throw e;
            }
            throw new StoreException(ErrorCode.FILE_LOCK_FAIL, "block device " + path + " is in use on this host: it "
                + "is mounted, a part of another volume, or another process lends it; see 'lsblk " + path + "'", e);
        }
    }

    private static BlockFile locked(final Path path, final BlockFile file, final FileOpener files) {
        boolean done = false;
        try {
            final PosixFile lockable = files.descriptor(file);
            if (lockable != null && !lockable.tryLock(true)) {
                throw new StoreException(ErrorCode.FILE_LOCK_FAIL, "file " + path
                    + " is lent as a block device by another process, or twice by this one");
            }
            done = true;
            return file;
        } finally {
            if (!done) {
                file.close();
            }
        }
    }

    private static NofDevice label(final Path path, final long bytes, final BlockFile hold, final FileOpener files) {
        final long size = hold.size();
        final boolean block = DeviceLabel.isBlockDevice(path);
        if (block && bytes > size) {
            throw DeviceLabel.refused(path, "has " + size + " bytes, fewer than the " + bytes + " that are to be used; "
                + "give a smaller size, or none for all of it");
        }
        final long usable = bytes == 0 ? size : bytes;
        checkEnough(path, usable);
        UUID id = labelled(path, size, hold, files);
        final boolean fresh = id == null;
        if (usable > size) {
            hold.preallocate(0, usable);
        }
        if (fresh) {
            id = UUID.randomUUID();
            try (BlockFile file = DeviceLabel.openDirect(files, path, OpenMode.READ_WRITE_DIRECT,
                OpenMode.READ_WRITE)) {
                DeviceLabel.write(file, id);
            }
        }
        return new NofDevice(path, id, Units.down(usable - DeviceLabel.BYTES, DeviceLabel.BYTES), fresh, hold);
    }

    private static void checkEnough(final Path path, final long usable) {
        if (usable < 2 * DeviceLabel.BYTES) {
            throw DeviceLabel.refused(path, "would be used with " + usable + " bytes; it takes " + DeviceLabel.BYTES
                + " for its label and at least as many for values");
        }
    }

    /** The id of a device that has a label, null of a blank one; anything else is refused. */
    private static UUID labelled(final Path path, final long size, final BlockFile hold, final FileOpener files) {
        if (size < DeviceLabel.BYTES) {
            return shortFile(path, size, hold);
        }
        try (BlockFile file = DeviceLabel.openDirect(files, path, OpenMode.READ_DIRECT, OpenMode.READ);
             Arena arena = Arena.ofConfined()) {
            final MemorySegment front = arena.allocate(
                Units.down(Math.min(size, LOOKED_AT_BYTES), DeviceLabel.BYTES), DeviceLabel.BYTES);
            BlockIo.readFully(file, front, 0);
            if (DeviceLabel.isBlank(front)) {
                return null;
            }
            if (!DeviceLabel.hasMagic(front)) {
                throw foreign(path);
            }
            return DeviceLabel.idIn(front, path);
        }
    }

    /** A file that is made now, or that is not as large as a label. */
    private static UUID shortFile(final Path path, final long size, final BlockFile hold) {
        try (Arena arena = Arena.ofConfined()) {
            final MemorySegment all = arena.allocate(Math.max(1, size));
            BlockIo.readFully(hold, all.asSlice(0, size), 0);
            if (!DeviceLabel.isBlank(all)) {
                throw foreign(path);
            }
            return null;
        }
    }

    private static StoreException foreign(final Path path) {
        return DeviceLabel.refused(path, "holds something that is not of this store: its first MiB has neither a label "
            + "nor only zeros; where nothing on it is wanted, clear that ('blkdiscard -z " + path
            + "', or 'dd if=/dev/zero of=" + path + " bs=1M count=1 conv=notrunc')");
    }

    /**
     * Where it is on this host.
     *
     * @return an absolute path.
     */
    public Path path() {
        return path;
    }

    /**
     * What its label says.
     *
     * @return the id.
     */
    public UUID id() {
        return id;
    }

    /**
     * The name by which clients speak of it to the master and to each other.
     *
     * @return the text of its id.
     */
    public String namespace() {
        return id.toString();
    }

    /**
     * Where others look for it.
     *
     * @return an address of the transfer engine.
     */
    public String endpoint() {
        return path.toUri().toString();
    }

    /**
     * Room for values.
     *
     * @return bytes behind the label, whole units.
     */
    public long capacity() {
        return capacity;
    }

    /**
     * Whether it got its label just now, so that nobody can have known it before.
     *
     * @return false for one that was lent at some time.
     */
    public boolean fresh() {
        return fresh;
    }

    /** Lets go of it. A second call does nothing. */
    @Override
    public void close() {
        hold.close();
    }
}
