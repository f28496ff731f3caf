package io.kvtier.store.cli;

import io.kvtier.bindings.Availability;
import io.kvtier.bindings.cufile.CuFileMode;
import io.kvtier.bindings.cufile.PoolSlabs;
import io.kvtier.store.Store;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import picocli.CommandLine;

/** A machine of a few files, and answers of its native side; healthy, without a GPU, until a test changes it. */
final class MadeUpMachine implements Probes {
    static final String GOOD_LIMITS = """
        Limit                     Soft Limit           Hard Limit           Units
        Max open files            20000                20000                files
        Max locked memory         unlimited            unlimited            bytes
        """;

    List<String> missingFlags = List.of();
    Availability uring = Availability.yes("io_uring works");
    Volume volume = new Volume("ext4", "/dev/nvme0n1p1", 259, 1, 100L << 30);
    DirectIo directIo = new DirectIo(Availability.yes("O_DIRECT works"), 512);
    Graphics graphics = new Graphics(Availability.no("no libcuda.so.1", "install NVIDIA's driver"), List.of());
    GpuFiles gpuFiles = GpuFiles.untried(Availability.no("no libcufile.so.0 could be loaded", "install libcufile"));
    StoreOpener opener = Store::open;
    final Map<String, String> environment = new HashMap<>();
    private final Path root;

    MadeUpMachine(final Path root) {
        this.root = root;
        file("/proc/sys/kernel/osrelease", "6.18.4-generic\n");
        file("/proc/self/limits", GOOD_LIMITS);
        file("/proc/self/cmdline", "java\0--sun-misc-unsafe-memory-access=allow\0-jar\0kvtier.jar");
        file("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
        file("/proc/sys/vm/nr_hugepages", "0\n");
        file("/sys/devices/system/node/node0/cpulist", "0-15\n");
        file("/run/udev/data/b259:1", "S:disk/by-id/x\nE:ID_FS_TYPE=ext4\nE:ID_FS_USAGE=filesystem\n");
    }

    /** A machine that cuFile works on, in compatibility mode and with the library's own pool. */
    MadeUpMachine withGpu() {
        file("/proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.03\n");
        graphics = new Graphics(Availability.yes("CUDA 13.0, 1 device"), List.of("NVIDIA H200, 139.8 GiB"));
        gpuFiles = gpuFiles(CuFileMode.COMPATIBILITY, "", 0);
        return this;
    }

    static GpuFiles gpuFiles(final CuFileMode mode, final String failure, final int code) {
        return new GpuFiles(Availability.yes("libcufile.so.0, version 1.15"), mode, failure, code,
            List.of(new PoolSlabs(4, 128), new PoolSlabs(1024, 64), new PoolSlabs(16384, 64)));
    }

    MadeUpMachine file(final String path, final String text) {
        try {
            final Path file = machine().at(path);
            Files.createDirectories(file.getParent());
            Files.writeString(file, text);
            return this;
        } catch (final IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    MadeUpMachine without(final String path) {
        try {
            Files.delete(machine().at(path));
            return this;
        } catch (final IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    Machine machine() {
        return new Machine(root, environment);
    }

    CommandRun doctor(final String... arguments) {
        return CommandRun.of(console -> new CommandLine(new DoctorCommand(console, opener, machine(), this))
            .setOut(new PrintWriter(console.out(), true)).setErr(new PrintWriter(console.err(), true))
            .execute(arguments));
    }

    /** The findings of a run with {@code --json}, read back. */
    static Map<String, Finding> findings(final CommandRun run) {
        final Map<String, Object> json = run.json();
        final Map<String, Finding> findings = new HashMap<>();
        for (int i = 0; json.containsKey("findings." + i + ".name"); i++) {
            final String prefix = "findings." + i + '.';
            final String name = (String) json.get(prefix + "name");
            final Finding.State state = Finding.State.valueOf(((String) json.get(prefix + "state")).toUpperCase(
                Locale.ROOT));
            findings.put(name, new Finding(name, state, (String) json.get(prefix + "found"),
                (String) json.get(prefix + "remedy")));
        }
        return findings;
    }

    @Override
    public List<String> missingFlags() {
        return missingFlags;
    }

    @Override
    public Availability uring() {
        return uring;
    }

    @Override
    public Volume volume(final Path directory) throws IOException {
        if (volume == null) {
            throw new IOException("mount table unreadable");
        }
        return volume;
    }

    @Override
    public DirectIo directIo(final Path directory) {
        return directIo;
    }

    @Override
    public Graphics graphics() {
        return graphics;
    }

    @Override
    public GpuFiles gpuFiles(final Path directory) {
        return gpuFiles;
    }
}
