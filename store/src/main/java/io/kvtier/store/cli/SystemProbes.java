package io.kvtier.store.cli;

import io.kvtier.bindings.Availability;
import io.kvtier.bindings.NativeAccess;
import io.kvtier.bindings.cuda.Cuda;
import io.kvtier.bindings.cuda.CudaDevice;
import io.kvtier.bindings.posix.Errno;
import io.kvtier.bindings.posix.ErrnoException;
import io.kvtier.bindings.posix.OpenMode;
import io.kvtier.bindings.posix.PosixFile;
import io.kvtier.bindings.uring.Uring;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.file.FileStore;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.function.Supplier;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * Tries things out on this machine. Native code is called only when the JVM was told to allow it: without the flag it
 * would print a warning or throw, and saying which flag is missing is the doctor's first duty. A library that fails in
 * any way is an answer, never the end of the command: cuFile, which was seen to crash, is tried in another process.
 *
 * <p><b>Threading:</b> one thread. <b>Blocking:</b> the first look at a GPU takes seconds.
 */
final class SystemProbes implements Probes {
    private static final int TRIAL_BYTES = 1 << 20;

    SystemProbes() {
    }

    /** What is tried with a file. */
    private interface Trial<T> {
        T on(Path file) throws IOException;
    }

    @Override
    public List<String> missingFlags() {
        return NativeAccess.missingFlags(UnsafeBuffer.class);
    }

    @Override
    public Availability uring() {
        return asked("io_uring", Uring::availability);
    }

    @Override
    public Volume volume(final Path directory) throws IOException {
        final FileStore store = Files.getFileStore(directory);
        final long device = ((Number) Files.getAttribute(directory, "unix:dev")).longValue();
        return new Volume(store.type(), store.name(), major(device), minor(device), store.getUsableSpace());
    }

    /** As {@code gnu_dev_major} of sys/sysmacros.h. */
    static int major(final long device) {
        return (int) (device >>> 8 & 0xfff | device >>> 32 & 0xfffff000L);
    }

    /** As {@code gnu_dev_minor} of sys/sysmacros.h. */
    static int minor(final long device) {
        return (int) (device & 0xff | device >>> 12 & 0xffffff00L);
    }

    @Override
    public DirectIo directIo(final Path directory) {
        final Availability allowed = nativeAccess("direct I/O");
        if (!allowed.available()) {
            return new DirectIo(allowed, 0);
        }
        try {
            return withFile(directory, SystemProbes::writeDirectly);
        } catch (final ErrnoException e) {
            final boolean refused = e.errno() == Errno.EINVAL || e.errno() == Errno.EOPNOTSUPP;
            return new DirectIo(Availability.no(refused ? "the file system takes no O_DIRECT (" + e.getMessage() + ")"
                : e.getMessage(), "name a directory on ext4 or XFS; until then the SSD tier goes through the page"
                + " cache, which costs memory and copies"), 0);
        } catch (final IOException | RuntimeException e) {
            return new DirectIo(Availability.no("not tried: " + e, "name a directory that can be written to"), 0);
        }
    }

    private static DirectIo writeDirectly(final Path path) {
        try (PosixFile file = PosixFile.open(path.toString(), OpenMode.READ_WRITE_DIRECT);
            Arena arena = Arena.ofConfined()) {
            final int alignment = file.alignment();
            final int memory = Math.max(alignment, file.status().memoryAlignment());
            final long written = file.write(arena.allocate(alignment, memory), 0);
            return new DirectIo(Availability.yes("O_DIRECT works, " + written + " bytes written at once"), alignment);
        }
    }

    @Override
    public Graphics graphics() {
        final Availability cuda = asked("libcuda", Cuda::availability);
        if (!cuda.available()) {
            return new Graphics(cuda, List.of());
        }
        try {
            return new Graphics(cuda, Cuda.devices().stream().map(SystemProbes::described).toList());
        } catch (final RuntimeException | LinkageError e) {
            return new Graphics(Availability.no("the GPUs cannot be listed: " + e.getMessage(), cuda.remedy()),
                List.of());
        }
    }

    private static String described(final CudaDevice device) {
        return device.name() + ", " + ByteSize.shown(device.totalBytes()) + ", PCI " + device.pciAddress();
    }

    @Override
    public GpuFiles gpuFiles(final Path directory) {
        // The library may end its process: it is loaded in another one.
        final Availability allowed = nativeAccess("libcufile");
        return allowed.available() ? TrialProcess.likeThis().run(directory) : GpuFiles.untried(allowed);
    }

    private static <T> T withFile(final Path directory, final Trial<T> trial) throws IOException {
        final Path file = Files.createTempFile(directory, ".kvtier-doctor-", "");
        try {
            Files.write(file, new byte[TRIAL_BYTES]);
            return trial.on(file);
        } finally {
            Files.deleteIfExists(file);
        }
    }

    private static Availability asked(final String what, final Supplier<Availability> question) {
        final Availability allowed = nativeAccess(what);
        if (!allowed.available()) {
            return allowed;
        }
        try {
            return question.get();
        } catch (final RuntimeException | LinkageError e) {
            return Availability.no(what + " cannot be asked: " + e, "");
        }
    }

    private static Availability nativeAccess(final String what) {
        final List<String> missing = NativeAccess.missingFlags(null);
        return missing.isEmpty() ? Availability.yes("") : Availability.no(what
            + " was not tried: this JVM was not told to allow native calls", "add to the java command line: "
            + String.join(" ", missing));
    }
}
