package io.kvtier.transport.gds;

import io.kvtier.alloc.HostRegion;
import io.kvtier.bindings.Availability;
import io.kvtier.bindings.NativeTag;
import io.kvtier.bindings.cuda.CudaContext;
import io.kvtier.bindings.cufile.CuFileBatch;
import io.kvtier.bindings.cufile.CuFileBuffer;
import io.kvtier.bindings.cufile.CuFileDriver;
import io.kvtier.bindings.cufile.CuFileMode;
import io.kvtier.bindings.cufile.CuFileOutcome;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.SplittableRandom;
import java.util.function.Supplier;

/**
 * Decides whether host memory may go through cuFile. In compatibility mode it may not: on libcufile 1.15.1 every entry
 * of a batch took its bytes from the base of the registration, whatever its offset; synchronous calls failed; and the
 * library crashed in a status query. Nothing of that is refused by the library itself. So compatibility mode has to be
 * ruled out, and then bytes are written and read back, by the calls that are going to be used.
 *
 * <p><b>Threading:</b> holds nothing. <b>Blocking:</b> on the disk, for some blocks.
 */
final class HostTrial {
    private static final int BLOCK = 4096;
    /** Each of one block. */
    private static final int PARTS = 4;
    private static final int MEMORY_BYTES = (2 * PARTS + 1) * BLOCK;
    private static final long POLL_NS = 10_000_000;
    private static final byte UNTOUCHED = (byte) 0xA5;
    private static final String OTHERS = "leave host memory to io_uring or posix, which are no slower";

    private HostTrial() {
    }

    /**
     * Why no host memory is taken.
     *
     * @param config the settings.
     * @param mode   which way data takes.
     * @param trial  gives what went wrong in a trial, null when nothing did; asked only where the rest allows it.
     * @return null when it is taken.
     */
    static Availability refusal(final GdsConfig config, final CuFileMode mode, final Supplier<String> trial) {
        if (!config.hostMemory()) {
            return Availability.no("host memory is left to others: transports/gds/host_memory is false",
                OTHERS + "; in direct mode it can be set to true");
        }
        final String seen = "compatibility mode, in which libcufile 1.15.1 moved wrong bytes of host memory in "
            + "batches, failed with EIO and EPERM in synchronous calls, and crashed in cuFileBatchIOGetStatus";
        if (mode == CuFileMode.COMPATIBILITY) {
            return Availability.no("the driver is in " + seen,
                OTHERS + ", or have direct mode: load nvidia-fs, or use an NVMe disk and a kernel with PCI P2PDMA");
        }
        if (mode != CuFileMode.NVIDIA_FS && mode != CuFileMode.PCI_P2PDMA) {
            return Availability.no("files that cannot be reached directly would go in " + seen,
                OTHERS + ", or set transports/gds/allow_compat to false");
        }
        final String problem = trial.get();
        return problem == null ? null : Availability.no(problem, OTHERS + "; the trial's file lies where "
            + "-Djava.io.tmpdir says, which has to be on a file system that is reached directly");
    }

    /**
     * Moves some blocks between a new file and registered memory, from within it and to it, aligned and not, and looks
     * at every byte of both.
     *
     * @param driver  an open driver.
     * @param context current in the calling thread; null in a simulation.
     * @param pins    makes the memory known to CUDA.
     * @param calls   {@code BATCH} tries batches after synchronous calls, which take their place where one fails.
     * @return what went wrong; null when nothing did.
     */
    static String run(final CuFileDriver driver, final CudaContext context, final HostPins pins,
        final GdsConfig.Mode calls) {
        try {
            final Path path = Files.createTempFile("kvtier-gds-trial", null);
            try {
                return run(driver, context, pins, calls, path);
            } catch (final RuntimeException e) {
                return "host memory was tried with " + path + ", and failed: " + e.getMessage();
            } finally {
                Files.delete(path);
            }
        } catch (final IOException e) {
            return "host memory could not be tried with a file: " + e;
        }
    }

    private static String run(final CuFileDriver driver, final CudaContext context, final HostPins pins,
        final GdsConfig.Mode calls, final Path path) throws IOException {
        final Registrations registrations = new Registrations(pins);
        try (HostRegion region = HostRegion.allocate(NativeTag.HOST_REGION, MEMORY_BYTES)) {
            registrations.add(driver, context, region);
            try (GdsFile file = GdsFile.open(driver, path.toString(), Runnable::run)) {
                final CuFileBuffer buffer = registrations.find(region.segment().address(), MEMORY_BYTES).buffer();
                final String problem = compare("synchronous calls", region.segment(), path,
                    write -> callEach(write, file, buffer));
                return problem != null || calls == GdsConfig.Mode.SYNC ? problem
                    : compare("a batch", region.segment(), path, write -> submit(write, driver, file, buffer));
            } finally {
                registrations.remove(region);
            }
        }
    }

    /** Moves all parts. */
    private interface Mover {
        void move(boolean write);
    }

    /** Where a part lies in memory: none at its base, one at a block's border, the others not. */
    private static int memoryOffset(final int part) {
        return (2 * part + 1) * BLOCK + part;
    }

    private static String compare(final String by, final MemorySegment memory, final Path path, final Mover mover)
        throws IOException {
        final byte[] source = new byte[MEMORY_BYTES];
        // Each trial has other bytes: what the one before has left may not pass for its own.
        new SplittableRandom(by.hashCode()).nextBytes(source);
        memory.copyFrom(MemorySegment.ofArray(source));
        final byte[] inFile = new byte[PARTS * BLOCK];
        final byte[] inMemory = new byte[MEMORY_BYTES];
        Arrays.fill(inMemory, UNTOUCHED);
        for (int part = 0; part < PARTS; part++) {
            System.arraycopy(source, memoryOffset(part), inFile, part * BLOCK, BLOCK);
            System.arraycopy(source, memoryOffset(part), inMemory, memoryOffset(part), BLOCK);
        }
        mover.move(true);
        if (!Arrays.equals(inFile, Files.readAllBytes(path))) {
            return wrong(by, "wrote", path);
        }
        memory.fill(UNTOUCHED);
        mover.move(false);
        return Arrays.equals(inMemory, memory.toArray(ValueLayout.JAVA_BYTE)) ? null : wrong(by, "read", path);
    }

    private static String wrong(final String by, final String what, final Path path) {
        return "host memory was tried with " + path + ", and " + by + " " + what + " wrong bytes and said nothing";
    }

    private static void callEach(final boolean write, final GdsFile file, final CuFileBuffer buffer) {
        for (int part = 0; part < PARTS; part++) {
            final long at = memoryOffset(part);
            final long offset = (long) part * BLOCK;
            final long count = write ? file.handle().write(buffer, at, BLOCK, offset)
                : file.handle().read(buffer, at, BLOCK, offset);
            if (count != BLOCK) {
                throw new IllegalStateException(count + " of " + BLOCK + " bytes moved");
            }
        }
    }

    private static void submit(final boolean write, final CuFileDriver driver, final GdsFile file,
        final CuFileBuffer buffer) {
        try (CuFileBatch batch = CuFileBatch.create(driver, PARTS)) {
            for (int part = 0; part < PARTS; part++) {
                if (batch.add(write, file.handle(), (long) part * BLOCK, buffer, memoryOffset(part), BLOCK)
                    == CuFileBatch.NO_ROOM) {
                    throw new IllegalStateException("a batch of " + PARTS + " entries takes only " + part);
                }
            }
            batch.submit();
            final Ends ends = new Ends();
            while (batch.state() == CuFileBatch.State.IN_FLIGHT) {
                batch.poll(POLL_NS, ends);
            }
            if (ends.problem != null) {
                throw new IllegalStateException(ends.problem);
            }
        }
    }

    private static final class Ends implements CuFileBatch.Listener {
        private String problem;

        @Override
        public void ended(final int slot, final CuFileOutcome outcome, final long result) {
            if (outcome != CuFileOutcome.COMPLETE || result != BLOCK) {
                problem = "an entry of " + BLOCK + " bytes ended as " + outcome + " with " + result;
            }
        }
    }
}
