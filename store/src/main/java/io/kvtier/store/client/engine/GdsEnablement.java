package io.kvtier.store.client.engine;

import io.kvtier.bindings.Availability;
import io.kvtier.store.ConnectConfig;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.GdsConfig;
import io.kvtier.store.StoreConfig;
import io.kvtier.store.StoreException;
import io.kvtier.store.config.Environment;
import io.kvtier.store.config.GdsVariables;
import io.kvtier.store.config.TentConfig;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Whether GDS offload is wanted, and the rules by which it may be: nothing takes the place of a transport that was
 * asked for, so that a store whose values should go straight from a GPU to a disk either has that or is not opened.
 *
 * <p><b>Threading:</b> stateless. <b>Blocking:</b> {@link #allowed} makes a file in the folder, and removes it.
 */
public final class GdsEnablement {
    /**
     * Entries that a store puts into one batch at the most. With a lower {@code io_batch_depth} a batch of values would
     * go to the driver as several.
     */
    static final int BATCH_ENTRIES = 128;

    private static final String VARIABLE = TentConfig.VARIABLE + ": '";
    private static final String EXAMPLE = TentConfig.VARIABLE + "='{\"transports\": {\"gds\": {\"enable\": true, "
        + "\"io_batch_depth\": " + BATCH_ENTRIES + "}, \"io_uring\": {\"enable\": false}}}'";
    private static final String WITHOUT = "; or set " + GdsVariables.TRANSPORT
        + "=io_uring (or posix) to run the same tier without GPUDirect Storage (GdsConfig.withTransport or "
        + "--gds-transport where those turn it on)";
    private static final String ELSEWHERE = ", or name another file (" + GdsVariables.PATH + ", gdsFile)";

    private GdsEnablement() {
    }

    /**
     * What an embedded store is to have.
     *
     * @param config      counts where it says anything of GDS offload.
     * @param environment counts where it does not.
     * @return settings, whose {@link GdsConfig#bytes()} are 0 for none.
     * @throws StoreException INVALID_PARAMS, when a variable that counts is wrong.
     */
    public static GdsConfig wanted(final StoreConfig config, final Environment environment) {
        return wanted(config.gds(), config.isGdsLeftToEnvironment(), environment);
    }

    /**
     * What a connected store is to have.
     *
     * @param config      counts where it says anything of GDS offload.
     * @param environment counts where it does not.
     * @return settings, whose {@link GdsConfig#bytes()} are 0 for none.
     * @throws StoreException INVALID_PARAMS, when a variable that counts is wrong.
     */
    public static GdsConfig wanted(final ConnectConfig config, final Environment environment) {
        return wanted(config.gds(), config.isGdsLeftToEnvironment(), environment);
    }

    private static GdsConfig wanted(final GdsConfig said, final boolean unsaid, final Environment environment) {
        try {
            final GdsConfig wanted = unsaid ? GdsVariables.from(environment).map(GdsConfig::of).orElse(said) : said;
            if (wanted.bytes() != 0) {
                GdsVariables.requireEngine(environment);
            }
            return wanted;
        } catch (final IllegalArgumentException e) {
            throw new StoreException(ErrorCode.INVALID_PARAMS, e.getMessage(), e);
        }
    }

    /**
     * Whether it may be, as far as that can be told before a transport is opened.
     *
     * @param config what is wanted.
     * @param tent   the engine's settings.
     * @return yes, or the first rule that is not met, and how to meet it.
     */
    public static Availability allowed(final GdsConfig config, final TentConfig tent) {
        if (config.bytes() == 0) {
            return Availability.no("there is no room for a backing file: gdsBytes is 0", "set gdsFile and gdsBytes, or "
                + GdsVariables.PATH + " and " + GdsVariables.BYTES);
        }
        final Availability place = place(config.file());
        return !place.available() || config.transport() != GdsConfig.Mover.GDS ? place : engine(tent);
    }

    /** Where the backing file is, or is to be made, and its index beside it. */
    private static Availability place(final Path file) {
        if (Files.exists(file) && !Files.isRegularFile(file)) {
            return Availability.no("the backing file " + file + " is " + (Files.isDirectory(file) ? "a folder"
                : "no regular file"), "remove it" + ELSEWHERE);
        }
        final Path folder = file.getParent();
        if (!Files.isDirectory(folder)) {
            return Availability.no("the folder " + folder + " of the backing file " + (Files.exists(folder)
                ? "is not a folder" : "does not exist"), "make it (mkdir -p " + folder + ") on the disk that is to "
                + "hold the file" + ELSEWHERE);
        }
        try {
            Files.delete(Files.createTempFile(folder, ".kvtier-gds-", ""));
        } catch (final IOException e) {
            return Availability.no("no file can be made in the folder " + folder + " of the backing file ("
                + e.getClass().getSimpleName() + ')', "allow it to this user, mount it for writing" + ELSEWHERE);
        }
        return Availability.yes(file + " can be written");
    }

    /** What {@code MC_TENT_CONF} has to say for GPUDirect Storage, and nothing else, to move the bytes. */
    private static Availability engine(final TentConfig tent) {
        if (!tent.gds().enabled()) {
            return Availability.no(VARIABLE + "transports/gds/enable' is false, as it is where nothing is said",
                "set it to true: " + EXAMPLE + WITHOUT);
        }
        if (tent.uring()) {
            return Availability.no(VARIABLE + "transports/io_uring/enable' is true, as it is where the variable does "
                + "not name it: files could be written by io_uring in place of GPUDirect Storage",
                "set it to false: " + EXAMPLE + WITHOUT);
        }
        final int depth = tent.gds().ioBatchDepth();
        if (depth < BATCH_ENTRIES && tent.gds().mode() == io.kvtier.transport.gds.GdsConfig.Mode.BATCH) {
            return Availability.no(VARIABLE + "transports/gds/io_batch_depth' is " + depth + "; a store puts up to "
                + BATCH_ENTRIES + " entries into a batch", "set it to " + BATCH_ENTRIES + " or more: " + EXAMPLE
                + WITHOUT);
        }
        return Availability.yes(TentConfig.VARIABLE + " leaves files to GPUDirect Storage");
    }

    /**
     * What the answer of a probe means for GDS offload.
     *
     * @param mover what was asked for.
     * @param probe what its transport says of itself.
     * @return the same when it is yes; else why there is no GDS offload, and what to do.
     */
    public static Availability answered(final GdsConfig.Mover mover, final Availability probe) {
        if (probe.available()) {
            return probe;
        }
        return switch (mover) {
            case GDS -> Availability.no("GPUDirect Storage cannot be used: " + probe.reason(), probe.remedy()
                + WITHOUT);
            case IO_URING -> Availability.no("io_uring cannot be used: " + probe.reason(), probe.remedy() + "; or set "
                + GdsVariables.TRANSPORT + "=posix (GdsConfig.withTransport, --gds-transport)");
            case POSIX -> Availability.no("files cannot be used: " + probe.reason(), probe.remedy());
        };
    }

    /**
     * Refuses what is not to be had.
     *
     * @param answer of the above.
     * @throws StoreException INVALID_PARAMS, when it is no; with reason and remedy.
     */
    static void require(final Availability answer) {
        if (!answer.available()) {
            throw new StoreException(ErrorCode.INVALID_PARAMS, "GDS offload: " + answer.reason() + "; "
                + answer.remedy());
        }
    }
}
