package io.kvtier.store.cli;

import io.kvtier.bindings.Availability;
import io.kvtier.bindings.cufile.CuFileMode;
import io.kvtier.bindings.cufile.PoolSlabs;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;

/** What the doctor finds out by trying rather than by reading; a test answers in its place. */
interface Probes {
    /**
     * The flags that this JVM lacks.
     *
     * @return each as it has to stand on the command line.
     */
    List<String> missingFlags();

    /**
     * Whether rings can be opened.
     *
     * @return with reason and remedy.
     */
    Availability uring();

    /**
     * Which disk a directory is on.
     *
     * @param directory one that exists.
     * @return the file system there.
     * @throws IOException when the system does not say.
     */
    Volume volume(Path directory) throws IOException;

    /**
     * Writes to a file in a directory past the page cache.
     *
     * @param directory one that can be written to.
     * @return what came of it.
     */
    DirectIo directIo(Path directory);

    /**
     * Loads and initialises the CUDA driver.
     *
     * @return what it says.
     */
    Graphics graphics();

    /**
     * Loads cuFile and, if there is a GPU, reads a file in a directory into its memory.
     *
     * @param directory where; null when it cannot be written to, and then only the library is loaded.
     * @return what came of it.
     */
    GpuFiles gpuFiles(Path directory);

    /**
     * A file system.
     *
     * @param type      as the kernel names it.
     * @param source    what is mounted.
     * @param major     major number of its device, 0 when it has none of its own.
     * @param minor     minor number.
     * @param freeBytes what this process may still fill.
     */
    record Volume(String type, String source, int major, int minor, long freeBytes) {
    }

    /**
     * Direct I/O on a file system.
     *
     * @param available whether a block was written, with reason and remedy.
     * @param alignment bytes that offsets and lengths must be a multiple of; 0 when not available.
     */
    record DirectIo(Availability available, int alignment) {
    }

    /**
     * The GPUs.
     *
     * @param cuda    whether there is a driver with devices.
     * @param devices one description a device.
     */
    record Graphics(Availability cuda, List<String> devices) {
    }

    /**
     * cuFile.
     *
     * @param library whether it can be used, and its version.
     * @param mode    the way that the data of the trial took.
     * @param failure why the trial failed; empty when it did not, or was not made.
     * @param code    cuFile's number for that; 0 for none.
     * @param pool    buffers of compatibility mode in force; empty when the library was not asked.
     */
    record GpuFiles(Availability library, CuFileMode mode, String failure, int code, List<PoolSlabs> pool) {
        /** There is no library, or it was not tried. */
        static GpuFiles untried(final Availability library) {
            return new GpuFiles(library, library.available() ? CuFileMode.UNKNOWN : CuFileMode.ABSENT, "", 0,
                List.of());
        }
    }
}
