package io.kvtier.kit;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BOOLEAN;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.kvtier.bindings.hf3fs.Usrbio;
import io.kvtier.bindings.hf3fs.UsrbioClock;
import io.kvtier.kit.UsrbioFaults.Call;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.AddressLayout;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.function.IntSupplier;
import java.util.function.ToIntFunction;
import java.util.stream.Stream;

/**
 * The USRBIO library of 3FS and the client behind it, over a folder that stands for a mounted 3FS, called as the
 * library is: each function is C code (an upcall) of the name and type of {@code hf3fs_usrbio.h}, found by its name. By
 * the sources of 3FS: which arguments are refused and how, slots that count until they are reaped, batches, one thread
 * at a time, links that are left behind. What would crash, hang or corrupt is a {@linkplain #problems() problem}. Files
 * are real, shared memory is a mapped file, entries are carried out when they are waited for (the last first), and a
 * wait in vain takes no time but moves the clock. Everything is under one lock.
 */
@SuppressWarnings("restricted")
public final class SimulatedUsrbio implements AutoCloseable {
    /** Offsets of the header's structs, as a C compiler lays them out; not those of the code under test. */
    private static final long IOV_ID = 16;
    private static final long IOV_MOUNT = 32;
    private static final long IOV_SIZE = 288;
    private static final long IOV_BLOCK = 296;
    private static final long IOV_NUMA = 304;
    private static final long IOR_HANDLE = 312;
    private static final long IOR_MOUNT = 320;
    private static final long IOR_FOR_READ = 576;
    private static final long CQE_BYTES = 24;
    private static final AddressLayout IOV = ADDRESS.withTargetLayout(MemoryLayout.sequenceLayout(312, JAVA_BYTE));
    private static final AddressLayout IOR = ADDRESS.withTargetLayout(MemoryLayout.sequenceLayout(600, JAVA_BYTE));
    private static final AddressLayout TEXT =
        ADDRESS.withTargetLayout(MemoryLayout.sequenceLayout(1 << 12, JAVA_BYTE));

    private static final int ENOENT = 2;
    private static final int EIO = 5;
    private static final int EBADF = 9;
    private static final int EAGAIN = 11;
    private static final int EACCES = 13;
    private static final int EINVAL = 22;
    private static final int O_ACCMODE = 3;

    private final Arena stubs = Arena.ofShared();
    private final Map<String, MemorySegment> functions = new HashMap<>();
    private final Path mount;
    private final Path iovs;
    private final Path shm;
    private final UsrbioFaults faults = new UsrbioFaults();
    private final Clock clock = new Clock();
    private final List<String> problems = new ArrayList<>();
    private final Map<Long, Iov> vectors = new HashMap<>();
    private final Map<Long, SimulatedRing> rings = new HashMap<>();
    private final Map<Integer, Registered> files = new HashMap<>();
    private long nextHandle = 0x100;
    private Runnable onWait = () -> { };
    private boolean onlyWhenTold;
    private long room = Long.MAX_VALUE;
    private final List<Long> strays = new ArrayList<>();

    private record Iov(Arena arena, MemorySegment memory, Path link, Path shared) {
    }

    private record Registered(SimulatedFile file, int access) {
    }

    private static final class Clock implements UsrbioClock {
        private long epochMillis = 1_800_000_000_000L;

        @Override
        public synchronized long nanoTime() {
            return epochMillis * 1_000_000;
        }

        @Override
        public synchronized long epochMillis() {
            return epochMillis;
        }

        synchronized void advanceTo(final long time) {
            epochMillis = Math.max(epochMillis, time);
        }
    }

    /**
     * A client with a mount.
     *
     * @param directory an empty folder; {@link #mount()} is made in it.
     */
    public SimulatedUsrbio(final Path directory) {
        try {
            mount = Files.createDirectories(directory.toRealPath().resolve("3fs"));
            iovs = Files.createDirectories(mount.resolve("3fs-virt/iovs"));
            shm = Files.createDirectories(directory.resolve("shm"));
        } catch (final IOException e) {
            throw new UncheckedIOException(e);
        }
        final MethodHandles.Lookup own = MethodHandles.lookup();
        export(own, "isHf3fs", "hf3fs_is_hf3fs", FunctionDescriptor.of(JAVA_BOOLEAN, JAVA_INT));
        export(own, "extractMountPoint", "hf3fs_extract_mount_point",
            FunctionDescriptor.of(JAVA_INT, TEXT, JAVA_INT, TEXT));
        export(own, "iovCreate", "hf3fs_iovcreate",
            FunctionDescriptor.of(JAVA_INT, IOV, TEXT, JAVA_LONG, JAVA_LONG, JAVA_INT));
        export(own, "iovOpen", "hf3fs_iovopen",
            FunctionDescriptor.of(JAVA_INT, IOV, TEXT, TEXT, JAVA_LONG, JAVA_LONG, JAVA_INT));
        export(own, "iovDestroy", "hf3fs_iovdestroy", FunctionDescriptor.ofVoid(IOV));
        export(own, "iorSize", "hf3fs_ior_size", FunctionDescriptor.of(JAVA_LONG, JAVA_INT));
        export(own, "iorCreate", "hf3fs_iorcreate4", FunctionDescriptor.of(JAVA_INT, IOR, TEXT, JAVA_INT,
            JAVA_BOOLEAN, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_LONG));
        export(own, "iorDestroy", "hf3fs_iordestroy", FunctionDescriptor.ofVoid(IOR));
        export(own, "regFd", "hf3fs_reg_fd", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_LONG));
        export(own, "deregFd", "hf3fs_dereg_fd", FunctionDescriptor.ofVoid(JAVA_INT));
        export(own, "ioEntries", "hf3fs_io_entries", FunctionDescriptor.of(JAVA_INT, IOR));
        export(own, "prepIo", "hf3fs_prep_io", FunctionDescriptor.of(JAVA_INT, IOR, IOV, JAVA_BOOLEAN, ADDRESS,
            JAVA_INT, JAVA_LONG, JAVA_LONG, ADDRESS));
        export(own, "submitIos", "hf3fs_submit_ios", FunctionDescriptor.of(JAVA_INT, IOR));
        export(own, "waitForIos", "hf3fs_wait_for_ios",
            FunctionDescriptor.of(JAVA_INT, IOR, TEXT, JAVA_INT, JAVA_INT, TEXT));
    }

    /** The owners over this. */
    public Usrbio usrbio() {
        return Usrbio.over(name -> Optional.ofNullable(functions.get(name)), clock);
    }

    /** A folder that is on this 3FS. */
    public Path mount() {
        return mount;
    }

    public UsrbioFaults faults() {
        return faults;
    }

    /** What would have crashed, hung or corrupted. */
    public synchronized List<String> problems() {
        return List.copyOf(problems);
    }

    /** What of shared memory, rings and files there is. */
    public synchronized int live() {
        return vectors.size() + rings.size() + files.size();
    }

    /** Names under which the client knows shared memory. */
    public List<String> links() {
        try (Stream<Path> all = Files.list(iovs)) {
            return all.map(one -> one.getFileName().toString()).toList();
        } catch (final IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Run by every thread that waits for entries, before it looks and without the lock. */
    public synchronized void onWait(final Runnable body) {
        onWait = body;
    }

    /** Time passes in which nobody waits. */
    public void pass(final long millis) {
        clock.advanceTo(clock.epochMillis() + millis);
    }

    /** From now on entries are begun when they are submitted, and not as soon as they are prepared. */
    public synchronized void beginOnlyWhenTold() {
        onlyWhenTold = true;
    }

    /** From now on entries are heard of that were lost. */
    public synchronized void hear() {
        rings.values().forEach(SimulatedRing::hear);
    }

    /** A completion of nothing that was prepared, in any ring, at its next wait. */
    public synchronized void stray(final long userData) {
        strays.add(userData);
    }

    /** From now on a file of shared memory has no room from so many bytes on. */
    public synchronized void withoutRoomBehind(final long bytes) {
        room = bytes;
    }

    /** Ends the simulation, also where things are left. */
    @Override
    public synchronized void close() {
        vectors.values().forEach(one -> one.arena().close());
        files.values().forEach(one -> one.file().close());
        stubs.close();
    }

    private void export(final MethodHandles.Lookup own, final String method, final String name,
        final FunctionDescriptor type) {
        try {
            final MethodHandle body = own.bind(this, method, type.toMethodType());
            functions.put(name, Linker.nativeLinker().upcallStub(body, type, stubs));
        } catch (final ReflectiveOperationException e) {
            throw new AssertionError(e);
        }
    }

    /** An exception that leaves an upcall ends the JVM. */
    private int guarded(final IntSupplier body) {
        try {
            return body.getAsInt();
        } catch (final Throwable e) {
            problem(e.toString());
            return -EIO;
        }
    }

    private synchronized void problem(final String text) {
        problems.add(text);
    }

    private boolean isHf3fs(final int fd) {
        return guarded(() -> target(fd).startsWith(mount) ? 1 : 0) == 1;
    }

    private static Path target(final int fd) {
        try {
            return Files.readSymbolicLink(Path.of("/proc/self/fd/" + fd));
        } catch (final IOException e) {
            return Path.of("none");
        }
    }

    private int extractMountPoint(final MemorySegment buffer, final int size, final MemorySegment path) {
        return guarded(() -> {
            final Path asked = Path.of(path.getString(0));
            if (!Files.exists(asked)) {
                throw new AssertionError("an exception of C++: no " + asked);
            }
            if (!asked.startsWith(mount)) {
                return -1;
            }
            final int length = mount.toString().getBytes(StandardCharsets.UTF_8).length;
            if (length < size) {
                buffer.setString(0, mount.toString());
            }
            return length + 1;
        });
    }

    private int iovCreate(final MemorySegment iov, final MemorySegment mountPoint, final long size,
        final long blockSize, final int numa) {
        return guarded(() -> {
            final Long told = faults.enter(Call.IOV_CREATE);
            return told != null ? told.intValue()
                : make(iov, mountPoint.getString(0), size, blockSize, numa, blockSize > 0 ? ".b" + blockSize : "");
        });
    }

    private synchronized int make(final MemorySegment iov, final String mountPoint, final long size,
        final long blockSize, final int numa, final String kind) {
        if (mountPoint.length() >= 256) {
            return -EINVAL;
        }
        if (size < 1 || blockSize < 0 || blockSize > size) {
            throw new AssertionError("an exception of C++ or SIGFPE: size " + size + ", block " + blockSize);
        }
        final UUID id = UUID.randomUUID();
        final Path shared = shm.resolve("hf3fs-iov-" + UUID.randomUUID());
        final Path link = Path.of(mountPoint, "3fs-virt/iovs", id + kind);
        try {
            Files.createSymbolicLink(link, shared);
        } catch (final NoSuchFileException e) {
            return -ENOENT;
        } catch (final IOException e) {
            throw new UncheckedIOException(e);
        }
        fill(iov, map(shared, size, true, link), id, mountPoint, size, blockSize);
        iov.set(JAVA_INT, IOV_NUMA, numa);
        return 0;
    }

    private long map(final Path shared, final long size, final boolean fresh, final Path link) {
        final Arena arena = Arena.ofShared();
        try (FileChannel channel = FileChannel.open(shared, StandardOpenOption.READ, StandardOpenOption.WRITE,
            fresh ? StandardOpenOption.CREATE_NEW : StandardOpenOption.CREATE)) {
            final MemorySegment memory = channel.map(FileChannel.MapMode.READ_WRITE, 0, size, arena);
            // Behind the end of its file a page cannot be had, as on a file system that is full.
            channel.truncate(Math.min(size, room));
            vectors.put(++nextHandle, new Iov(arena, memory, link, fresh ? shared : null));
            return nextHandle;
        } catch (final IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void fill(final MemorySegment iov, final long handle, final UUID id, final String mountPoint,
        final long size, final long blockSize) {
        iov.set(JAVA_LONG, 0, vectors.get(handle).memory().address());
        iov.set(JAVA_LONG, 8, handle);
        iov.asSlice(IOV_ID, 16).asByteBuffer().putLong(id.getMostSignificantBits())
            .putLong(id.getLeastSignificantBits());
        iov.setString(IOV_MOUNT, mountPoint);
        iov.set(JAVA_LONG, IOV_SIZE, size);
        iov.set(JAVA_LONG, IOV_BLOCK, blockSize);
    }

    private int iovOpen(final MemorySegment iov, final MemorySegment id, final MemorySegment mountPoint,
        final long size, final long blockSize, final int numa) {
        return guarded(() -> {
            synchronized (this) {
                final var bytes = id.asSlice(0, 16).asByteBuffer();
                final UUID name = new UUID(bytes.getLong(), bytes.getLong());
                final Path link = Path.of(mountPoint.getString(0), "3fs-virt/iovs",
                    name + (blockSize > 0 ? ".b" + blockSize : ""));
                if (!Files.exists(link)) {
                    return -ENOENT;
                }
                try {
                    if (Files.size(link) < size) {
                        throw new AssertionError("SIGBUS behind the end of " + link);
                    }
                    fill(iov, map(Files.readSymbolicLink(link), size, false, link), name, mountPoint.getString(0),
                        size, blockSize);
                } catch (final IOException e) {
                    throw new UncheckedIOException(e);
                }
                return 0;
            }
        });
    }

    private void iovDestroy(final MemorySegment iov) {
        guarded(() -> {
            synchronized (this) {
                final Iov one = vectors.remove(iov.get(JAVA_LONG, 8));
                if (rings.values().stream().anyMatch(ring -> ring.names(one.memory()))) {
                    problem("shared memory was destroyed under entries in flight");
                }
                destroy(one, one.link());
                return 0;
            }
        });
    }

    private static void destroy(final Iov one, final Path link) {
        try {
            Files.deleteIfExists(link);
            if (one.shared() != null) {
                Files.deleteIfExists(one.shared());
            }
        } catch (final IOException e) {
            throw new UncheckedIOException(e);
        }
        one.arena().close();
    }

    private long iorSize(final int entries) {
        return 16 + 32 + (long) (56 + 24 + 16) * (entries + 1) + 4096;
    }

    @SuppressWarnings("checkstyle:ParameterNumber") // The function of the library has that many.
    private int iorCreate(final MemorySegment ior, final MemorySegment mountPoint, final int entries,
        final boolean forRead, final int depth, final int timeout, final int numa, final long flags) {
        return guarded(() -> {
            final Long told = faults.enter(Call.IOR_CREATE);
            if (told != null) {
                return told.intValue();
            }
            if (entries < 1 || depth > entries || timeout < 0) {
                throw new AssertionError("a ring of " + entries + " entries, " + depth + " deep");
            }
            synchronized (this) {
                final String kind = "." + (forRead ? 'r' : 'w') + depth + ".t" + timeout
                    + (flags == 0 ? "" : ".f" + Long.toBinaryString(flags));
                final int made = make(ior.asSlice(0, 312), mountPoint.getString(0), iorSize(entries), 0, numa, kind);
                final Long late = faults.enter(Call.IOR_CREATE_LATE);
                if (made == 0 && late != null) {
                    // As the library does it: the name that it removes is that of memory that is no ring.
                    final Iov one = vectors.remove(ior.get(JAVA_LONG, 8));
                    destroy(one, one.link().resolveSibling("none"));
                    return late.intValue();
                }
                if (made == 0) {
                    rings.put(++nextHandle, new SimulatedRing(entries, forRead, depth, timeout));
                    ior.set(JAVA_LONG, IOR_HANDLE, nextHandle);
                    ior.setString(IOR_MOUNT, mountPoint.getString(0));
                    ior.set(JAVA_BYTE, IOR_FOR_READ, (byte) (forRead ? 1 : 0));
                    ior.set(JAVA_INT, 580, depth);
                    ior.set(JAVA_INT, 588, timeout);
                    ior.set(JAVA_LONG, 592, flags);
                }
                return made;
            }
        });
    }

    private void iorDestroy(final MemorySegment ior) {
        guarded(() -> {
            synchronized (this) {
                if (rings.remove(ior.get(JAVA_LONG, IOR_HANDLE)).begun() > 0) {
                    problem("a ring was destroyed with entries in flight");
                }
                final Iov one = vectors.remove(ior.get(JAVA_LONG, 8));
                final long flags = ior.get(JAVA_LONG, 592);
                final String name = one.link().getFileName().toString();
                // As the library does it: flags in decimal, where the name has them in binary.
                destroy(one, flags == 0 ? one.link()
                    : one.link().resolveSibling(name.substring(0, name.lastIndexOf('.')) + ".f" + flags));
                return 0;
            }
        });
    }

    private int regFd(final int fd, final long flags) {
        return guarded(() -> {
            final Long told = faults.enter(Call.REG_FD);
            if (told != null) {
                return told.intValue();
            }
            if (!isHf3fs(fd)) {
                return EBADF;
            }
            synchronized (this) {
                if (files.containsKey(fd)) {
                    return EINVAL;
                }
                files.put(fd, new Registered(SimulatedFile.ofDescriptor(fd), access(fd)));
                return fd == 1 ? 0 : -(fd + 100_000);
            }
        });
    }

    private static int access(final int fd) {
        try (Stream<String> lines = Files.lines(Path.of("/proc/self/fdinfo/" + fd))) {
            return lines.filter(line -> line.startsWith("flags:"))
                .mapToInt(line -> Integer.parseInt(line.substring(6).strip(), 8) & O_ACCMODE).findFirst().orElseThrow();
        } catch (final IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void deregFd(final int fd) {
        guarded(() -> {
            synchronized (this) {
                if (!isHf3fs(fd)) {
                    problem("descriptor " + fd + " was closed before it was deregistered");
                }
                files.remove(fd).file().close();
                return 0;
            }
        });
    }

    private synchronized int ioEntries(final MemorySegment ior) {
        return guarded(() -> (int) ((ior.get(JAVA_LONG, IOV_SIZE) - 4096 - 16 - 32) / (56 + 24 + 16)) - 1);
    }

    private int inRing(final MemorySegment ior, final ToIntFunction<SimulatedRing> body) {
        final SimulatedRing ring;
        synchronized (this) {
            ring = rings.get(ior.get(JAVA_LONG, IOR_HANDLE));
        }
        if (!ring.inside.compareAndSet(null, Thread.currentThread())) {
            problem("two threads in one ring");
        }
        try {
            return body.applyAsInt(ring);
        } finally {
            ring.inside.set(null);
        }
    }

    @SuppressWarnings("checkstyle:ParameterNumber") // The function of the library has that many.
    private int prepIo(final MemorySegment ior, final MemorySegment iov, final boolean read, final MemorySegment memory,
        final int fd, final long offset, final long length, final MemorySegment userData) {
        return guarded(() -> inRing(ior, ring -> {
            final Long told = faults.enter(Call.PREP);
            if (told != null) {
                return told.intValue();
            }
            synchronized (this) {
                final Iov vector = vectors.get(iov.get(JAVA_LONG, 8));
                final long at = memory.address() - vector.memory().address();
                if (read != ring.read || length <= 0 || at < 0 || at + length > vector.memory().byteSize()) {
                    return -EINVAL;
                }
                final long block = iov.get(JAVA_LONG, IOV_BLOCK);
                if (block > 0 && at / block != (at + length - 1) / block) {
                    throw new AssertionError("an entry over two blocks");
                }
                final Registered file = files.get(Math.abs(fd));
                if (file == null) {
                    return -EBADF;
                }
                if (read ? file.access() == 1 : file.access() == 0) {
                    return -EACCES;
                }
                if (ring.inFlight() == ring.entries) {
                    return -EAGAIN;
                }
                final MemorySegment part = vector.memory().asSlice(at, length);
                if (rings.values().stream().anyMatch(other -> other.names(part))) {
                    problem("two entries in flight share memory");
                }
                final int index = ring.inFlight();
                ring.add(SimulatedRing.Entry.of(index, userData.address(), read, part, file.file(), offset));
                if (!onlyWhenTold) {
                    ring.begin();
                }
                return index;
            }
        }));
    }

    private int submitIos(final MemorySegment ior) {
        return guarded(() -> inRing(ior, ring -> {
            final Long told = faults.enter(Call.SUBMIT);
            if (told != null) {
                return told.intValue();
            }
            synchronized (this) {
                ring.begin();
            }
            return 0;
        }));
    }

    private int waitForIos(final MemorySegment ior, final MemorySegment completions, final int count,
        final int minimum, final MemorySegment deadline) {
        return guarded(() -> inRing(ior, ring -> {
            final Runnable held;
            synchronized (this) {
                held = onWait;
            }
            held.run();
            final Long told = faults.enter(Call.WAIT);
            if (told != null) {
                return told.intValue();
            }
            if (deadline.address() == 0) {
                throw new AssertionError("a wait without a time limit");
            }
            final MemorySegment events = completions.reinterpret(count * CQE_BYTES);
            synchronized (this) {
                int filled = 0;
                while (!strays.isEmpty() && filled < count) {
                    complete(events, filled++, -1, 1, strays.removeFirst());
                }
                int most = ring.hasRunning() ? filled + faults.atOnce(ring.running()) : filled;
                while (ring.hasRunning() && filled < Math.min(count, most)) {
                    final SimulatedRing.Ended ended = ring.endNext(faults);
                    if (ended == null) {
                        continue;
                    }
                    complete(events, filled++, ended.entry().index(), ended.result(), ended.entry().userData());
                    if (filled < minimum && most < count) {
                        most++;
                    }
                }
                if (filled < minimum) {
                    clock.advanceTo(deadline.get(JAVA_LONG, 0) * 1000 + deadline.get(JAVA_LONG, 8) / 1_000_000);
                }
                return filled;
            }
        }));
    }

    private static void complete(final MemorySegment events, final int i, final int index, final long result,
        final long userData) {
        events.set(JAVA_INT, i * CQE_BYTES, index);
        events.set(ValueLayout.JAVA_LONG, i * CQE_BYTES + 8, result);
        events.set(ValueLayout.JAVA_LONG, i * CQE_BYTES + 16, userData);
    }
}
