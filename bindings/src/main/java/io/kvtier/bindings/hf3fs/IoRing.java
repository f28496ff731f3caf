package io.kvtier.bindings.hf3fs;

import io.kvtier.bindings.NativeResources;
import io.kvtier.bindings.NativeTag;
import io.kvtier.bindings.posix.Errno;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Owner of a ring of USRBIO ({@code struct hf3fs_ior}): reads, or writes, that the client of 3FS carries out between
 * files and shared memory, several at once and in any order.
 *
 * <p>Entries are {@linkplain #prepare prepared}, {@linkplain #submit submitted} and {@linkplain #await reaped}. The
 * client may begin an entry as soon as it is prepared; to submit is a hint that it should look now. There is no
 * cancellation. An entry that was prepared counts until it is reaped, and holds its memory and its file until then. A
 * result is the client's: bytes, fewer than asked at the end of the file, or a negative error number.
 *
 * <p>Every entry is matched by a number that is never given again; a completion that matches none is counted and ends
 * nothing.
 *
 * <h2>What is refused</h2>
 *
 * <p>An entry outside its memory, across two blocks of it, of no bytes, of another mount or of memory or a file that is
 * closed; and a wait for more than can end, which would last for ever: more than is outstanding, or, in a ring
 * whose entries are begun in whole batches, entries of a batch that is not full.
 *
 * <h2>Closing</h2>
 *
 * <p>{@link #close()} waits for what is outstanding, until nothing was heard for {@link #CLOSE_SILENCE_MS}. What is
 * left then may still be carried out: the ring, and the memory and files of these entries, are leaked deliberately,
 * counted in {@link Usrbio#abandonedRings()} and by their tags, and close throws. Entries of a batch that is not full
 * are never begun, and not waited for.
 *
 * <p><b>Threading:</b> one thread at a time, which need not be the same; a second one is refused while the first is
 * inside. The library itself checks nothing of it. <b>Lifetime:</b> after close every method throws
 * {@link IllegalStateException}, but for a second close. <b>Blocking:</b> waiting does, and cannot be interrupted, so
 * it belongs on a platform thread; making and closing wait for the client. A wait that is running is prolonged when
 * somebody sets the machine's time of day back. <b>Allocation:</b> preparing, submitting and waiting allocate nothing
 * on the heap.
 */
public final class IoRing implements AutoCloseable {
    /** How long a close waits for something to end before it gives up. */
    public static final long CLOSE_SILENCE_MS = 10_000;

    /** One call of the library never waits longer, so that its clock, which can be set, decides little. */
    private static final long MAX_CALL_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    private final Usrbio usrbio;
    private final UsrbioFunctions functions;
    private final String mountPoint;
    private final IoRingOptions options;
    /** The file system of the client that carries entries out, to which a file is a number. */
    private final long device;
    private final long byteSize;
    /** The library's struct, one deadline, and room for the completions of all entries. */
    private final MemorySegment struct;
    private final MemorySegment deadline;
    private final MemorySegment completions;

    private final RingEntries entries;
    private final AtomicBoolean busy = new AtomicBoolean();
    private final long[] userData;
    private final long[] results;
    private long prepared;
    private long strays;
    private boolean closed;

    private IoRing(final Usrbio usrbio, final String mountPoint, final IoRingOptions options,
        final MemorySegment struct, final long byteSize, final long device) {
        this.usrbio = usrbio;
        this.functions = usrbio.functions();
        this.mountPoint = mountPoint;
        this.options = options;
        this.struct = struct;
        this.byteSize = byteSize;
        this.device = device;
        deadline = Arena.ofAuto().allocate(UsrbioLayout.TIMESPEC_BYTES, Long.BYTES);
        completions = Arena.ofAuto().allocate(UsrbioLayout.CQE_BYTES * options.entries(), Long.BYTES);
        entries = new RingEntries(options.entries());
        userData = new long[options.entries()];
        results = new long[options.entries()];
        NativeResources.created(NativeTag.USRBIO_RING, byteSize);
    }

    /**
     * Makes a ring.
     *
     * @param usrbio     the library.
     * @param mountPoint of the 3FS, as {@link Usrbio#mountPoint} gives it.
     * @param options    how.
     * @return the owner.
     * @throws UsrbioException when the mount point is none, or there is no memory for it.
     */
    public static IoRing create(final Usrbio usrbio, final String mountPoint, final IoRingOptions options) {
        Usrbio.checkMountPoint(mountPoint);
        final long device = IovLink.deviceOf(mountPoint);
        final UsrbioFunctions functions = usrbio.functions();
        final MemorySegment struct = Arena.ofAuto().allocate(UsrbioLayout.IOR_BYTES, Long.BYTES);
        final int result;
        try (Arena text = Arena.ofConfined()) {
            result = functions.iorCreate(struct, text.allocateFrom(mountPoint), options.entries(), options.read(),
                options.batch(), options.batchTimeoutMs(), options.numa(), options.flags());
        }
        if (result != 0) {
            IovLink.removeLeftover(mountPoint, struct, options);
            throw new UsrbioException("hf3fs_iorcreate4", Math.abs(result), mountPoint + ", " + options);
        }
        final int there = functions.ioEntries(struct);
        if (there < options.entries()) {
            functions.iorDestroy(struct);
            IovLink.removeLeftover(mountPoint, struct, options);
            throw new UsrbioException("hf3fs_iorcreate4", Errno.EINVAL, mountPoint + ", " + options + ", of which the"
                + " library made " + there + " entries");
        }
        return new IoRing(usrbio, mountPoint, options, struct, functions.iorSize(options.entries()), device);
    }

    /**
     * Prepares an entry, in the ring's direction.
     *
     * @param vector       shared memory of the same mount point; a write's bytes are there already and stay as they are
     *                     until it is reaped, a read's may change until then.
     * @param vectorOffset where in it, in bytes.
     * @param length       bytes, more than 0.
     * @param file         a registered file that was opened for the direction.
     * @param fileOffset   where in the file, in bytes.
     * @param data         handed back with the result.
     * @return false when the ring has no place for it now: reap first.
     * @throws UsrbioException EACCES when the file was not opened for the direction.
     */
    public boolean prepare(final IoVector vector, final long vectorOffset, final long length, final Hf3fsFile file,
        final long fileOffset, final long data) {
        return prepare(vector, vectorOffset, length, file, fileOffset, data, false);
    }

    /** For a caller who has a hold on the file, which may be closed. */
    boolean prepareHeld(final IoVector vector, final long vectorOffset, final long length, final Hf3fsFile file,
        final long fileOffset, final long data) {
        return prepare(vector, vectorOffset, length, file, fileOffset, data, true);
    }

    private boolean prepare(final IoVector vector, final long vectorOffset, final long length, final Hf3fsFile file,
        final long fileOffset, final long data, final boolean held) {
        enter();
        try {
            vector.check(vectorOffset, length);
            if (fileOffset < 0 || fileOffset > Long.MAX_VALUE - length) {
                throw new IllegalArgumentException("file offset " + fileOffset + ", length " + length + " of "
                    + file.path());
            }
            checkSameMount(vector, file);
            if (entries.isFull()) {
                return false;
            }
            final long number = entries.add(vector, file, data, held);
            int index = -Errno.EIO;
            try {
                index = functions.prepIo(struct, vector.struct(), options.read(),
                    vector.segment().address() + vectorOffset, file.descriptor(), fileOffset, length, number);
            } finally {
                if (index < 0) {
                    entries.end(number);
                }
            }
            // Though not all are outstanding: the client frees its places in the order in which it took them.
            if (index == -Errno.EAGAIN) {
                return false;
            }
            if (index < 0) {
                throw new UsrbioException("hf3fs_prep_io", -index, file.path() + ", offset " + fileOffset + ", length "
                    + length + (options.read() ? ", read" : ", write"));
            }
            prepared++;
            return true;
        } finally {
            busy.set(false);
        }
    }

    /** Tells the client that there is something to do. */
    public void submit() {
        enter();
        try {
            doSubmit();
        } finally {
            busy.set(false);
        }
    }

    /**
     * Waits for entries to end and reaps them; {@link #userData(int)} and {@link #result(int)} have them until the next
     * call.
     *
     * @param minimum      returns when so many have ended; 0 to reap what there is without waiting.
     * @param silenceNanos returns too when nothing has ended for so long, in nanoseconds.
     * @return how many have ended; fewer than the minimum, 0 included, when the time was over.
     * @throws IllegalArgumentException when more is waited for than can end.
     */
    public int await(final int minimum, final long silenceNanos) {
        enter();
        try {
            return doAwait(minimum, silenceNanos);
        } finally {
            busy.set(false);
        }
    }

    /**
     * Which entry has ended.
     *
     * @param i counted from 0, less than the last {@link #await} returned.
     * @return what it was prepared with.
     */
    public long userData(final int i) {
        return userData[i];
    }

    /**
     * How an entry has ended.
     *
     * @param i counted from 0, less than the last {@link #await} returned.
     * @return bytes, or a negative error number.
     */
    public long result(final int i) {
        return results[i];
    }

    /**
     * Entries that were prepared and not reaped.
     *
     * @return how many.
     */
    public int outstanding() {
        return entries.size();
    }

    /**
     * Completions that matched no entry, since the ring was made.
     *
     * @return how many; other than 0 the library, or somebody who writes to its memory, is not to be trusted.
     */
    public long strayCompletions() {
        return strays;
    }

    /**
     * Waits for what is outstanding and destroys the ring. A second call does nothing.
     *
     * @throws IllegalStateException when another thread is inside; or when something did not end, and the ring was
     *                               given up.
     */
    @Override
    public void close() {
        if (!busy.compareAndSet(false, true)) {
            throw new IllegalStateException("a ring of " + mountPoint + " is used by another thread; it closes it");
        }
        try {
            if (closed) {
                return;
            }
            closed = true;
            drain();
            if (entries.size() > unbegun()) {
                Usrbio.countAbandoned();
                throw new IllegalStateException("nothing was heard for " + CLOSE_SILENCE_MS + " ms of " + entries.size()
                    + " entries of a ring of " + mountPoint + ", which may still be carried out: the ring, its memory"
                    + " and its files are left as they are");
            }
            functions.iorDestroy(struct);
            NativeResources.released(NativeTag.USRBIO_RING, byteSize);
            if (options.flags() > 1) {
                IovLink.removeLeftover(mountPoint, struct, options);
            }
            entries.endAll();
        } finally {
            busy.set(false);
        }
    }

    /** The client is told a number of its own for the file: of another 3FS, it would be that of another file. */
    private void checkSameMount(final IoVector vector, final Hf3fsFile file) {
        if (!vector.mountPoint().equals(mountPoint)) {
            throw new IllegalArgumentException("shared memory of " + vector.mountPoint() + " in a ring of "
                + mountPoint);
        }
        if (file.device() != device) {
            throw new IllegalArgumentException(file.path() + " is on another file system than the ring's "
                + mountPoint);
        }
    }

    private void drain() {
        try {
            if (entries.size() > unbegun()) {
                doSubmit();
            }
            while (entries.size() > unbegun()
                && doAwait(1, TimeUnit.MILLISECONDS.toNanos(CLOSE_SILENCE_MS)) > 0) {
                // What has ended is not told: nobody asks any more.
                continue;
            }
        } catch (final UsrbioException e) {
            System.getLogger(IoRing.class.getName()).log(System.Logger.Level.WARNING,
                "a ring of " + mountPoint + " cannot be waited for", e);
        }
    }

    private void doSubmit() {
        final int result = functions.submitIos(struct);
        if (result < 0) {
            throw new UsrbioException("hf3fs_submit_ios", -result, mountPoint);
        }
    }

    /** Entries at the end that are no whole batch, and that the client does not begin. */
    private int unbegun() {
        final int whole = options.wholeBatch();
        return whole == 0 ? 0 : (int) (prepared % whole);
    }

    private int doAwait(final int minimum, final long silenceNanos) {
        final int able = entries.size() - unbegun();
        if (minimum < 0 || minimum > able) {
            throw new IllegalArgumentException("a wait for " + minimum + " entries of which " + able + " can end"
                + (unbegun() > 0 ? ": " + unbegun() + " are no whole batch of " + options.wholeBatch() : "")
                + "; it would never return");
        }
        int ended = 0;
        long heard = usrbio.clock().nanoTime();
        while (entries.size() > 0) {
            final long left = silenceNanos - (usrbio.clock().nanoTime() - heard);
            final int some = reap(ended, minimum - ended, left);
            ended += some;
            if (ended >= minimum) {
                return ended;
            }
            final long now = usrbio.clock().nanoTime();
            if (some > 0) {
                heard = now;
            } else if (now - heard >= silenceNanos) {
                return ended;
            }
        }
        return ended;
    }

    /** One call of the library; results go behind those that there are. */
    private int reap(final int ended, final int minimum, final long leftNanos) {
        final long waitMs = minimum <= 0 ? 0
            : TimeUnit.NANOSECONDS.toMillis(Math.clamp(leftNanos, 0, MAX_CALL_NANOS)) + 1;
        final long until = usrbio.clock().epochMillis() + waitMs;
        deadline.set(ValueLayout.JAVA_LONG, UsrbioLayout.TIMESPEC_SECONDS, until / TimeUnit.SECONDS.toMillis(1));
        deadline.set(ValueLayout.JAVA_LONG, UsrbioLayout.TIMESPEC_NANOS,
            TimeUnit.MILLISECONDS.toNanos(until % TimeUnit.SECONDS.toMillis(1)));
        final int filled = functions.waitForIos(struct, completions, results.length - ended, Math.max(0, minimum),
            deadline);
        if (filled < 0) {
            throw new UsrbioException("hf3fs_wait_for_ios", -filled, mountPoint);
        }
        int matched = 0;
        for (int i = 0; i < filled; i++) {
            final long at = i * UsrbioLayout.CQE_BYTES;
            final long number = completions.get(ValueLayout.JAVA_LONG, at + UsrbioLayout.CQE_USER_DATA);
            if (entries.has(number)) {
                userData[ended + matched] = entries.end(number);
                results[ended + matched] = completions.get(ValueLayout.JAVA_LONG, at + UsrbioLayout.CQE_RESULT);
                matched++;
            } else {
                strays++;
            }
        }
        return matched;
    }

    private void enter() {
        if (!busy.compareAndSet(false, true)) {
            throw new IllegalStateException("a ring of " + mountPoint + " is used by two threads at once");
        }
        if (closed) {
            busy.set(false);
            throw new IllegalStateException("a ring of " + mountPoint + " is closed");
        }
    }
}
