package io.kvtier.store.storage;

import io.kvtier.bindings.NativeException;
import io.kvtier.bindings.posix.BlockFile;
import io.kvtier.bindings.posix.BlockIo;
import io.kvtier.bindings.posix.Errno;
import io.kvtier.bindings.posix.ErrnoException;
import io.kvtier.bindings.posix.OpenMode;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreException;
import io.kvtier.transport.RareLog;
import io.kvtier.transport.Uninterrupted;
import io.kvtier.transport.file.FileOpener;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Keeps a host's folder on a shared file system for one opener, where a lock may be one of its own host only (NFS with
 * {@code nolock}, some FUSE file systems): a file in the folder, {@link #FILE_NAME}, says who has it open. An
 * {@link FolderMarker incarnation} is made up by each opener.
 *
 * <p>Nobody has it: the marker is made by O_EXCL, which one can do, and removed at the end. Somebody has it: he writes
 * it anew, in place, at least every {@link #RENEW_NANOS}, and reads before that whether it is still his; for
 * {@link #LIMIT_NANOS} from the beginning of such a look he may write to the folder, and no longer. One that stays as
 * it is for {@link #WATCH_NANOS} is of an opener that is dead or cannot write: another is renamed over it. Two may do
 * that; the later one counts, and each waits {@link #LIMIT_NANOS} and reads it again before it goes on (Fischer's
 * mutual exclusion, in Lamport, A Fast Mutual Exclusion Algorithm, 1987). By then all that had it before have looked,
 * found another's and stopped for good, or may not write any more for not having looked.
 *
 * <p>Not waited for: one that this kernel made through this mount, by an opener that is dead, as the directory lock,
 * which is held here, says. From reading that to the rename goes less than half of the wait, or the wait is made; so
 * somebody of another host who takes the same one over finds this one when he reads it again.
 *
 * <p>Renewing cannot do away with another's marker: it goes to the file that was opened and read, which has no name any
 * more when another was renamed over it.
 *
 * <p>It is read past the page cache. Where a mount cannot do that and keeps what it has read, one that lives is taken
 * for dead: it stops, as the name leads to another file, and the folder changes hands. Never do both write.
 *
 * <p>It does not protect against: a call that began in time and reaches the file system more than
 * {@link #WATCH_NANOS} later, as of a process that was stopped just there; clocks that do not run alike; a file system
 * that shows to one host more than {@link #LIMIT_NANOS} late what another has synced and closed, or whose O_EXCL or
 * rename is not one of all hosts (NFS with {@code nocto}); somebody who removes the marker while the folder is in use;
 * machines that go on from one image of a running one, and so have one kernel's identity: of those the first
 * one stops at its next look, {@link #RENEW_NANOS} later.
 *
 * <p><b>Threading:</b> thread-safe. <b>Lifetime:</b> within that of the directory lock; has a thread,
 * {@code kvtier-folder-owner}. <b>Blocking:</b> {@link #take} on the file system and for up to {@link #WATCH_NANOS} and
 * {@link #LIMIT_NANOS}; {@link #check} when it is time to look.
 */
final class FolderOwner implements AutoCloseable {
    static final String FILE_NAME = "kvtier.owner";
    static final long RENEW_NANOS = TimeUnit.SECONDS.toNanos(3);
    static final long LIMIT_NANOS = TimeUnit.SECONDS.toNanos(10);
    static final long WATCH_NANOS = TimeUnit.SECONDS.toNanos(20);

    private static final System.Logger LOG = System.getLogger(FolderOwner.class.getName());
    private static final String REMEDY =
        "; stop that one, or tell the two apart by --host-id or ConnectConfig's hostId";
    /** Those who find it gone or made by another in between begin anew. */
    private static final int MOST_TRIES = 8;

    private final Path marker;
    private final FileOpener opener;
    private final DurableNames names;
    private final Pace pace;
    private final RareLog complaints = new RareLog(LOG);
    private final ReentrantLock looking = new ReentrantLock();
    private FolderMarker mine;
    private Thread thread;
    private boolean closed;
    /** When the last look that found this one's began. */
    private volatile long lookedNanos;
    private volatile StoreException lost;

    /** Time, and waiting for it; a test has its own. */
    interface Pace {
        /** That of the system. */
        Pace SYSTEM = new Pace() {
            @Override
            public long nanoTime() {
                return System.nanoTime();
            }

            @Override
            public void pause(final long nanos) {
                LockSupport.parkNanos(nanos);
            }
        };

        long nanoTime();

        /** Waits about so long, maybe less. */
        void pause(long nanos);
    }

    private FolderOwner(final Path folder, final FolderMarker mine, final FileOpener opener, final Pace pace) {
        this.marker = folder.resolve(FILE_NAME);
        this.mine = mine;
        this.opener = opener;
        this.names = DurableNames.of(opener);
        this.pace = pace;
    }

    /**
     * Takes a folder, whose lock is held. It has to be renewed then: {@link #keep}.
     *
     * @throws StoreException FILE_LOCK_FAIL, when another has it, naming both; FILE_OPEN_FAIL, when the marker cannot
     *                        be made or is none.
     */
    static FolderOwner take(final Path folder, final FolderMarker.Self self, final FileOpener opener, final Pace pace) {
        final FolderMarker mine = new FolderMarker(self, UUID.randomUUID(),
            Instant.now().truncatedTo(ChronoUnit.SECONDS).toString(), 0);
        final FolderOwner owner = new FolderOwner(folder, mine, opener, pace);
        try {
            owner.take();
            owner.removeLeftOver(folder);
            return owner;
        } catch (final NativeException | UncheckedIOException e) {
            owner.giveUp();
            throw new StoreException(ErrorCode.FILE_OPEN_FAIL, "cannot make or read " + owner.marker + ", which says "
                + "who has the folder (" + e.getMessage() + "); allow this user to write there, and make room where "
                + "the disk is full", e);
        } catch (final RuntimeException e) {
            owner.giveUp();
            throw e;
        }
    }

    /** Reads the marker of a folder; null when there is none, or none that was written to the end. */
    static FolderMarker read(final Path folder, final FileOpener opener) {
        final Path path = folder.resolve(FILE_NAME);
        final String text = text(path, opener);
        return text == null ? null : FolderMarker.parse(path, text);
    }

    private void take() {
        for (int i = 0; i < MOST_TRIES; i++) {
            final long begun = pace.nanoTime();
            final String text = text(marker, opener);
            if (text == null ? make(begun) : takeOver(text, begun)) {
                return;
            }
        }
        throw new StoreException(ErrorCode.FILE_LOCK_FAIL, "folder " + marker.getParent() + " is being opened and "
            + "closed by others (" + FILE_NAME + ')' + REMEDY);
    }

    /** False when another was first. */
    private boolean make(final long begun) {
        try (BlockFile file = opener.open(marker.toString(), OpenMode.CREATE_NEW)) {
            write(file, mine);
        } catch (final ErrnoException e) {
            if (e.errno() == Errno.EEXIST) {
                return false;
            }
            throw e;
        }
        names.sync(marker.getParent());
        return isMine(begun);
    }

    private boolean takeOver(final String text, final long begun) {
        final FolderMarker there = FolderMarker.parse(marker, text);
        if (there != null && !there.self().host().equals(mine.self().host())) {
            throw new StoreException(ErrorCode.FILE_LOCK_FAIL, "folder " + marker.getParent() + " is of host "
                + there.inWords() + ", and this one is " + mine.inWords() + "; call one of the two otherwise (--host-"
                + "id or ConnectConfig's hostId), or, when that one has gone for good, remove " + marker);
        }
        final boolean dead = there != null && there.self().isOfOneLock(mine.self());
        long since = begun;
        if (!dead) {
            LOG.log(System.Logger.Level.INFO, "{0} is of {1}, which has not given it back; it is watched for {2} s",
                marker, there == null ? "nobody yet" : there.inWords(), TimeUnit.NANOSECONDS.toSeconds(WATCH_NANOS));
            since = watch(text);
        }
        if (since < 0) {
            return false;
        }
        replace();
        final long renamed = pace.nanoTime();
        if (!dead || renamed - since > LIMIT_NANOS / 2) {
            pauseUntil(renamed, LIMIT_NANOS);
        }
        if (!isMine(pace.nanoTime())) {
            throw inUse();
        }
        return true;
    }

    /** How long ago it was still the same, as the time of the last look; negative when it is gone. */
    private long watch(final String text) {
        final long begun = pace.nanoTime();
        while (true) {
            pace.pause(RENEW_NANOS / 2);
            final long look = pace.nanoTime();
            final String now = text(marker, opener);
            if (now == null) {
                return -1;
            }
            if (!now.equals(text)) {
                throw inUse();
            }
            if (look - begun >= WATCH_NANOS) {
                return look;
            }
        }
    }

    private void pauseUntil(final long since, final long nanos) {
        while (pace.nanoTime() - since <= nanos) {
            pace.pause(nanos / 4);
        }
    }

    private StoreException inUse() {
        final FolderMarker there = read(marker.getParent(), opener);
        return new StoreException(ErrorCode.FILE_LOCK_FAIL, "folder " + marker.getParent() + " is in use by another "
            + "store, of host " + (there == null ? "unknown" : there.inWords()) + ", and this one is "
            + mine.inWords() + " (" + FILE_NAME + ')' + REMEDY);
    }

    private void replace() {
        final Path temporary = temporary();
        try (BlockFile file = opener.open(temporary.toString(), OpenMode.CREATE_NEW)) {
            write(file, mine);
        }
        names.rename(temporary, marker);
    }

    private Path temporary() {
        return DurableNames.temporary(Path.of(marker.toString() + '-' + mine.incarnation()));
    }

    private boolean isMine(final long begun) {
        final FolderMarker there = read(marker.getParent(), opener);
        lookedNanos = begun;
        return there != null && there.incarnation().equals(mine.incarnation());
    }

    /** Renews it from now on, by a thread of its own. */
    FolderOwner keep() {
        thread = Thread.ofPlatform().daemon().name("kvtier-folder-owner").start(() -> {
            while (!Thread.currentThread().isInterrupted() && lost == null) {
                pace.pause(RENEW_NANOS);
                renew();
            }
        });
        return this;
    }

    /** Looks whether it is still this one's, and says so to those who watch it. */
    void renew() {
        looking.lock();
        try {
            if (closed || lost != null) {
                return;
            }
            final long begun = pace.nanoTime();
            final FolderMarker next = mine.renewed();
            final String stranger = renewed(next);
            if (stranger != null) {
                lost = new StoreException(ErrorCode.FILE_LOCK_FAIL, "folder " + marker.getParent() + " of host "
                    + mine.inWords() + " was taken by " + stranger + " (" + FILE_NAME + "); nothing is read or written "
                    + "there any more until this store is opened anew" + REMEDY);
                LOG.log(System.Logger.Level.ERROR, lost.getMessage());
                return;
            }
            mine = next;
            lookedNanos = begun;
        } catch (final RuntimeException e) {
            complaints.warn("the owner's file of a shared folder could not be renewed; without that nothing is "
                + "written there", e::getMessage);
        } finally {
            looking.unlock();
        }
    }

    /** Null when it was this one's; else whose it is, in words. */
    private String renewed(final FolderMarker next) {
        try (BlockFile file = opener.open(marker.toString(), OpenMode.READ_WRITE)) {
            final FolderMarker there = FolderMarker.parse(marker, text(file));
            if (there == null || !there.incarnation().equals(mine.incarnation())) {
                return there == null ? "somebody who has not signed it" : "host " + there.inWords();
            }
            write(file, next);
            return null;
        } catch (final ErrnoException e) {
            if (e.errno() == Errno.ENOENT) {
                return "somebody who removed it";
            }
            throw e;
        }
    }

    /**
     * Goes on when the folder may be written to now.
     *
     * @throws StoreException FILE_LOCK_FAIL when it is another's, or that could not be found out for too long.
     */
    void check() {
        if (lost == null && pace.nanoTime() - lookedNanos > LIMIT_NANOS) {
            renew();
        }
        checkOwned();
        if (pace.nanoTime() - lookedNanos > LIMIT_NANOS) {
            throw new StoreException(ErrorCode.FILE_LOCK_FAIL, "nothing is written to " + marker.getParent()
                + ", since for " + TimeUnit.NANOSECONDS.toSeconds(LIMIT_NANOS) + " s it could not be found out whether "
                + "another host has it (" + FILE_NAME + "); look at the mount on this host");
        }
    }

    /**
     * Goes on unless it is known to be another's.
     *
     * @throws StoreException FILE_LOCK_FAIL.
     */
    void checkOwned() {
        if (lost != null) {
            throw new StoreException(lost.code(), lost.getMessage(), lost);
        }
    }

    /** Gives the folder back; where that fails, the next one has to watch, or holds the lock. */
    @Override
    public void close() {
        if (thread != null) {
            thread.interrupt();
            Uninterrupted.await(thread::join);
        }
        renew();
        looking.lock();
        try {
            if (!closed && lost == null && pace.nanoTime() - lookedNanos <= LIMIT_NANOS / 2) {
                names.deleteIfExists(marker);
            }
        } catch (final RuntimeException e) {
            LOG.log(System.Logger.Level.WARNING, "{0} could not be removed, so who opens the folder elsewhere waits: "
                + "{1}", marker, e.getMessage());
        } finally {
            closed = true;
            looking.unlock();
        }
    }

    /** After an error: one that nobody else has is removed. */
    private void giveUp() {
        try {
            names.deleteIfExists(temporary());
            final String text = text(marker, opener);
            final FolderMarker there = text == null ? null : FolderMarker.parse(marker, text);
            if (there != null && there.incarnation().equals(mine.incarnation())) {
                names.deleteIfExists(marker);
            }
        } catch (final RuntimeException e) {
            LOG.log(System.Logger.Level.DEBUG, "a file of an opening that failed could not be removed", e);
        }
    }

    /** Of openers that died. One that is about to rename it gets an error, and would have found another's. */
    private void removeLeftOver(final Path folder) {
        try (DirectoryStream<Path> all = Files.newDirectoryStream(folder, FILE_NAME + "-*.tmp")) {
            all.forEach(names::deleteIfExists);
        } catch (final IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static void write(final BlockFile file, final FolderMarker what) {
        try (Arena arena = Arena.ofConfined()) {
            final byte[] bytes = what.text().getBytes(StandardCharsets.UTF_8);
            final MemorySegment memory = arena.allocate(bytes.length);
            memory.copyFrom(MemorySegment.ofArray(bytes));
            BlockIo.writeFully(file, memory, 0);
            // Not every file system shows to others what was not synced.
            file.sync();
        }
    }

    /** Null when there is no such file. */
    private static String text(final Path path, final FileOpener opener) {
        try (BlockFile file = fresh(path, opener)) {
            return text(file);
        } catch (final ErrnoException e) {
            if (e.errno() == Errno.ENOENT) {
                return null;
            }
            throw e;
        }
    }

    /** Past the page cache where that can be: what a mount has read once it may go on to show. */
    private static BlockFile fresh(final Path path, final FileOpener opener) {
        try {
            return opener.open(path.toString(), OpenMode.READ_DIRECT);
        } catch (final ErrnoException e) {
            if (e.errno() != Errno.EINVAL) {
                throw e;
            }
            return opener.open(path.toString(), OpenMode.READ);
        }
    }

    private static String text(final BlockFile file) {
        try (Arena arena = Arena.ofConfined()) {
            final MemorySegment memory = arena.allocate(FolderMarker.MOST_BYTES, FolderMarker.MOST_BYTES);
            final int bytes = (int) BlockIo.readFully(file, memory, 0);
            final byte[] read = memory.asSlice(0, bytes).toArray(ValueLayout.JAVA_BYTE);
            return new String(read, StandardCharsets.UTF_8);
        }
    }
}
