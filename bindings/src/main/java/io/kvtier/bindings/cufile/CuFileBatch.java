package io.kvtier.bindings.cufile;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.kvtier.bindings.NativeResources;
import io.kvtier.bindings.NativeTag;
import io.kvtier.bindings.cuda.CudaAddress;
import io.kvtier.bindings.cuda.DeviceMemory;
import io.kvtier.bindings.cuda.DevicePointer;
import io.kvtier.bindings.cufile.gen.CUfileIOEvents;
import io.kvtier.bindings.cufile.gen.CuFileTypes;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Objects;
import java.util.concurrent.locks.LockSupport;

/**
 * Owner of a batch: many transfers handed over with one call.
 *
 * <pre>{@code
 *            add            submit                 last event
 *   FREE ─────────> FILLING ───────> IN_FLIGHT(n) ───────────> DRAINED ──recycle──> FREE
 *    ^                 │                  │ cancel                │
 *    └─────recycle─────┘                  v                       │ close (from every state)
 *                                     CANCELLING ── bounded wait ─┴────────────> DESTROYED
 * }</pre>
 *
 * <p>The driver reads the entries and writes the events while a batch is in flight, so both arrays lie in an arena of
 * the batch's own, which is closed after the batch has been destroyed and not before. Files and memory of an entry are
 * held until the entry has ended. How many are outstanding is counted here: the driver reports each entry once, in any
 * order, and after a cancellation perhaps never.
 *
 * <p>When one entry fails, events were seen to be lost, of the others or of itself. So memory that no owner of this
 * library holds is asked about before it is taken ({@link CudaAddress}), and a batch of which nothing is heard any more
 * is given up: the poll that finds it so cancels and destroys it. That is 5 s after a failure, 30 s otherwise.
 *
 * <p><b>When the batch is gone and entries were not heard of</b> they may still be moving: a cancellation is best
 * effort, and nothing is said of a batch that is destroyed in flight. In compatibility mode they are not. There threads
 * of the library move the bytes, in this process, and it waits for them: of 32 writes of 16 MiB that were cancelled and
 * destroyed, or just destroyed, all bytes were in the file when {@code cuFileBatchIODestroy} came back, which took as
 * long as writing them; of 32 reads nothing was in the memory, and nothing came in the two seconds after (NATIVE.md).
 * So these are CANCELED. Where something direct is possible (nvidia-fs, PCI P2PDMA) a device moves the bytes, which
 * nobody here has seen: the entries are {@link CuFileOutcome#LOST}, and what they hold is never let go of, the arrays
 * and the driver included.
 *
 * <p><b>Threading:</b> belongs to the thread that made it, which must have a CUDA context current; others are refused.
 * Make it a thread of its own: a submission can block in the library. <b>Lifetime:</b> {@link #close()} cancels what is
 * in flight and waits for a bounded time. <b>Blocking:</b> {@link #submit()} and {@link #cancel} on the device,
 * {@link #poll} for as long as it is told. The calls between making and closing allocate nothing on the Java heap.
 */
public final class CuFileBatch implements AutoCloseable {
    /** What {@link #add} gives when the batch, or the driver's buffers, have no room for the entry now. */
    public static final int NO_ROOM = -1;

    private static final System.Logger LOG = System.getLogger(CuFileBatch.class.getName());
    private static final long CLOSE_WAIT_NS = 1_000_000_000L;
    private static final long POLL_STEP_NS = 50_000_000L;
    /** Wait before a cancellation is asked for again that was refused for a passing reason. */
    private static final long CANCEL_RETRY_NS = 1_000_000L;
    private static final long NS_PER_S = 1_000_000_000L;
    /** How long nothing is heard, after an entry has failed, before the others are given up: many times a transfer. */
    private static final long SILENCE_NS = 5 * NS_PER_S;
    /** The same without a failure: it may only be slow, but no transfer takes this long without another's ending. */
    private static final int QUIET_FACTOR = 6;
    /** Consecutive passing failures of a status query before one is thrown, and of a cancellation. */
    private static final int MAX_PASSING_FAILURES = 64;

    private static final long EVENT_BYTES = CUfileIOEvents.layout().byteSize();
    private static final long EVENT_COOKIE = CUfileIOEvents.cookie$offset();
    private static final long EVENT_STATUS = CUfileIOEvents.status$offset();
    private static final long EVENT_RESULT = CUfileIOEvents.ret$offset();

    /** Where a batch is in its life. */
    public enum State {
        /** Empty. */
        FREE,
        /** Has entries that were not submitted. */
        FILLING,
        /** Submitted; not all entries have ended. */
        IN_FLIGHT,
        /** All entries have ended. */
        DRAINED,
        /** Cancelled; waiting for what the driver still has to say. */
        CANCELLING,
        /** Gone. */
        DESTROYED
    }

    /** Is told of each entry once. It may not call the batch. */
    @FunctionalInterface
    public interface Listener {
        /**
         * An entry has ended.
         *
         * @param slot    what {@link CuFileBatch#add} gave.
         * @param outcome how.
         * @param result  bytes moved; a negative code when it failed.
         */
        void ended(int slot, CuFileOutcome outcome, long result);
    }

    private final CuFileDriver driver;
    private final CuFileApi api;
    private final Thread owner = Thread.currentThread();
    private final int capacity;
    private final Arena arena;
    private final BatchEntries entries;
    private final MemorySegment events;
    private final MemorySegment count;
    private final MemorySegment timeout;
    private final long arrayBytes;
    private final long batch;
    private State state = State.FREE;
    private int outstanding;
    private final long silenceNs;
    private boolean entryFailed;
    private long lastEndNs;
    private int passingFailures;
    private long strayEvents;

    private CuFileBatch(final CuFileDriver driver, final int capacity, final long silenceNs) {
        this.silenceNs = silenceNs;
        this.driver = driver;
        this.api = driver.api();
        this.capacity = capacity;
        this.arena = Arena.ofConfined();
        try {
            entries = new BatchEntries(arena, capacity, driver.pool());
            events = arena.allocate(EVENT_BYTES * capacity, Long.BYTES);
            count = arena.allocate(JAVA_INT);
            timeout = arena.allocate(JAVA_LONG, 2);
            final MemorySegment out = arena.allocate(JAVA_LONG);
            CuFile.check("cuFileBatchIOSetUp", api.batchSetUp(out, capacity), capacity + " entries");
            batch = out.get(JAVA_LONG, 0);
        } catch (final RuntimeException | Error e) {
            arena.close();
            throw e;
        }
        arrayBytes = entries.params().byteSize() + events.byteSize();
        NativeResources.created(NativeTag.CUFILE_HANDLE, arrayBytes);
    }

    /**
     * Makes a batch that belongs to the calling thread.
     *
     * @param driver   an open driver.
     * @param capacity entries; from 1 to the driver's depth.
     * @return the owner.
     * @throws IllegalArgumentException when the driver takes no batch of that size.
     * @throws CuFileException          when it refuses it.
     */
    public static CuFileBatch create(final CuFileDriver driver, final int capacity) {
        return create(driver, capacity, SILENCE_NS);
    }

    static CuFileBatch create(final CuFileDriver driver, final int capacity, final long silenceNs) {
        final int most = driver.properties().maxBatchEntries();
        if (capacity < 1 || capacity > most) {
            throw new IllegalArgumentException("a batch of " + capacity + " entries; the driver takes 1 to " + most
                + " (io_batchsize in cufile.json)");
        }
        driver.share();
        try {
            return new CuFileBatch(driver, capacity, silenceNs);
        } catch (final RuntimeException | Error e) {
            driver.giveBack();
            throw e;
        }
    }

    /**
     * Adds a transfer between a file and registered memory.
     *
     * @param write        false to read from the file.
     * @param file         the file.
     * @param fileOffset   where in it, in bytes.
     * @param buffer       the memory.
     * @param bufferOffset where in it, in bytes.
     * @param length       bytes; more than 0.
     * @return the entry's slot, or {@link #NO_ROOM}: submit what is there, or wait for other entries to end.
     * @throws IllegalArgumentException when the memory was registered by its address alone and is none any more.
     */
    public int add(final boolean write, final CuFileHandle file, final long fileOffset, final CuFileBuffer buffer,
        final long bufferOffset, final long length) {
        buffer.check(bufferOffset, length);
        if (!takeRoom(file, fileOffset, length)) {
            return NO_ROOM;
        }
        entries.hold(file, buffer, null, length);
        return put(write, fileOffset, buffer.base(), bufferOffset);
    }

    /**
     * Adds a transfer between a file and memory that is not registered.
     *
     * @param write        false to read from the file.
     * @param file         the file.
     * @param fileOffset   where in it, in bytes.
     * @param memory       the memory; when it is closed, then held by the caller.
     * @param memoryOffset where in it, in bytes.
     * @param length       bytes; more than 0.
     * @return the entry's slot, or {@link #NO_ROOM}.
     * @throws IllegalStateException when the memory is closed and nobody holds it.
     */
    public int add(final boolean write, final CuFileHandle file, final long fileOffset, final DeviceMemory memory,
        final long memoryOffset, final long length) {
        final DevicePointer range = memory.pointer();
        Objects.checkFromIndexSize(memoryOffset, length, range.byteSize());
        if (!takeRoom(file, fileOffset, length)) {
            return NO_ROOM;
        }
        entries.hold(file, null, memory, length);
        return put(write, fileOffset, range.address() + memoryOffset, 0);
    }

    /**
     * Adds a transfer between a file and memory of somebody else. The driver is asked whether it is any.
     *
     * @param write      false to read from the file.
     * @param file       the file.
     * @param fileOffset where in it, in bytes.
     * @param memory     device memory, whose owner keeps it until the entry has ended.
     * @return the entry's slot, or {@link #NO_ROOM}.
     * @throws IllegalArgumentException when it is no live device memory, or reaches past its allocation.
     */
    public int add(final boolean write, final CuFileHandle file, final long fileOffset, final DevicePointer memory) {
        driver.requireMemory(memory.address(), memory.byteSize());
        if (!takeRoom(file, fileOffset, memory.byteSize())) {
            return NO_ROOM;
        }
        entries.hold(file, null, null, memory.byteSize());
        return put(write, fileOffset, memory.address(), 0);
    }

    /** Takes the buffers of compatibility mode that an entry needs; false changes nothing. */
    private boolean takeRoom(final CuFileHandle file, final long fileOffset, final long length) {
        require(State.FREE, State.FILLING);
        if (fileOffset < 0 || length <= 0) {
            throw new IllegalArgumentException("file offset " + fileOffset + ", length " + length + " of "
                + file.path());
        }
        return entries.takeRoom(length);
    }

    /** The entry for which everything is held. */
    private int put(final boolean write, final long fileOffset, final long base, final long memoryOffset) {
        state = State.FILLING;
        return entries.put(write, fileOffset, base, memoryOffset);
    }

    /**
     * Hands all added entries over.
     *
     * @throws CuFileException when the driver refused them, all of them; they are still here, to be submitted again
     *                         ({@link CuFileException#retryable()}) or dropped ({@link #recycle()}).
     */
    public void submit() {
        require(State.FILLING, State.FILLING);
        final long status = api.batchSubmit(batch, entries.size(), entries.params(), 0);
        // The text is made for a failure only: this is the hot path.
        if (CuFileStatus.code(status) != CuFileTypes.CU_FILE_SUCCESS()) {
            throw CuFileException.ofStatus("cuFileBatchIOSubmit", status, entries.size() + " entries, first of "
                + entries.file(0).path());
        }
        outstanding = entries.size();
        entryFailed = false;
        lastEndNs = System.nanoTime();
        state = State.IN_FLIGHT;
    }

    /**
     * Reports the entries that have ended and were not reported yet. When the driver has fallen silent, those of
     * which nothing was heard are cancelled and reported as {@link #cancel} does, and the batch is destroyed.
     *
     * @param timeoutNs how long to wait for the first of them, in nanoseconds; 0 only looks.
     * @param listener  is told of each.
     * @return how many; 0 is no error.
     * @throws CuFileException when the driver could not say.
     */
    public int poll(final long timeoutNs, final Listener listener) {
        require(State.IN_FLIGHT, State.IN_FLIGHT);
        final int ended = ask(timeoutNs, listener);
        if (outstanding == 0) {
            state = State.DRAINED;
        } else if (ended > 0) {
            lastEndNs = System.nanoTime();
        } else if (System.nanoTime() - lastEndNs > (entryFailed ? silenceNs : QUIET_FACTOR * silenceNs)) {
            final int lost = outstanding;
            LOG.log(System.Logger.Level.WARNING, "nothing was heard of " + lost + " of " + entries.size()
                + " entries for " + (entryFailed ? silenceNs : QUIET_FACTOR * silenceNs) / 1_000_000 + " ms"
                + (entryFailed ? " after one had failed" : "") + ": they are cancelled and the batch is destroyed");
            cancel(0, listener);
            return lost;
        }
        return ended;
    }

    /** Makes a drained batch, or one that was never submitted, empty again. */
    public void recycle() {
        if (state == State.FILLING) {
            require(State.FILLING, State.FILLING);
            dropAll(null);
        } else {
            require(State.DRAINED, State.FREE);
        }
        entries.clear();
        state = State.FREE;
    }

    /**
     * Cancels what is in flight, waits for what the driver says of it, and destroys the batch. Entries of which nothing
     * was heard are reported as {@link CuFileOutcome#CANCELED} after that, when the driver no longer knows them; as
     * {@link CuFileOutcome#LOST} where a device may move them all the same.
     *
     * @param waitNs   the longest wait for events, in nanoseconds; the cancellation itself may take as long as the
     *                 transfers.
     * @param listener is told of each entry that had not ended.
     */
    public void cancel(final long waitNs, final Listener listener) {
        require(State.IN_FLIGHT, State.IN_FLIGHT);
        state = State.CANCELLING;
        requestCancel();
        final long start = System.nanoTime();
        try {
            long left = waitNs;
            while (outstanding > 0 && left > 0) {
                ask(Math.min(left, POLL_STEP_NS), listener);
                left = waitNs - (System.nanoTime() - start);
            }
        } catch (final CuFileException e) {
            LOG.log(System.Logger.Level.WARNING, "while cancelling: " + e.getMessage());
        } finally {
            destroy(listener);
        }
    }

    /**
     * Asks until the driver takes it. Without a cancellation the driver goes on with the entries, whose memory is let
     * go of next: "later", which the header says of a refusal, must be before the batch is destroyed.
     */
    private void requestCancel() {
        long status = api.batchCancel(batch);
        for (int tries = 1; CuFileCode.retryable(CuFileStatus.code(status)) && tries < MAX_PASSING_FAILURES; tries++) {
            LockSupport.parkNanos(CANCEL_RETRY_NS);
            status = api.batchCancel(batch);
        }
        if (CuFileStatus.code(status) != CuFileTypes.CU_FILE_SUCCESS()) {
            LOG.log(System.Logger.Level.WARNING, "cuFileBatchIOCancel: "
                + CuFileException.ofStatus("cuFileBatchIOCancel", status, outstanding + " entries").getMessage());
        }
    }

    /** Destroys the batch; what is in flight is cancelled first and waited for, one second at the most. */
    @Override
    public void close() {
        if (state == State.DESTROYED) {
            return;
        }
        checkOwner();
        if (state == State.IN_FLIGHT) {
            cancel(CLOSE_WAIT_NS, (slot, outcome, result) -> { });
        } else {
            destroy(null);
        }
    }

    /**
     * Where the batch is in its life.
     *
     * @return the state.
     */
    public State state() {
        return state;
    }

    /**
     * Entries that were submitted and have not ended.
     *
     * @return how many.
     */
    public int outstanding() {
        return outstanding;
    }

    /**
     * The most entries that it takes.
     *
     * @return as asked for.
     */
    public int capacity() {
        return capacity;
    }

    /**
     * Events that named no outstanding entry; they were passed over.
     *
     * @return how many so far.
     */
    public long strayEvents() {
        return strayEvents;
    }

    /**
     * One status query. When an entry has failed, the query itself gives an error (5044) and leaves the count as it
     * was, and yet has filled the event, which does not come again: so the events are cleared before and looked at
     * after every query, whatever it gave.
     */
    private int ask(final long timeoutNs, final Listener listener) {
        timeout.setAtIndex(JAVA_LONG, 0, timeoutNs / NS_PER_S);
        timeout.setAtIndex(JAVA_LONG, 1, timeoutNs % NS_PER_S);
        count.set(JAVA_INT, 0, capacity);
        events.fill((byte) 0);
        final long status = api.batchStatus(batch, timeoutNs > 0 ? 1 : 0, count, events, timeout);
        final int code = CuFileStatus.code(status);
        final boolean failed = code != CuFileTypes.CU_FILE_SUCCESS();
        int ended = 0;
        final int filled = failed ? capacity : Math.clamp(count.get(JAVA_INT, 0), 0, capacity);
        for (int i = 0; i < filled; i++) {
            final long at = i * EVENT_BYTES;
            final long cookie = events.get(JAVA_LONG, at + EVENT_COOKIE);
            if (!(failed && cookie == 0) && take(cookie - 1, events.get(JAVA_INT, at + EVENT_STATUS),
                events.get(JAVA_LONG, at + EVENT_RESULT), listener)) {
                ended++;
            }
        }
        if (!failed || ended > 0) {
            passingFailures = 0;
            return ended;
        }
        passingFailures++;
        if (CuFileCode.retryable(code) && passingFailures < MAX_PASSING_FAILURES) {
            return 0;
        }
        throw CuFileException.ofStatus("cuFileBatchIOGetStatus", status, outstanding + " entries outstanding");
    }

    /** One event; false when it ends no entry. */
    private boolean take(final long slot, final int status, final long result, final Listener listener) {
        if (!entries.holds(slot)) {
            if (strayEvents++ == 0) {
                LOG.log(System.Logger.Level.WARNING, "cuFile reported an entry that is not outstanding: cookie "
                    + (slot + 1) + ", status " + status);
            }
            return false;
        }
        final CuFileOutcome outcome = CuFileOutcome.of(status, result, entries.length((int) slot));
        if (outcome == null) {
            return false;
        }
        entryFailed |= outcome == CuFileOutcome.FAILED;
        outstanding--;
        entries.let((int) slot);
        listener.ended((int) slot, outcome, result);
        return true;
    }

    private void destroy(final Listener listener) {
        state = State.DESTROYED;
        if (outstanding > 0 && driver.properties().directPossible()) {
            api.batchDestroy(batch);
            loseAll(listener);
            return;
        }
        NativeResources.released(NativeTag.CUFILE_HANDLE, arrayBytes);
        try {
            api.batchDestroy(batch);
            arena.close();
            dropAll(listener);
        } finally {
            driver.giveBack();
        }
    }

    /** Lets go of nothing: see the class. */
    private void loseAll(final Listener listener) {
        LOG.log(System.Logger.Level.ERROR, "nothing was heard of " + outstanding + " entries of a batch that is gone, "
            + "and the device may still move their bytes: their memory and their places in files stay in use until "
            + "this process ends; see cufile.log, and restart the process when that can be done");
        driver.lost(outstanding);
        outstanding = 0;
        for (int slot = 0; slot < entries.size(); slot++) {
            if (entries.holds(slot)) {
                entries.lose(slot);
                if (listener != null) {
                    listener.ended(slot, CuFileOutcome.LOST, 0);
                }
            }
        }
    }

    private void dropAll(final Listener listener) {
        for (int slot = 0; slot < entries.size(); slot++) {
            if (entries.holds(slot)) {
                entries.let(slot);
                if (listener != null) {
                    listener.ended(slot, CuFileOutcome.CANCELED, 0);
                }
            }
        }
        outstanding = 0;
    }

    private void require(final State one, final State other) {
        checkOwner();
        if (state != one && state != other) {
            throw new IllegalStateException("the batch is " + state + ", with " + outstanding + " of " + entries.size()
                + " entries outstanding; this needs " + (one == other ? one : one + " or " + other));
        }
    }

    private void checkOwner() {
        if (Thread.currentThread() != owner) {
            throw new IllegalStateException("the batch belongs to " + owner + ", not to " + Thread.currentThread());
        }
    }
}
