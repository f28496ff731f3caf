package io.kvtier.store.cli;

import io.kvtier.bindings.cufile.CuFileMode;
import io.kvtier.bindings.cufile.PoolSlabs;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

/** cuFile: the library, its settings, the way that data takes, and what stands in the way of the direct one. */
final class CuFileChecks {
    /** Names the settings file; a variable of cuFile itself. */
    static final String SETTINGS_VARIABLE = "CUFILE_ENV_PATH_JSON";
    /** Entries of one batch: the default of {@code io_batchsize}, and the most that the library takes. */
    static final int BATCH_DEPTH = 128;

    private static final List<String> USUAL_PLACES = List.of("/etc/cufile.json", "/usr/local/cuda/gds/cufile.json");
    /** What the bindings say when the loader finds no library of any of its names. */
    private static final String NOT_FOUND = "could be loaded";
    private static final String TOOLKITS = "/usr/local";
    private static final String SLAB_KB = "properties.posix_pool_slab_size_kb";
    private static final String SLAB_COUNT = "properties.posix_pool_slab_count";
    private static final String DEPTH = "properties.io_batchsize";
    /** What libcufile 1.15 uses where its settings say nothing. */
    private static final List<Long> DEFAULT_KB = List.of(4L, 1024L, 16384L);
    private static final List<Long> DEFAULT_COUNT = List.of(128L, 64L, 64L);
    /** What registering a file gives where udev does not know the file system. */
    private static final int NO_UDEV_ENTRY = 5027;
    private static final String UDEV_CURE = "mount the host's /run/udev into the container (read-only will do); on a"
        + " machine without udev, write it by hand: mkdir -p /run/udev/data; ";

    private final Machine machine;
    private final Probes.Volume volume;
    private final Probes.GpuFiles gpuFiles;
    private final Finding settingsFinding;
    private CuFileSettings settings = CuFileSettings.NONE;
    private boolean settingsFound;

    /**
     * Reads the settings.
     *
     * @param machine  the machine.
     * @param volume   what the directory is on; null when it cannot be told.
     * @param gpuFiles what the trial gave.
     */
    CuFileChecks(final Machine machine, final Probes.Volume volume, final Probes.GpuFiles gpuFiles) {
        this.machine = machine;
        this.volume = volume;
        this.gpuFiles = gpuFiles;
        this.settingsFinding = readSettings();
    }

    List<Finding> findings() {
        return List.of(library(), settingsFinding, mode(), udev(), pool());
    }

    private boolean here() {
        return gpuFiles.library().available();
    }

    private Finding library() {
        final Finding finding = Finding.of("libcufile", gpuFiles.library());
        if (here()) {
            return finding;
        }
        return folder().filter(one -> finding.found().contains(NOT_FOUND))
            .map(folder -> Finding.broken(finding.name(), finding.found() + ", though " + folder + " has one",
                "start the JVM with LD_LIBRARY_PATH=" + folder + ", or add that to /etc/ld.so.conf.d and run ldconfig;"
                    + " otherwise: " + finding.remedy()))
            .orElse(finding);
    }

    /** Where CUDA's installer puts the library, which is not on the loader's path of itself. */
    private Optional<String> folder() {
        return machine.names(TOOLKITS).stream().filter(one -> one.startsWith("cuda"))
            .flatMap(one -> machine.names(TOOLKITS + '/' + one + "/targets").stream()
                .map(target -> TOOLKITS + '/' + one + "/targets/" + target + "/lib"))
            .filter(one -> machine.exists(one + "/libcufile.so.0")).reduce((first, last) -> last);
    }

    private Finding readSettings() {
        final String name = "cufile_json";
        final String named = machine.variable(SETTINGS_VARIABLE);
        final String path = named.isEmpty()
            ? USUAL_PLACES.stream().filter(machine::exists).findFirst().orElse("") : named;
        if (path.isEmpty()) {
            return Finding.absent(name, "no " + String.join(" and no ", USUAL_PLACES)
                + "; cuFile uses its own defaults", "nothing has to be done; " + SETTINGS_VARIABLE
                + " names a file to change them");
        }
        final Path file = named.isEmpty() || path.startsWith("/") ? machine.at(path) : Path.of(path);
        final String origin = named.isEmpty() ? "" : " (named by " + SETTINGS_VARIABLE + ')';
        if (!Files.isRegularFile(file)) {
            return Finding.broken(name, path + origin + " is not a file", "correct " + SETTINGS_VARIABLE
                + " or unset it");
        }
        try (InputStream text = Files.newInputStream(file)) {
            settings = CuFileSettings.read(text);
            settingsFound = true;
            return Finding.ok(name, path + origin);
        } catch (final IOException e) {
            return Finding.broken(name, path + origin + " cannot be read: " + firstLine(e.getMessage()),
                "correct it; it is JSON with // comments");
        }
    }

    private static String firstLine(final String text) {
        return text == null ? "" : text.lines().findFirst().orElse("");
    }

    private Finding mode() {
        final String name = "gds_mode";
        if (!here()) {
            return Finding.absent(name, "no GPUDirect Storage without cuFile: " + gpuFiles.library().reason(),
                gpuFiles.library().remedy());
        } else if (!gpuFiles.failure().isEmpty()) {
            return Finding.broken(name, "reading a file into GPU memory failed: " + gpuFiles.failure(),
                gpuFiles.code() == NO_UDEV_ENTRY ? udevCure() : "see what cuFile says of it;"
                    + " kvtier goes through host memory meanwhile");
        } else if (gpuFiles.mode().direct()) {
            return Finding.ok(name, "direct, " + (gpuFiles.mode() == CuFileMode.NVIDIA_FS ? "through nvidia-fs"
                : "through the kernel's PCI peer-to-peer DMA") + ": seen in cuFile's own counts");
        }
        final List<String> reasons = obstacles();
        return Finding.limited(name, (gpuFiles.mode() == CuFileMode.COMPATIBILITY
            ? "compatibility mode: data goes through host memory" : "not known which way data takes")
            + (reasons.isEmpty() ? "" : ": " + String.join("; ", reasons)),
            "for the direct way: an ext4 or XFS file system on NVMe, and the nvidia-fs module (modprobe nvidia-fs) or"
                + " use_pci_p2pdma in cufile.json; compatibility mode works meanwhile");
    }

    /** What is known to keep cuFile from the direct way. */
    private List<String> obstacles() {
        final List<String> reasons = new ArrayList<>();
        if (!machine.exists("/proc/driver/nvidia-fs/version")) {
            reasons.add("the module nvidia-fs is not loaded");
        }
        if (!settings.on("properties.use_pci_p2pdma") && !isTrue("CUFILE_USE_PCIP2PDMA")) {
            reasons.add("use_pci_p2pdma is not on");
        }
        if (settings.on("properties.force_compat_mode") || isTrue("CUFILE_FORCE_COMPAT_MODE")) {
            reasons.add("force_compat_mode is on");
        }
        if (volume != null && !DirectoryChecks.KNOWN.contains(volume.type())) {
            reasons.add("the file system is " + volume.type());
        }
        if (volume != null && !volume.source().startsWith("/dev/nvme")) {
            reasons.add("the disk (" + volume.source() + ") is not NVMe");
        }
        return reasons;
    }

    private boolean isTrue(final String variable) {
        return machine.variable(variable).equalsIgnoreCase("true") || machine.variable(variable).equals("1");
    }

    Finding udev() {
        final String name = "udev";
        if (volume == null || volume.major() == 0) {
            return Finding.absent(name, (volume == null ? "it is not known which device the directory is on"
                : volume.type() + " has no block device of its own") + ", so udev cannot tell cuFile about it",
                "for GPU files, name a directory on a local ext4 or XFS disk with --dir");
        }
        final String text = machine.text(entry());
        if (text.lines().anyMatch("E:ID_FS_USAGE=filesystem"::equals)) {
            return Finding.ok(name, entry() + " describes the file system");
        }
        final String found = (text.isEmpty() ? "no " + entry() : entry() + " does not say ID_FS_USAGE")
            + ": cuFile refuses files there with error " + NO_UDEV_ENTRY + " (udev property not found: ID_FS_USAGE)";
        return here() ? Finding.broken(name, found, udevCure()) : Finding.limited(name, found
            + "; of no account without cuFile", udevCure());
    }

    private String entry() {
        return "/run/udev/data/b" + volume.major() + ':' + volume.minor();
    }

    private String udevCure() {
        return volume == null || volume.major() == 0 ? "name a directory on a local ext4 or XFS disk with --dir"
            : UDEV_CURE + "printf 'E:ID_FS_USAGE=filesystem\\nE:ID_FS_TYPE=" + volume.type() + "\\n' > " + entry();
    }

    Finding pool() {
        final String name = "posix_pool";
        if (!here() && !settingsFound) {
            return Finding.absent(name, "no cuFile and no settings of it, so no pool to look at", "");
        } else if (gpuFiles.mode().direct()) {
            return Finding.ok(name, "not used by direct transfers");
        }
        final List<PoolSlabs> pool;
        try {
            pool = gpuFiles.pool().isEmpty() ? configuredPool() : gpuFiles.pool();
        } catch (final IllegalArgumentException e) {
            return Finding.broken(name, e.getMessage(), "correct " + SLAB_KB + " and " + SLAB_COUNT
                + ": as many counts as sizes, all above 0");
        }
        final String shown = pool.stream().map(one -> one.count() + " buffers of " + one.slabKb() + " KiB")
            .collect(Collectors.joining(", "));
        final List<PoolSlabs> scarce = pool.stream().filter(one -> one.count() < BATCH_DEPTH).toList();
        final long depth = settings.number(DEPTH).orElse(BATCH_DEPTH);
        if (!scarce.isEmpty()) {
            return Finding.limited(name, shown + ": a batch of more than " + scarce.getFirst().count()
                + " entries of up to " + scarce.getFirst().slabKb() + " KiB never returns from its submission in"
                + " compatibility mode", "for other programs, set posix_pool_slab_count in cufile.json to "
                + enough(pool) + ", which takes up to " + hostMemory(pool) + " of host memory; kvtier sizes the pool"
                + " itself where it opens the driver first, and never submits more entries than there are buffers");
        } else if (depth < BATCH_DEPTH) {
            return Finding.limited(name, shown + ", but io_batchsize is " + depth, "set io_batchsize in cufile.json to "
                + BATCH_DEPTH);
        }
        return Finding.ok(name, shown + ": enough for batches of " + BATCH_DEPTH);
    }

    private List<PoolSlabs> configuredPool() {
        final List<Long> sizes = settings.values().containsKey(SLAB_KB) ? settings.numbers(SLAB_KB) : DEFAULT_KB;
        final List<Long> counts = settings.values().containsKey(SLAB_COUNT) ? settings.numbers(SLAB_COUNT)
            : DEFAULT_COUNT;
        if (sizes.isEmpty() || sizes.size() != counts.size()) {
            throw new IllegalArgumentException("the pool has " + sizes.size() + " usable sizes and " + counts.size()
                + " usable counts");
        }
        final List<PoolSlabs> pool = new ArrayList<>();
        for (int i = 0; i < sizes.size(); i++) {
            pool.add(new PoolSlabs(sizes.get(i), counts.get(i)));
        }
        return pool;
    }

    private static String hostMemory(final List<PoolSlabs> pool) {
        return ByteSize.shown(pool.stream()
            .mapToLong(one -> one.slabBytes() * Math.max(one.count(), BATCH_DEPTH)).sum());
    }

    private static String enough(final List<PoolSlabs> pool) {
        return pool.stream().map(one -> Long.toString(Math.max(one.count(), BATCH_DEPTH)))
            .collect(Collectors.joining(", ", "[", "]"));
    }
}
