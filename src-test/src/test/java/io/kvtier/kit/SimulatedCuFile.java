package io.kvtier.kit;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.kvtier.bindings.cufile.CuFile;
import io.kvtier.bindings.cufile.CuFileApi;
import io.kvtier.bindings.cufile.CuFileStatus;
import io.kvtier.bindings.cufile.gen.CUfileDescr_t;
import io.kvtier.bindings.cufile.gen.CUfileDrvProps;
import io.kvtier.bindings.cufile.gen.CUfileIOEvents;
import io.kvtier.bindings.cufile.gen.CUfileIOParams;
import io.kvtier.bindings.cufile.gen.CUfilePerGpuStats;
import io.kvtier.bindings.cufile.gen.CUfileStatsLevel3;
import io.kvtier.bindings.cufile.gen.CuFileTypes;
import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.LongConsumer;

/**
 * cuFile without a GPU, by the rules that were seen on one: handles, registrations by base, batches whose entries are
 * reported once and in any order (here: the last first), cancellations that are followed by events or by none, and
 * compatibility mode's pool, whose exhaustion blocks the submission for ever. "Device memory" is native memory of the
 * test that was {@linkplain #memory() declared} to be. Everything is under one lock. {@link ImmediateCuFile} is the
 * same but for what moves bytes.
 */
@SuppressWarnings("restricted")
public class SimulatedCuFile implements CuFileApi {
    /** Thrown instead of never returning. */
    public static final class NeverReturns extends AssertionError {
        private static final long serialVersionUID = 1L;

        NeverReturns(final String call) {
            super(call + " never returns: the posix pool has no buffer left for an entry");
        }
    }

    private static final int FILE_BYTES = 1 << 20;
    private static final int MAX_BATCH = 128;
    private static final int EIO = 5;

    private final Map<Long, Integer> handles = new HashMap<>();
    private final Map<Integer, SimulatedFile> files = new HashMap<>();
    private final Map<Long, Long> buffers = new HashMap<>();
    private final Map<Long, Batch> batches = new HashMap<>();
    private final Map<String, Deque<Long>> statuses = new HashMap<>();
    private final Map<Long, long[]> endings = new HashMap<>();
    private final Deque<long[]> strays = new ArrayDeque<>();
    private final Deque<long[]> results = new ArrayDeque<>();
    private final List<String> calls = new ArrayList<>();
    private final SimulatedPool pool = new SimulatedPool();
    private final Map<Long, Integer> streams = new HashMap<>();
    private final Map<Integer, String> texts = new HashMap<>();
    private final SimulatedMemory memory = new SimulatedMemory();
    private long nextHandle = 0x1000;
    private int opens;
    private int errno;
    private long registeredTransfers;
    private long posixTransfers;
    private long directTransfers;
    private int eventsAtOnce = Integer.MAX_VALUE;
    private boolean stalled;
    private boolean cancelReports;
    private boolean compatible = true;
    private boolean realFiles;
    private boolean silentAfterFailure;
    private boolean movesOn;
    private final List<SimulatedEntry> late = new ArrayList<>();
    private boolean wrongHostCalls;
    private boolean wrongHostBatches;
    private LongConsumer afterDeregistration = base -> { };

    private static final class Batch {
        final int capacity;
        final Map<Long, SimulatedEntry> outstanding = new LinkedHashMap<>();
        final Map<Long, MemorySegment> parameters = new HashMap<>();
        final Deque<long[]> ready = new ArrayDeque<>();

        Batch(final int capacity) {
            this.capacity = capacity;
        }
    }

    /** The owners over this. */
    public CuFile cuFile() {
        return CuFile.over(this, (address, byteSize) -> memory.at(address).require(byteSize));
    }

    /** What counts as device memory. */
    public SimulatedMemory memory() {
        return memory;
    }

    /** Files that are registered from now on are those of their descriptors, and no memory of the simulation. */
    public synchronized void realFiles() {
        realFiles = true;
    }

    /** Told of a base at the very moment at which the library lets go of it. */
    public synchronized void afterDeregistration(final LongConsumer told) {
        afterDeregistration = told;
    }

    /** The flags that a stream is registered with, or null. */
    public synchronized Integer stream(final long handle) {
        return streams.get(handle);
    }

    /** A text that was set. */
    public synchronized String text(final int parameter) {
        return texts.get(parameter);
    }

    /** One status query ends so many entries at the most. */
    public synchronized void eventsAtOnce(final int most) {
        eventsAtOnce = most;
    }

    /** No entry ends while this is set. */
    public synchronized void stalled(final boolean now) {
        stalled = now;
    }

    /** Whether nothing is heard any more after an entry has failed, as was seen on a GPU. */
    public synchronized void silentAfterFailure(final boolean it) {
        silentAfterFailure = it;
    }

    /**
     * From now on host memory is moved as wrongly as was seen in compatibility mode.
     *
     * @param calls   synchronous ones fail where the file's range is one of whole blocks and the memory not aligned.
     * @param batches their entries pass over their offset in memory.
     */
    public synchronized void wrongHostMemory(final boolean calls, final boolean batches) {
        wrongHostCalls = calls;
        wrongHostBatches = batches;
    }

    /**
     * Whether a device goes on with what was cancelled, or given up, when its batch is gone, as nobody has seen and
     * nobody has ruled out: {@link #moveLate()} is when.
     */
    public synchronized void movesOn(final boolean it) {
        movesOn = it;
    }

    /** The device gets to what it goes on with; how many entries. Their files and memory must be there. */
    public synchronized int moveLate() {
        late.forEach(entry -> {
            if (!memory.holds(entry.base() + entry.bufferOffset(), entry.size())) {
                throw new AssertionError("memory is gone that a device still uses: " + entry);
            }
            if (move(entry) != entry.size()) {
                throw new AssertionError("a file is gone that a device still uses: " + entry);
            }
        });
        final int count = late.size();
        late.clear();
        return count;
    }

    /** Whether cancelled entries are reported as cancelled; they are dropped silently otherwise. */
    public synchronized void cancelReports(final boolean they) {
        cancelReports = they;
    }

    /** Whether transfers run in compatibility mode, as at first, or through nvidia-fs. */
    public synchronized void compatible(final boolean they) {
        compatible = they;
    }

    /** The next call of a function answers with a code and does nothing. */
    public synchronized void refuse(final String call, final int code, final int cuda) {
        statuses.computeIfAbsent(call, name -> new ArrayDeque<>()).add(CuFileStatus.pack(code, cuda));
    }

    /** The next read or write answers with a result and an errno and does nothing. */
    public synchronized void answer(final long result, final int number) {
        results.add(new long[] {result, number});
    }

    /** The entry in a slot will end this way. */
    public synchronized void end(final int slot, final int status, final long result) {
        endings.put(slot + 1L, new long[] {status, result});
    }

    /** The next status query reports this as well. */
    public synchronized void stray(final long cookie, final int status, final long result) {
        strays.add(new long[] {cookie, status, result});
    }

    /** What was called so far. */
    public synchronized List<String> calls() {
        return List.copyOf(calls);
    }

    /** How often a function was called. */
    public synchronized long count(final String call) {
        return calls.stream().filter(call::equals).count();
    }

    /** How many transfers named the base of a registration; the library stages those of any other address. */
    public synchronized long registeredTransfers() {
        return registeredTransfers;
    }

    /** How often the driver is open. */
    public synchronized int opens() {
        return opens;
    }

    /** Live handles, buffers and batches. */
    public synchronized int live() {
        return handles.size() + buffers.size() + batches.size() + streams.size();
    }

    private long begin(final String call) {
        calls.add(call);
        final Deque<Long> scripted = statuses.get(call);
        return scripted == null || scripted.isEmpty() ? CuFileStatus.SUCCESS : scripted.poll();
    }

    private static long code(final int code) {
        return CuFileStatus.pack(code, 0);
    }

    @Override
    public synchronized long version(final MemorySegment version) {
        version.set(JAVA_INT, 0, 1150);
        return begin("version");
    }

    @Override
    public synchronized long driverOpen() {
        final long status = begin("driverOpen");
        if (status == 0) {
            opens++;
        }
        return status;
    }

    @Override
    public synchronized long driverClose() {
        opens--;
        return begin("driverClose");
    }

    @Override
    public synchronized long useCount() {
        return opens;
    }

    @Override
    public synchronized long properties(final MemorySegment properties) {
        properties.fill((byte) 0);
        pool.forget();
        final MemorySegment nvfs = CUfileDrvProps.nvfs(properties);
        CUfileDrvProps.nvfs.major_version(nvfs, compatible ? 0 : 2);
        CUfileDrvProps.nvfs.max_direct_io_size(nvfs, 16384);
        CUfileDrvProps.nvfs.dcontrolflags(nvfs, 1 << CuFileTypes.CU_FILE_ALLOW_COMPAT_MODE());
        CUfileDrvProps.max_batch_io_size(properties, MAX_BATCH);
        return begin("properties");
    }

    @Override
    public synchronized long handleRegister(final MemorySegment handle, final MemorySegment description) {
        final long status = begin("handleRegister");
        final int fd = CUfileDescr_t.handle.fd(CUfileDescr_t.handle(description));
        if (status != 0) {
            return status;
        }
        if (handles.containsValue(fd)) {
            return code(CuFileTypes.CU_FILE_HANDLE_ALREADY_REGISTERED());
        }
        if (realFiles) {
            files.put(fd, SimulatedFile.ofDescriptor(fd));
        } else {
            files.computeIfAbsent(fd, number -> SimulatedFile.ofMemory(FILE_BYTES));
        }
        handles.put(nextHandle, fd);
        handle.set(JAVA_LONG, 0, nextHandle++);
        return CuFileStatus.SUCCESS;
    }

    @Override
    public synchronized void handleDeregister(final long handle) {
        begin("handleDeregister");
        final Integer fd = handles.remove(handle);
        if (fd == null) {
            throw new AssertionError("no such handle: " + handle);
        }
        files.get(fd).close();
    }

    @Override
    public synchronized long bufferRegister(final long base, final long length, final int flags) {
        final long status = begin("bufferRegister");
        if (status != 0) {
            return status;
        }
        return buffers.putIfAbsent(base, length) == null ? CuFileStatus.SUCCESS
            : code(CuFileTypes.CU_FILE_MEMORY_ALREADY_REGISTERED());
    }

    @Override
    public synchronized long bufferDeregister(final long base) {
        final long status = begin("bufferDeregister");
        final boolean registered = buffers.remove(base) != null;
        afterDeregistration.accept(base);
        return registered ? status : code(CuFileTypes.CU_FILE_MEMORY_NOT_REGISTERED());
    }

    @Override
    public synchronized long read(final long handle, final long base, final long size, final long fileOffset,
        final long bufferOffset) {
        return transfer(new SimulatedEntry(0, false, handle, base, size, fileOffset, bufferOffset));
    }

    @Override
    public synchronized long write(final long handle, final long base, final long size, final long fileOffset,
        final long bufferOffset) {
        return transfer(new SimulatedEntry(0, true, handle, base, size, fileOffset, bufferOffset));
    }

    private long transfer(final SimulatedEntry entry) {
        begin(entry.write() ? "write" : "read");
        final long[] scripted = results.poll();
        if (scripted != null) {
            errno = (int) scripted[1];
            return scripted[0];
        }
        if (wrongHostCalls && memory.isPinned(entry.base()) && entry.isOfWholeBlocks() && !entry.isAligned()) {
            errno = EIO;
            return -1;
        }
        return move(entry);
    }

    /** Bytes, or a negative code; a read behind the end of the file is short. */
    private long move(final SimulatedEntry entry) {
        final Integer fd = handles.get(entry.handle());
        if (fd == null) {
            return -CuFileTypes.CU_FILE_HANDLE_NOT_REGISTERED();
        }
        final Long registered = buffers.get(entry.base());
        if (registered != null && entry.bufferOffset() + entry.size() > registered) {
            return -CuFileTypes.CU_FILE_INVALID_MAPPING_RANGE();
        }
        final SimulatedFile file = files.get(fd);
        final MemorySegment bytes =
            MemorySegment.ofAddress(entry.base() + entry.bufferOffset()).reinterpret(entry.size());
        final long count = entry.write() ? file.write(entry.fileOffset(), bytes)
            : file.read(entry.fileOffset(), bytes);
        registeredTransfers += registered == null ? 0 : 1;
        posixTransfers += compatible ? 1 : 0;
        directTransfers += compatible ? 0 : 1;
        return count;
    }

    @Override
    public synchronized int lastErrno() {
        return errno;
    }

    @Override
    public synchronized long batchSetUp(final MemorySegment batch, final int entries) {
        final long status = begin("batchSetUp");
        if (status != 0) {
            return status;
        }
        if (entries < 1 || entries > MAX_BATCH) {
            return code(CuFileTypes.CU_FILE_INVALID_VALUE());
        }
        batches.put(nextHandle, new Batch(entries));
        batch.set(JAVA_LONG, 0, nextHandle++);
        return CuFileStatus.SUCCESS;
    }

    @Override
    public synchronized long batchSubmit(final long batch, final int count, final MemorySegment parameters,
        final int flags) {
        final long status = begin("batchSubmit");
        final Batch one = batches.get(batch);
        if (status != 0) {
            return status;
        }
        if (count < 1 || count + one.outstanding.size() > one.capacity) {
            return code(CuFileTypes.CU_FILE_INTERNAL_BATCH_SUBMIT_ERROR());
        }
        for (int i = 0; i < count; i++) {
            final MemorySegment parameter = CUfileIOParams.asSlice(parameters, i);
            final SimulatedEntry entry = SimulatedEntry.of(parameter);
            if (!handles.containsKey(entry.handle())) {
                return code(CuFileTypes.CU_FILE_INTERNAL_BATCH_SUBMIT_ERROR());
            }
            if (!memory.holds(entry.base() + entry.bufferOffset(), entry.size())) {
                throw new AssertionError("as seen, an entry of no memory never ends, and the process does: " + entry);
            }
            batches.values().forEach(other -> other.outstanding.values().forEach(entry::checkBeside));
            if (compatible && !pool.take(entry.size())) {
                throw new NeverReturns("cuFileBatchIOSubmit");
            }
            if (one.outstanding.put(entry.cookie(), entry) != null) {
                throw new AssertionError("two entries with cookie " + entry.cookie());
            }
            one.parameters.put(entry.cookie(), parameter);
        }
        return CuFileStatus.SUCCESS;
    }

    private void finish(final Batch batch, final SimulatedEntry entry, final boolean cancelled) {
        batch.outstanding.remove(entry.cookie());
        // The library may look at an entry again until it has ended. Where its array is gone, this throws.
        if (!SimulatedEntry.of(batch.parameters.remove(entry.cookie())).equals(entry)) {
            throw new AssertionError("changed while in flight: " + entry);
        }
        if (compatible) {
            pool.give(entry.size());
        }
        final long[] scripted = endings.remove(entry.cookie());
        if (cancelled) {
            if (cancelReports) {
                batch.ready.add(new long[] {entry.cookie(), CuFileTypes.CUFILE_CANCELED(), 0});
            }
        } else if (scripted != null) {
            batch.ready.add(new long[] {entry.cookie(), scripted[0], scripted[1]});
        } else {
            final long moved =
                move(wrongHostBatches && memory.isPinned(entry.base()) ? entry.withoutBufferOffset() : entry);
            batch.ready.add(new long[] {entry.cookie(), moved < 0 ? CuFileTypes.CUFILE_FAILED()
                : CuFileTypes.CUFILE_COMPLETE(), moved < 0 ? -EIO : moved});
        }
    }

    @Override
    public synchronized long batchStatus(final long batch, final int minimum, final MemorySegment count,
        final MemorySegment events, final MemorySegment timeout) {
        final long status = begin("batchStatus");
        final int room = count.get(JAVA_INT, 0);
        count.set(JAVA_INT, 0, 0);
        if (status != 0) {
            return status;
        }
        if (minimum > room || timeout.address() == 0) {
            return code(CuFileTypes.CU_FILE_INVALID_VALUE());
        }
        final Batch one = batches.get(batch);
        if (!stalled) {
            List.copyOf(one.outstanding.values()).reversed().stream().limit(eventsAtOnce)
                .forEach(entry -> finish(one, entry, false));
        }
        strays.forEach(one.ready::addFirst);
        strays.clear();
        int filled = 0;
        boolean failed = false;
        while (filled < room && !one.ready.isEmpty()) {
            final MemorySegment event = CUfileIOEvents.asSlice(events, filled++);
            final long[] said = one.ready.poll();
            CUfileIOEvents.cookie(event, MemorySegment.ofAddress(said[0]));
            CUfileIOEvents.status(event, (int) said[1]);
            CUfileIOEvents.ret(event, said[2]);
            failed |= said[1] == CuFileTypes.CUFILE_FAILED();
        }
        stalled |= failed && silentAfterFailure;
        // As seen: a failed entry makes the query fail, which then does not say how many events it has filled.
        count.set(JAVA_INT, 0, failed ? room : filled);
        return failed ? code(CuFileTypes.CU_FILE_IO_ERROR()) : CuFileStatus.SUCCESS;
    }

    @Override
    public synchronized long batchCancel(final long batch) {
        final long status = begin("batchCancel");
        if (status != 0) {
            return status;
        }
        final Batch one = batches.get(batch);
        if (movesOn) {
            late.addAll(one.outstanding.values());
            one.outstanding.clear();
        }
        List.copyOf(one.outstanding.values()).forEach(entry -> finish(one, entry, true));
        return status;
    }

    @Override
    public synchronized void batchDestroy(final long batch) {
        begin("batchDestroy");
        final Batch one = batches.remove(batch);
        if (one == null) {
            throw new AssertionError("no such batch: " + batch);
        }
        if (!one.outstanding.isEmpty()) {
            throw new AssertionError("destroyed with work in flight, which cuFile does not define");
        }
    }

    @Override
    public synchronized long streamTransfer(final boolean write, final long handle, final long base,
        final MemorySegment arguments, final long stream) {
        final long status = begin("streamTransfer");
        if (status != 0) {
            return status;
        }
        arguments.setAtIndex(JAVA_LONG, 3, move(
            new SimulatedEntry(0, write, handle, base, arguments.getAtIndex(JAVA_LONG, 0),
            arguments.getAtIndex(JAVA_LONG, 1), arguments.getAtIndex(JAVA_LONG, 2))));
        return CuFileStatus.SUCCESS;
    }

    @Override
    public synchronized long streamRegister(final long stream, final int flags) {
        final long status = begin("streamRegister");
        if (status == 0) {
            streams.put(stream, flags);
        }
        return status;
    }

    @Override
    public synchronized long streamDeregister(final long stream) {
        begin("streamDeregister");
        return streams.remove(stream) == null ? code(CuFileTypes.CU_FILE_INVALID_VALUE()) : CuFileStatus.SUCCESS;
    }

    @Override
    public synchronized long textParameter(final int parameter, final MemorySegment text, final int length) {
        text.asSlice(0, length).setString(0, texts.getOrDefault(parameter, ""));
        return begin("textParameter");
    }

    @Override
    public synchronized long setTextParameter(final int parameter, final MemorySegment text) {
        final long status = begin("setTextParameter");
        if (status == 0) {
            texts.put(parameter, text.getString(0));
        }
        return opens > 0 ? code(CuFileTypes.CU_FILE_DRIVER_ALREADY_OPEN()) : status;
    }

    @Override
    public synchronized long sizeParameter(final int parameter, final MemorySegment value) {
        value.set(JAVA_LONG, 0, parameter == CuFileTypes.CUFILE_PARAM_PROPERTIES_IO_BATCHSIZE() ? MAX_BATCH : 0);
        return begin("sizeParameter");
    }

    @Override
    public synchronized long setSizeParameter(final int parameter, final long value) {
        return opens > 0 ? code(CuFileTypes.CU_FILE_DRIVER_ALREADY_OPEN()) : begin("setSizeParameter");
    }

    @Override
    public synchronized long flagParameter(final int parameter, final MemorySegment value) {
        value.set(JAVA_BYTE, 0, (byte) (parameter == CuFileTypes.CUFILE_PARAM_PROPERTIES_ALLOW_COMPAT_MODE() ? 1 : 0));
        return begin("flagParameter");
    }

    @Override
    public synchronized long setFlagParameter(final int parameter, final boolean value) {
        return opens > 0 ? code(CuFileTypes.CU_FILE_DRIVER_ALREADY_OPEN()) : begin("setFlagParameter");
    }

    @Override
    public synchronized long posixPool(final MemorySegment sizesKb, final MemorySegment counts, final int length) {
        return pool.read(sizesKb, counts, length) ? begin("posixPool") : code(CuFileTypes.CU_FILE_INVALID_VALUE());
    }

    @Override
    public synchronized long setPosixPool(final MemorySegment sizesKb, final MemorySegment counts, final int length) {
        final long status = begin("setPosixPool");
        if (opens > 0) {
            return code(CuFileTypes.CU_FILE_DRIVER_ALREADY_OPEN());
        }
        return status != 0 || pool.size(sizesKb, counts, length) ? status : code(CuFileTypes.CU_FILE_INVALID_VALUE());
    }

    @Override
    public synchronized long setStatisticsLevel(final int level) {
        return begin("setStatisticsLevel");
    }

    @Override
    public synchronized long statisticsStart() {
        return begin("statisticsStart");
    }

    @Override
    public synchronized long statistics(final MemorySegment statistics) {
        statistics.fill((byte) 0);
        CUfileStatsLevel3.num_gpus(statistics, 1);
        final MemorySegment gpu = CUfilePerGpuStats.asSlice(CUfileStatsLevel3.per_gpu_stats(statistics), 0);
        CUfilePerGpuStats.n_posix_reads(gpu, posixTransfers);
        CUfilePerGpuStats.n_nvfs_reads(gpu, directTransfers);
        return begin("statistics");
    }
}
