package io.kvtier.store.cli;

import io.kvtier.bindings.Availability;
import io.kvtier.bindings.NativeException;
import io.kvtier.bindings.cuda.Cuda;
import io.kvtier.bindings.cuda.CudaContext;
import io.kvtier.bindings.cuda.DeviceMemory;
import io.kvtier.bindings.cufile.CuFile;
import io.kvtier.bindings.cufile.CuFileBuffer;
import io.kvtier.bindings.cufile.CuFileConfig;
import io.kvtier.bindings.cufile.CuFileDriver;
import io.kvtier.bindings.cufile.CuFileException;
import io.kvtier.bindings.cufile.CuFileHandle;
import io.kvtier.bindings.posix.OpenMode;
import io.kvtier.bindings.posix.PosixFile;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;

/**
 * The doctor's trial of cuFile, a program of its own: a library that ends its process ends this one and not the
 * doctor's. What was found out is printed at once, so that it is known how far the trial came. {@link TrialProcess}
 * starts it and reads what it prints.
 *
 * <p><b>Threading:</b> one thread. <b>Blocking:</b> seconds, or for ever in the library.
 */
public final class CuFileTrial {
    /** What each line that is meant for the doctor starts with; the library prints too. */
    static final String PREFIX = "kvtier-trial ";
    static final String REASON = "reason";
    static final String REMEDY = "remedy";
    static final String LIBRARY = "library";
    static final String POOL = "pool";
    static final String MODE = "mode";
    static final String CODE = "code";
    static final String FAILURE = "failure";
    static final String YES = "yes";

    private static final int TRIAL_BYTES = 1 << 20;
    /** The level whose counts tell which way data takes; the driver is closed again, as it has to be with them. */
    private static final int COUNT_BY_PATH = 3;
    private static final CuFileConfig AS_CONFIGURED = new CuFileConfig(List.of(),
        CuFileConfig.Compatibility.AS_CONFIGURED, COUNT_BY_PATH);

    private final PrintStream out;

    private CuFileTrial(final PrintStream out) {
        this.out = out;
    }

    /**
     * Loads the library and, given a directory, reads a file in it into the memory of the first GPU.
     *
     * @param arguments nothing, or a directory that can be written to.
     */
    public static void main(final String[] arguments) {
        final CuFileTrial trial = new CuFileTrial(System.out);
        final Availability library = CuFile.availability();
        trial.say(REASON, library.reason());
        trial.say(REMEDY, library.remedy());
        trial.say(LIBRARY, library.available() ? YES : "no");
        if (library.available() && arguments.length > 0) {
            trial.run(Path.of(arguments[0]));
        }
    }

    private void say(final String what, final String value) {
        out.println(PREFIX + what + ' ' + value.replaceAll("\\R", " "));
        out.flush();
    }

    private void run(final Path directory) {
        try {
            final Path file = Files.createTempFile(directory, "trial", "");
            try {
                Files.write(file, new byte[TRIAL_BYTES]);
                readIntoGpu(file);
            } finally {
                Files.deleteIfExists(file);
            }
        } catch (final CuFileException e) {
            // The message ends with a remedy; the doctor has its own.
            say(CODE, Integer.toString(e.code()));
            say(FAILURE, e.call() + " gives " + e.name() + " (" + e.code() + ')');
        } catch (final NativeException e) {
            say(FAILURE, e.getMessage());
        } catch (final IOException | RuntimeException | LinkageError e) {
            say(FAILURE, e.toString());
        }
    }

    private void readIntoGpu(final Path path) {
        try (CudaContext context = Cuda.devices().getFirst().retainPrimaryContext();
            CudaContext.Guard guard = context.enter();
            CuFileDriver driver = CuFile.system().open(AS_CONFIGURED);
            DeviceMemory memory = DeviceMemory.allocate(guard.context(), TRIAL_BYTES)) {
            say(POOL, driver.posixPool().stream().map(one -> one.slabKb() + "x" + one.count())
                .collect(Collectors.joining(",")));
            try (PosixFile file = PosixFile.open(path.toString(), OpenMode.READ_WRITE_DIRECT);
                CuFileHandle handle = CuFileHandle.register(driver, file);
                CuFileBuffer buffer = CuFileBuffer.register(driver, memory)) {
                say(MODE, driver.probe(handle, buffer, TRIAL_BYTES, 0).name());
            }
        }
    }
}
