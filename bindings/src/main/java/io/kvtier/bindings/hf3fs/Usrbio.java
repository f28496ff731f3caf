package io.kvtier.bindings.hf3fs;

import io.kvtier.bindings.Availability;
import io.kvtier.bindings.NativeLibrary;
import io.kvtier.bindings.posix.PosixFile;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.LongAdder;

/**
 * The USRBIO library of 3FS in this process: whether it is there, and what it says of paths and files. Everything else
 * is made with it.
 *
 * <p>The library is loaded once and stays loaded. Loading it starts its logging ({@code HF3FS_USRBIO_LIB_LOG} in the
 * environment, WARN where unset) and makes a table with a place for every descriptor up to the <b>hard</b> limit on
 * open files: where that is about a billion, as in many containers, this takes gigabytes, and where it is unlimited the
 * process ends. So the limit is looked at first.
 *
 * <p><b>Threading:</b> thread-safe. <b>Blocking:</b> the first question loads the library; questions about a path or a
 * file are answered by the file system.
 */
public final class Usrbio {
    /** What is looked for. There are no packages of it: it is built with 3FS. */
    static final List<String> LIBRARY_NAMES = List.of("libhf3fs_api_shared.so");
    /** Most places of the library's table that are accepted, of 8 bytes each. */
    static final long MAX_HARD_FILE_LIMIT = 1L << 24;
    static final String REMEDY = "build libhf3fs_api_shared.so with 3FS (CMake target hf3fs_api_shared) and put it on"
        + " the loader's path (LD_LIBRARY_PATH)";

    private static final Path LIMITS = Path.of("/proc/self/limits");
    private static final Path MOUNTS = Path.of("/proc/self/mountinfo");
    private static final String OPEN_FILES = "Max open files";
    private static final LongAdder ABANDONED = new LongAdder();

    /** Set once, by whoever asks first. */
    private static final class Probe {
        static final Usrbio SHARED;
        static final Availability AVAILABILITY;

        static {
            Usrbio shared = null;
            Availability found = mayLoad(text(LIMITS).lines().toList());
            if (found.available()) {
                final NativeLibrary library = NativeLibrary.find(LIBRARY_NAMES, UsrbioFunctions.SYMBOLS, REMEDY);
                found = library.availability();
                if (found.available()) {
                    try {
                        shared = over(library.symbols(), UsrbioClock.SYSTEM);
                    } catch (final RuntimeException | LinkageError e) {
                        found = Availability.no(library.name() + " could not be linked: " + e, REMEDY);
                    }
                }
            }
            SHARED = shared;
            AVAILABILITY = found;
        }
    }

    private final UsrbioFunctions functions;
    private final UsrbioClock clock;

    private Usrbio(final UsrbioFunctions functions, final UsrbioClock clock) {
        this.functions = functions;
        this.clock = clock;
    }

    /**
     * Whether the library can be used. That a path is on 3FS is another matter ({@link #mountPoint}).
     *
     * @return the answer of the first probe, with reason and remedy.
     */
    public static Availability availability() {
        return Probe.AVAILABILITY;
    }

    /**
     * The library of this process.
     *
     * @return the one.
     * @throws IllegalStateException when it is not available.
     */
    public static Usrbio system() {
        if (Probe.SHARED == null) {
            throw new IllegalStateException("USRBIO is not available: " + Probe.AVAILABILITY.reason() + "; "
                + Probe.AVAILABILITY.remedy());
        }
        return Probe.SHARED;
    }

    /**
     * USRBIO over other functions of the same names and types, for tests.
     *
     * @param functions where they are; must stay valid as long as anything made with this.
     * @param clock     what waits go by.
     * @return the library.
     */
    public static Usrbio over(final SymbolLookup functions, final UsrbioClock clock) {
        return new Usrbio(new UsrbioFunctions(functions), clock);
    }

    /**
     * Rings that were closed while nothing was heard of some of their entries, so that they were left as they are with
     * the memory and files of these, since the process started.
     *
     * @return how many; more than 0 means that some client of 3FS does not answer.
     */
    public static long abandonedRings() {
        return ABANDONED.sum();
    }

    /**
     * Where the 3FS is mounted that a path is on. Ask once, for the root of what is to be used: the library ends the
     * process where a path vanishes while it looks at it. What is not there is refused before.
     *
     * @param path a file or directory that exists.
     * @return the mount point; empty when the path is on no 3FS, or its client offers no USRBIO ({@code 3fs-virt}).
     * @throws IOException when there is no such path, or the mounts cannot be read.
     */
    public Optional<String> mountPoint(final Path path) throws IOException {
        final Path real = path.toRealPath();
        if (!Files.isReadable(MOUNTS)) {
            throw new IOException(MOUNTS + " cannot be read; without it the library would end the process");
        }
        try (Arena arena = Arena.ofConfined()) {
            final MemorySegment buffer = arena.allocate(UsrbioLayout.MOUNT_POINT_BYTES);
            final int length = functions.extractMountPoint(buffer, UsrbioLayout.MOUNT_POINT_BYTES,
                arena.allocateFrom(real.toString()));
            if (length < 0) {
                return Optional.empty();
            }
            if (length > UsrbioLayout.MOUNT_POINT_BYTES) {
                throw new IOException("the mount point of " + real + " has " + (length - 1) + " bytes; USRBIO takes "
                    + (UsrbioLayout.MOUNT_POINT_BYTES - 1) + " at most: mount it at a shorter path");
            }
            return Optional.of(buffer.getString(0));
        }
    }

    /**
     * Whether a file is on 3FS.
     *
     * @param file an open file.
     * @return false also when its client does not answer.
     */
    public boolean isHf3fs(final PosixFile file) {
        final int fd = file.acquireDescriptor();
        try {
            return functions.isHf3fs(fd);
        } finally {
            file.releaseDescriptor();
        }
    }

    UsrbioFunctions functions() {
        return functions;
    }

    UsrbioClock clock() {
        return clock;
    }

    static void countAbandoned() {
        ABANDONED.increment();
    }

    /** Refuses a text that the library would copy past the end of its field, or not know what to do with. */
    static String checkMountPoint(final String mountPoint) {
        final int bytes = mountPoint.getBytes(StandardCharsets.UTF_8).length;
        if (bytes == 0 || bytes >= UsrbioLayout.MOUNT_POINT_BYTES || mountPoint.indexOf(0) >= 0) {
            throw new IllegalArgumentException("a mount point has 1 to " + (UsrbioLayout.MOUNT_POINT_BYTES - 1)
                + " bytes and no NUL, unlike '" + mountPoint.replace("\0", "\\0") + "' of " + bytes);
        }
        return mountPoint;
    }

    /** Whether the library may be loaded under these limits of the process. */
    static Availability mayLoad(final List<String> limits) {
        for (final String line : limits) {
            if (line.startsWith(OPEN_FILES)) {
                final String hard = line.substring(OPEN_FILES.length()).strip().split("\\s+")[1];
                if (hard.equals("unlimited") || Long.parseLong(hard) > MAX_HARD_FILE_LIMIT) {
                    return Availability.no("libhf3fs_api_shared.so was not looked for: the hard limit on open files is "
                        + hard + ", and for each of them it takes 8 bytes when it is loaded",
                        "start the process with a hard limit of at most " + MAX_HARD_FILE_LIMIT
                            + " (ulimit -Hn 1048576, LimitNOFILE=, or --ulimit nofile= of a container)");
                }
                return Availability.yes(hard);
            }
        }
        return Availability.no("libhf3fs_api_shared.so was not looked for: the limit on open files is not known ("
            + LIMITS + "), and where it is very high loading the library ends the process", "run on Linux with /proc");
    }

    private static String text(final Path path) {
        try {
            return Files.readString(path);
        } catch (final IOException e) {
            return "";
        }
    }
}
