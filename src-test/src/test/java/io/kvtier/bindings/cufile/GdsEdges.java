package io.kvtier.bindings.cufile;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.kvtier.bindings.cuda.Cuda;
import io.kvtier.bindings.cuda.CudaContext;
import io.kvtier.bindings.cuda.CudaStream;
import io.kvtier.bindings.cuda.DeviceMemory;
import io.kvtier.bindings.cufile.gen.CUfileDescr_t;
import io.kvtier.bindings.cufile.gen.CUfileIOEvents;
import io.kvtier.bindings.cufile.gen.CUfileIOParams;
import io.kvtier.bindings.cufile.gen.CuFileFunctions;
import io.kvtier.bindings.cufile.gen.CuFileTypes;
import io.kvtier.bindings.posix.OpenMode;
import io.kvtier.bindings.posix.PosixFile;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/**
 * Facts whose asking may end the process, or that need one in which nothing was called before: one a JVM,
 * {@code GdsEdges FILE NAME}; without a name it prints the names.
 */
public final class GdsEdges {
    private static final long MIB = 1 << 20;
    private static final long NOWHERE = 0x1234_5678_9000L;

    private final Arena arena = Arena.ofConfined();
    private final CuFileApi api = new CuFileNative(true);
    private final MemorySegment number = arena.allocate(JAVA_LONG);
    private final String name;
    private final PosixFile file;
    private final long memory;
    private final CudaContext context;

    /** What is asked, by name. */
    private enum Edge {
        IMPLICIT_HANDLE, IMPLICIT_BUFFER, IMPLICIT_BATCH, READ_AFTER_CLOSE, READ_UNKNOWN_HANDLE, CANCEL_UNKNOWN,
        SUBMIT_DEREGISTERED, SUBMIT_NO_MEMORY, SUBMIT_TOO_FAR, WRITE_READ_ONLY, BATCH_SIZES, NULL_TIMEOUT,
        REGISTER_NO_MEMORY, TEXTS, LOG_FOLDER, LOG_FILE, LOG_LEVEL, LONG_RETURN, DEFAULTS, STREAMS, NO_CONTEXT
    }

    private GdsEdges(final String name, final PosixFile file, final long memory, final CudaContext context) {
        this.name = name;
        this.file = file;
        this.memory = memory;
        this.context = context;
    }

    /**
     * Prints the facts of one edge.
     *
     * @param args file and name.
     * @throws InterruptedException when interrupted.
     */
    public static void main(final String[] args) throws InterruptedException {
        if (args.length < 2) {
            List.of(Edge.values()).forEach(System.out::println);
            return;
        }
        if (!GdsFacts.library()) {
            throw new IllegalStateException("no library");
        }
        final Edge edge = Edge.valueOf(args[1]);
        try (CudaContext context = Cuda.devices().getFirst().retainPrimaryContext();
            CudaContext.Guard guard = context.enter();
            DeviceMemory memory = DeviceMemory.allocate(guard.context(), 8 * MIB);
            PosixFile made = PosixFile.open(args[0], OpenMode.CREATE);
            PosixFile file = PosixFile.open(args[0],
                edge == Edge.WRITE_READ_ONLY ? OpenMode.READ : OpenMode.READ_WRITE_DIRECT)) {
            made.preallocate(0, 8 * MIB);
            new GdsEdges(args[1], file, memory.pointer().address(), context).ask(edge);
        }
    }

    private void ask(final Edge edge) throws InterruptedException {
        switch (edge) {
            case IMPLICIT_HANDLE, IMPLICIT_BUFFER, IMPLICIT_BATCH -> implicit(edge);
            case READ_AFTER_CLOSE -> readAfterClose();
            case READ_UNKNOWN_HANDLE -> {
                open();
                result("read", api.read(NOWHERE, memory, MIB, 0, 0));
            }
            case CANCEL_UNKNOWN -> {
                open();
                say("cancel", GdsFacts.text(api.batchCancel(NOWHERE)));
            }
            case SUBMIT_DEREGISTERED -> submitDeregistered();
            case SUBMIT_NO_MEMORY, SUBMIT_TOO_FAR -> submitOneThatFails(edge == Edge.SUBMIT_NO_MEMORY);
            case WRITE_READ_ONLY -> writeReadOnly();
            case BATCH_SIZES -> batchSizes();
            case NULL_TIMEOUT -> nullTimeout();
            case REGISTER_NO_MEMORY -> {
                open();
                say("register an address that is no memory", GdsFacts.text(api.bufferRegister(NOWHERE, MIB, 0)));
                say("register host memory", GdsFacts.text(api.bufferRegister(
                    arena.allocate(MIB, 4096).address(), MIB, 0)));
                result("read to unregistered host memory", api.read(handle(), arena.allocate(MIB, 4096).address(), MIB,
                    0, 0));
            }
            case TEXTS -> texts();
            case LOG_FOLDER, LOG_FILE, LOG_LEVEL -> logs(CuFileText.valueOf(edge.name()));
            case LONG_RETURN -> longReturn();
            case DEFAULTS -> defaults();
            case STREAMS -> streams();
            default -> withoutContext();
        }
    }

    private void say(final String what, final Object answer) {
        GdsFacts.say(name + ": " + what, answer);
    }

    private void result(final String what, final long count) {
        say(what, count + ", errno " + api.lastErrno());
    }

    private void open() {
        say("open", GdsFacts.text(api.driverOpen()));
    }

    private long handle() {
        final MemorySegment description = arena.allocate(CUfileDescr_t.layout());
        CUfileDescr_t.type(description, CuFileTypes.CU_FILE_HANDLE_TYPE_OPAQUE_FD());
        CUfileDescr_t.handle.fd(CUfileDescr_t.handle(description), file.acquireDescriptor());
        say("register the file", GdsFacts.text(api.handleRegister(number, description)));
        return number.get(JAVA_LONG, 0);
    }

    private void implicit(final Edge edge) {
        say("use count before", api.useCount());
        switch (edge) {
            case IMPLICIT_HANDLE -> result("read", api.read(handle(), memory, MIB, 0, 0));
            case IMPLICIT_BUFFER -> say("register memory", GdsFacts.text(api.bufferRegister(memory, MIB, 0)));
            default -> say("set up a batch", GdsFacts.text(api.batchSetUp(number, 4)));
        }
        say("use count after", api.useCount());
        say("set the pool now", GdsFacts.text(api.setPosixPool(arena.allocateFrom(JAVA_LONG, 4, 1024, 16384),
            arena.allocateFrom(JAVA_LONG, 128, 256, 64), 3)));
        open();
        say("use count after an open", api.useCount());
    }

    private void readAfterClose() {
        open();
        final long handle = handle();
        result("read", api.read(handle, memory, MIB, 0, 0));
        say("close", GdsFacts.text(api.driverClose()));
        result("read after the close", api.read(handle, memory, MIB, 0, 0));
        say("use count", api.useCount());
    }

    private void entry(final MemorySegment params, final long handle, final boolean write) {
        final MemorySegment batch = CUfileIOParams.u.batch(CUfileIOParams.u(params));
        CUfileIOParams.mode(params, CuFileTypes.CUFILE_BATCH());
        CUfileIOParams.fh(params, MemorySegment.ofAddress(handle));
        CUfileIOParams.opcode(params, write ? CuFileTypes.CUFILE_WRITE() : CuFileTypes.CUFILE_READ());
        CUfileIOParams.cookie(params, MemorySegment.ofAddress(1));
        CUfileIOParams.u.batch.devPtr_base(batch, MemorySegment.ofAddress(memory));
        CUfileIOParams.u.batch.size(batch, MIB);
    }

    private void status(final long batch, final MemorySegment timeout) {
        final MemorySegment events = CUfileIOEvents.allocateArray(4, arena);
        final MemorySegment count = arena.allocateFrom(JAVA_INT, 4);
        final long status = api.batchStatus(batch, 1, count, events, timeout);
        final StringBuilder said = new StringBuilder(GdsFacts.text(status)).append(", ").append(count.get(JAVA_INT, 0));
        for (int i = 0; i < 4; i++) {
            final MemorySegment event = CUfileIOEvents.asSlice(events, i);
            if (CUfileIOEvents.cookie(event).address() != 0) {
                said.append(" [cookie ").append(CUfileIOEvents.cookie(event).address()).append(" status ")
                    .append(CUfileIOEvents.status(event)).append(" ret ").append(CUfileIOEvents.ret(event)).append(']');
            }
        }
        say("asked", said);
    }

    private long batch() {
        say("set up a batch", GdsFacts.text(api.batchSetUp(number, 4)));
        return number.get(JAVA_LONG, 0);
    }

    private void submitDeregistered() {
        open();
        final long handle = handle();
        final long batch = batch();
        api.handleDeregister(handle);
        final MemorySegment params = arena.allocate(CUfileIOParams.layout());
        entry(params, handle, false);
        final long status = api.batchSubmit(batch, 1, params, 0);
        say("submit for a handle that was deregistered", GdsFacts.text(status));
        if (CuFileStatus.code(status) == 0) {
            status(batch, arena.allocateFrom(JAVA_LONG, 1, 0));
        }
    }

    /** Beside good ones: an address that is no memory, or a place in the file that no file system has. */
    private void submitOneThatFails(final boolean noMemory) {
        open();
        final long handle = handle();
        final long batch = batch();
        final MemorySegment params = CUfileIOParams.allocateArray(4, arena);
        for (int i = 0; i < 4; i++) {
            final MemorySegment one = CUfileIOParams.asSlice(params, i);
            entry(one, handle, true);
            CUfileIOParams.cookie(one, MemorySegment.ofAddress(i + 1L));
            if (i == 3 && noMemory) {
                CUfileIOParams.u.batch.devPtr_base(CUfileIOParams.u.batch(CUfileIOParams.u(one)),
                    MemorySegment.ofAddress(NOWHERE));
            } else if (i == 3) {
                CUfileIOParams.u.batch.file_offset(CUfileIOParams.u.batch(CUfileIOParams.u(one)), 1L << 50);
            }
        }
        say("submit 3 good ones and 1 that fails", GdsFacts.text(api.batchSubmit(batch, 4, params, 0)));
        for (int i = 0; i < 10; i++) {
            status(batch, arena.allocateFrom(JAVA_LONG, 0, 500_000_000));
        }
        api.batchDestroy(batch);
    }

    private void writeReadOnly() {
        open();
        final long handle = handle();
        result("write", api.write(handle, memory, MIB, 0, 0));
        final long batch = batch();
        final MemorySegment params = arena.allocate(CUfileIOParams.layout());
        entry(params, handle, true);
        final long status = api.batchSubmit(batch, 1, params, 0);
        say("submit a write", GdsFacts.text(status));
        for (int i = 0; i < 3 && CuFileStatus.code(status) == 0; i++) {
            status(batch, arena.allocateFrom(JAVA_LONG, 1, 0));
        }
    }

    private void batchSizes() {
        open();
        for (final int size : new int[] {0, 1, 128, 129, 256}) {
            say("set up a batch of " + size, GdsFacts.text(api.batchSetUp(number, size)));
        }
    }

    private void nullTimeout() {
        open();
        final long handle = handle();
        final long batch = batch();
        final MemorySegment params = arena.allocate(CUfileIOParams.layout());
        entry(params, handle, false);
        say("submit", GdsFacts.text(api.batchSubmit(batch, 1, params, 0)));
        status(batch, MemorySegment.NULL);
    }

    private String text(final CuFileText parameter) {
        final MemorySegment text = arena.allocate(4096);
        final long status = api.textParameter(parameter.number(), text, 4096);
        return GdsFacts.text(status) + " '" + text.getString(0) + '\'';
    }

    private void texts() {
        for (final CuFileText parameter : CuFileText.values()) {
            say(parameter + " before anything", text(parameter));
        }
        final String folder = file.path().substring(0, file.path().lastIndexOf('/'));
        say("set LOG_LEVEL", GdsFacts.text(api.setTextParameter(CuFileText.LOG_LEVEL.number(),
            arena.allocateFrom("INFO"))));
        say("set LOG_LEVEL to nonsense", GdsFacts.text(api.setTextParameter(CuFileText.LOG_LEVEL.number(),
            arena.allocateFrom("LOUD"))));
        say("set LOG_FOLDER", GdsFacts.text(api.setTextParameter(CuFileText.LOG_FOLDER.number(),
            arena.allocateFrom(folder))));
        say("set LOG_FILE", GdsFacts.text(api.setTextParameter(CuFileText.LOG_FILE.number(),
            arena.allocateFrom(folder + "/named.log"))));
        for (final CuFileText parameter : CuFileText.values()) {
            say(parameter + " after it was set", text(parameter));
        }
        open();
        for (final CuFileText parameter : CuFileText.values()) {
            say(parameter + " when open", text(parameter));
        }
        say("set LOG_LEVEL when open", GdsFacts.text(api.setTextParameter(CuFileText.LOG_LEVEL.number(),
            arena.allocateFrom("WARN"))));
    }

    /** Sets one, lets the library log an error, and lists where a log has appeared. */
    private void logs(final CuFileText parameter) {
        final Path folder = Path.of(file.path()).resolveSibling("edge-logs");
        final String value = switch (parameter) {
            case LOG_FOLDER -> folder.toString();
            case LOG_FILE -> folder + "/named.log";
            default -> "TRACE";
        };
        try {
            Files.createDirectories(folder);
            say("set", GdsFacts.text(api.setTextParameter(parameter.number(), arena.allocateFrom(value)))
                + ' ' + value);
            open();
            say("when open", text(parameter));
            handle();
            handle();
            say("close", GdsFacts.text(api.driverClose()));
            for (final Path place : List.of(folder, Path.of(""))) {
                try (Stream<Path> files = Files.list(place)) {
                    for (final Path log : files.filter(one -> one.toString().endsWith(".log")).toList()) {
                        say(log + " has lines", Files.readAllLines(log).size());
                        Files.readAllLines(log).stream().limit(3).forEach(line -> say(log.toString(), line));
                        Files.delete(log);
                    }
                }
            }
        } catch (final IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** A struct of two 32-bit numbers comes back in one register: the low half is the first. */
    @SuppressWarnings("restricted")
    private void longReturn() {
        final MethodHandle setUp = Linker.nativeLinker().downcallHandle(CuFileFunctions.cuFileBatchIOSetUp$address(),
            FunctionDescriptor.of(JAVA_LONG, ValueLayout.ADDRESS, JAVA_INT));
        final MethodHandle open = Linker.nativeLinker().downcallHandle(CuFileFunctions.cuFileDriverOpen$address(),
            FunctionDescriptor.of(JAVA_LONG));
        try {
            say("open as a long", (long) open.invokeExact());
            say("set up a batch of 0 as a long", (long) setUp.invokeExact(number, 0));
        } catch (final Throwable e) {
            throw new AssertionError("a downcall with numbers only threw", e);
        }
        say("set up a batch of 0 as a struct", api.batchSetUp(number, 0));
    }

    private void defaults() {
        open();
        for (final CuFileSize parameter : CuFileSize.values()) {
            number.set(JAVA_LONG, 0, -1);
            say(parameter + "", GdsFacts.text(api.sizeParameter(parameter.number(), number)) + " "
                + number.get(JAVA_LONG, 0));
        }
    }

    private void streams() {
        open();
        final long handle = handle();
        say("register memory", GdsFacts.text(api.bufferRegister(memory, 8 * MIB, 0)));
        try (CudaStream stream = CudaStream.create(context)) {
            final long address = stream.acquireHandle();
            say("deregister a stream that is not registered", GdsFacts.text(api.streamDeregister(address)));
            say("register with 15", GdsFacts.text(api.streamRegister(address, 15)));
            say("register again with 7", GdsFacts.text(api.streamRegister(address, 7)));
            for (final long length : new long[] {MIB, 1000}) {
                final MemorySegment arguments = arena.allocateFrom(JAVA_LONG, length, 0, 0, -77);
                say("transfer of " + length, GdsFacts.text(api.streamTransfer(false, handle, memory, arguments,
                    address)));
                stream.synchronize();
                say("moved", arguments.getAtIndex(JAVA_LONG, 3));
            }
            say("deregister", GdsFacts.text(api.streamDeregister(address)));
            say("deregister again", GdsFacts.text(api.streamDeregister(address)));
            stream.releaseHandle();
        }
    }

    private void withoutContext() throws InterruptedException {
        open();
        final long handle = handle();
        final Thread other = Thread.ofPlatform().start(() ->
            result("read in a thread without a context", api.read(handle, memory, MIB, 0, 0)));
        other.join();
    }
}
