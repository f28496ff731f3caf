package io.kvtier.bindings.cufile;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.kvtier.bindings.NativeLibrary;
import io.kvtier.bindings.cuda.Cuda;
import io.kvtier.bindings.cuda.CudaContext;
import io.kvtier.bindings.cuda.DeviceMemory;
import io.kvtier.bindings.cufile.gen.CUfileDescr_t;
import io.kvtier.bindings.cufile.gen.CUfileDrvProps;
import io.kvtier.bindings.cufile.gen.CUfileIOEvents;
import io.kvtier.bindings.cufile.gen.CUfileIOParams;
import io.kvtier.bindings.cufile.gen.CUfileStatsLevel3;
import io.kvtier.bindings.cufile.gen.CuFileTypes;
import io.kvtier.bindings.posix.OpenMode;
import io.kvtier.bindings.posix.PosixFile;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * Asks the library what its documentation leaves open, call by call, and prints the answers. Run it against a new
 * version: {@code GdsFacts FILE ORDER}, where the order says what is called before the pool is sized ({@code nothing},
 * {@code version} or {@code count}), or ({@code pool}, {@code pool-level}, {@code pool-properties}) what is called
 * between that and asking for it; {@code GdsFacts FILE exit LEVEL keep|release} ends with the driver open.
 */
public final class GdsFacts {
    private static final long MIB = 1 << 20;

    private final Arena arena = Arena.ofConfined();
    private final CuFileApi api = new CuFileNative(true);
    private final MemorySegment number = arena.allocate(JAVA_LONG);

    private GdsFacts() {
    }

    /**
     * Prints one fact a line.
     *
     * @param args file and order.
     */
    public static void main(final String[] args) {
        if (args[1].equals("exit")) {
            endWithTheDriverOpen(args[0], Integer.parseInt(args[2]), args[3].equals("release"));
            return;
        }
        if (!library()) {
            throw new IllegalStateException("no library");
        }
        try (CudaContext context = Cuda.devices().getFirst().retainPrimaryContext();
            CudaContext.Guard guard = context.enter();
            DeviceMemory memory = DeviceMemory.allocate(guard.context(), 8 * MIB);
            DeviceMemory other = DeviceMemory.allocate(context, 8 * MIB);
            PosixFile made = PosixFile.open(args[0], OpenMode.CREATE);
            PosixFile file = PosixFile.open(args[0], OpenMode.READ_WRITE_DIRECT)) {
            made.preallocate(0, 8 * MIB);
            final GdsFacts facts = new GdsFacts();
            if (args[1].startsWith("pool")) {
                facts.pool(args[1]);
                return;
            }
            facts.parameters(args[1]);
            if (args.length > 2) {
                facts.files(file, memory.pointer().address(), other.pointer().address());
            }
        }
    }

    /** How the process ends is the answer. */
    private static void endWithTheDriverOpen(final String path, final int level, final boolean release) {
        final CudaContext context = Cuda.devices().getFirst().retainPrimaryContext();
        final CudaContext.Guard guard = context.enter();
        final CuFileDriver driver = CuFile.system().open(new CuFileConfig(CuFileConfig.DEFAULT.posixPool(),
            CuFileConfig.Compatibility.AS_CONFIGURED, level));
        try (DeviceMemory memory = DeviceMemory.allocate(context, MIB);
            PosixFile made = PosixFile.open(path, OpenMode.CREATE);
            PosixFile file = PosixFile.open(path, OpenMode.READ_WRITE_DIRECT);
            CuFileHandle handle = CuFileHandle.register(driver, file)) {
            made.preallocate(0, MIB);
            handle.write(memory.pointer(), 0);
        }
        say("pool of an open driver", driver.posixPool());
        guard.close();
        if (release) {
            context.close();
        }
    }

    /** Loads the library without a call into it. */
    static boolean library() {
        return NativeLibrary.find(CuFile.LIBRARY_NAMES, CuFile.SYMBOLS, "").availability().available()
            && Cuda.availability().available();
    }

    static void say(final String what, final Object answer) {
        System.out.println("fact: " + what + ": " + answer);
    }

    static String text(final long status) {
        return CuFileStatus.code(status) == 0 ? "0" : CuFileCode.name(CuFileStatus.code(status)) + " ("
            + CuFileStatus.code(status) + "), CUDA " + CuFileStatus.cudaCode(status);
    }

    private String pool() {
        final MemorySegment sizes = arena.allocate(JAVA_LONG, 3);
        final MemorySegment counts = arena.allocate(JAVA_LONG, 3);
        final long status = api.posixPool(sizes, counts, 3);
        return text(status) + " " + sizes.getAtIndex(JAVA_LONG, 0) + "/" + sizes.getAtIndex(JAVA_LONG, 1) + "/"
            + sizes.getAtIndex(JAVA_LONG, 2) + " x " + counts.getAtIndex(JAVA_LONG, 0) + "/"
            + counts.getAtIndex(JAVA_LONG, 1) + "/" + counts.getAtIndex(JAVA_LONG, 2);
    }

    private String size(final int parameter) {
        number.set(JAVA_LONG, 0, -1);
        return text(api.sizeParameter(parameter, number)) + " " + number.get(JAVA_LONG, 0);
    }

    /** Which of the calls between sizing the pool and asking for it makes the answer another. */
    private void pool(final String order) {
        say(order + ": set pool", text(api.setPosixPool(arena.allocateFrom(JAVA_LONG, 4, 1024, 16384),
            arena.allocateFrom(JAVA_LONG, 128, 256, 64), 3)));
        if (order.equals("pool-level")) {
            say(order + ": set statistics level 3", text(api.setStatisticsLevel(3)));
        }
        say(order + ": open", text(api.driverOpen()));
        if (order.equals("pool-properties")) {
            say(order + ": properties", text(api.properties(arena.allocate(CUfileDrvProps.layout()))));
        }
        say(order + ": pool after open", pool());
        say(order + ": close", text(api.driverClose()));
    }

    private void parameters(final String order) {
        if (order.equals("version")) {
            final long status = api.version(number);
            say("version", text(status) + " " + number.get(JAVA_INT, 0));
        }
        if (order.equals("count")) {
            say("use count before anything", api.useCount());
        }
        say(order + ": pool before", order.equals("nothing") ? "not asked" : pool());
        say(order + ": set pool", text(api.setPosixPool(arena.allocateFrom(JAVA_LONG, 4, 1024, 16384),
            arena.allocateFrom(JAVA_LONG, 128, 256, 64), 3)));
        say(order + ": pool after set", pool());
        say("set statistics level 3", text(api.setStatisticsLevel(3)));
        say("statistics parameter", size(CuFileTypes.CUFILE_PARAM_PROFILE_STATS()));
        say("set batch size 300", text(api.setSizeParameter(CuFileTypes.CUFILE_PARAM_PROPERTIES_IO_BATCHSIZE(), 300)));
        say("set io threads 100",
            text(api.setSizeParameter(CuFileTypes.CUFILE_PARAM_EXECUTION_MAX_IO_THREADS(), 100)));
        say("open", text(api.driverOpen()));
        say(order + ": pool after open", pool());
        say("statistics parameter after open", size(CuFileTypes.CUFILE_PARAM_PROFILE_STATS()));
        say("batch size after open", size(CuFileTypes.CUFILE_PARAM_PROPERTIES_IO_BATCHSIZE()));
        say("io threads after open", size(CuFileTypes.CUFILE_PARAM_EXECUTION_MAX_IO_THREADS()));
        say("use count", api.useCount());
        say("set statistics level after open", text(api.setStatisticsLevel(3)));
        say("statistics start", text(api.statisticsStart()));
        if (!order.equals("nothing")) {
            say("close", text(api.driverClose()));
        }
    }

    private void files(final PosixFile file, final long memory, final long other) {
        final MemorySegment description = arena.allocate(CUfileDescr_t.layout());
        CUfileDescr_t.type(description, CuFileTypes.CU_FILE_HANDLE_TYPE_OPAQUE_FD());
        CUfileDescr_t.handle.fd(CUfileDescr_t.handle(description), file.acquireDescriptor());
        say("register file", text(api.handleRegister(number, description)));
        final long handle = number.get(JAVA_LONG, 0);
        statistics("after nothing");
        say("write 4 MiB unregistered", api.write(handle, memory, 4 * MIB, 0, 0));
        statistics("after one write of 4 MiB");
        say("read 1 MiB", api.read(handle, memory, MIB, 0, 0));
        say("read 1 MiB", api.read(handle, memory, MIB, 0, 0));
        say("read 1 MiB", api.read(handle, memory, MIB, 0, 0));
        statistics("after three reads of 1 MiB");

        say("register 2 MiB beyond the allocation's end", text(api.bufferRegister(memory + 7 * MIB, 64 * MIB, 0)));
        say("register 4 MiB", text(api.bufferRegister(memory, 4 * MIB, 0)));
        say("the same base", text(api.bufferRegister(memory, MIB, 0)));
        say("a part under another base", text(api.bufferRegister(memory + MIB, MIB, 0)));
        say("deregister that part", text(api.bufferDeregister(memory + MIB)));
        say("deregister what is not registered", text(api.bufferDeregister(other)));
        result("read past the registered length", api.read(handle, memory, 2 * MIB, 0, 3 * MIB));
        result("read to no memory", api.read(handle, 0x123456789000L, MIB, 0, 0));
        result("read at a negative offset", api.read(handle, memory, MIB, -4096, 0));
        result("read past the end", api.read(handle, memory, MIB, 64 * MIB, 0));
        result("read of nothing", api.read(handle, memory, 0, 0, 0));

        batches(handle, memory);
        statistics("after batches");
        api.handleDeregister(handle);
        result("read with a handle that was deregistered", api.read(handle, memory, MIB, 0, 0));
        file.releaseDescriptor();
        say("deregister", text(api.bufferDeregister(memory)));
        say("use count", api.useCount());
        say("close", text(api.driverClose()));
        say("use count after close", api.useCount());
        say("pool after close", pool());
    }

    private void result(final String what, final long count) {
        say(what, count + ", errno " + api.lastErrno());
    }

    private void entry(final MemorySegment params, final int slot, final long handle, final long base,
        final long bufferOffset) {
        final MemorySegment one = CUfileIOParams.asSlice(params, slot);
        final MemorySegment batch = CUfileIOParams.u.batch(CUfileIOParams.u(one));
        CUfileIOParams.mode(one, CuFileTypes.CUFILE_BATCH());
        CUfileIOParams.fh(one, MemorySegment.ofAddress(handle));
        CUfileIOParams.cookie(one, MemorySegment.ofAddress(slot + 1L));
        CUfileIOParams.u.batch.devPtr_base(batch, MemorySegment.ofAddress(base));
        CUfileIOParams.u.batch.devPtr_offset(batch, bufferOffset);
        CUfileIOParams.u.batch.size(batch, MIB);
    }

    private void batches(final long handle, final long memory) {
        say("set up a batch of 4", text(api.batchSetUp(number, 4)));
        final long batch = number.get(JAVA_LONG, 0);
        final MemorySegment params = CUfileIOParams.allocateArray(8, arena);
        say("submit 0", text(api.batchSubmit(batch, 0, params, 0)));
        for (int i = 0; i < 5; i++) {
            entry(params, i, handle, memory, 0);
        }
        say("submit 5 of 4", text(api.batchSubmit(batch, 5, params, 0)));
        status("ask an empty batch", batch, 0);
        status("ask an empty batch for 1", batch, 1);
        status("ask for 5 with room for 4", batch, 5);
        entry(params, 1, handle, memory, 3 * MIB + MIB / 2);
        // An entry with a mode other than CUFILE_BATCH ends the process by an assertion of the library.
        say("submit 1 good and 1 past the registration", text(api.batchSubmit(batch, 2, params, 0)));
        for (int i = 0; i < 3; i++) {
            status("asked", batch, 1);
        }
        api.batchDestroy(batch);
    }

    private void status(final String what, final long batch, final int minimum) {
        final MemorySegment events = CUfileIOEvents.allocateArray(4, arena);
        final MemorySegment count = arena.allocateFrom(JAVA_INT, 4);
        final MemorySegment timeout = arena.allocateFrom(JAVA_LONG, 0, 50_000_000);
        final long status = api.batchStatus(batch, minimum, count, events, timeout);
        final StringBuilder said = new StringBuilder(text(status)).append(", ").append(count.get(JAVA_INT, 0));
        for (int i = 0; i < Math.clamp(count.get(JAVA_INT, 0), 0, 4); i++) {
            final MemorySegment event = CUfileIOEvents.asSlice(events, i);
            said.append(" [cookie ").append(CUfileIOEvents.cookie(event).address()).append(" status ")
                .append(CUfileIOEvents.status(event)).append(" ret ").append(CUfileIOEvents.ret(event)).append(']');
        }
        say(what, said);
    }

    private void statistics(final String when) {
        final MemorySegment all = arena.allocate(CUfileStatsLevel3.layout().byteSize() + 8192, 8).fill((byte) 0);
        final StringBuilder said = new StringBuilder(text(api.statistics(all)));
        for (long i = 0; i < all.byteSize() / 8; i++) {
            final long value = all.getAtIndex(JAVA_LONG, i);
            if (value != 0) {
                said.append(' ').append(i * 8).append('=').append(value);
            }
        }
        say("statistics " + when, said);
    }
}
