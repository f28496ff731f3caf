package io.kvtier.store.cli;

import io.kvtier.store.ObjectKey;
import io.kvtier.store.PutOptions;
import io.kvtier.store.PutOutcome;
import io.kvtier.store.SoftPin;
import io.kvtier.store.client.ConnectedStore;
import java.io.IOException;
import java.io.InputStream;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code kvtier put}. */
@Command(name = "put", mixinStandardHelpOptions = true, sortOptions = false,
    description = "Stores a file as a value.",
    footer = {"", "Exit status: 0 stored, 1 not (standard error has the word: ALREADY_EXISTS, BEING_WRITTEN, NO_SPACE "
        + "or an error), 2 wrong use."})
final class PutCommand extends ClientCommand {
    @Parameters(index = "0", paramLabel = "KEY", description = "The value's name.")
    private String key;

    @Parameters(index = "1", paramLabel = "FILE", description = "The file; - for standard input.")
    private String file;

    @Option(names = "--replicas", paramLabel = "N", defaultValue = "1",
        description = "Copies in memory, each lent by another; fewer when fewer have room (default: "
            + "${DEFAULT-VALUE}).")
    private int replicas;

    @Option(names = "--nof-replicas", paramLabel = "N", defaultValue = "0",
        description = "Copies on block devices; one beside one in memory does without either (default: "
            + "${DEFAULT-VALUE}).")
    private int nofReplicas;

    @Option(names = "--replace", description = "Replace the value that the key has.")
    private boolean replace;

    @Option(names = "--checksum", description = "Keep a checksum, which readers compare.")
    private boolean checksum;

    @Option(names = "--hard-pin", description = "Keep the value until it is removed.")
    private boolean hardPin;

    @Option(names = "--soft-pin-ms", paramLabel = "MS",
        description = "Evict the value after all others for so long; 0 for as long as the master usually does.")
    private Long softPinMs;

    @Option(names = "--segment", paramLabel = "NAME", split = ",", description = "Segments to try first, in order.")
    private String[] segments = {};

    private final InputStream in;

    PutCommand(final Console console, final InputStream in) {
        super(console);
        this.in = in;
    }

    @Override
    int run(final ConnectedStore store) throws IOException {
        final ObjectKey name = ObjectKey.of(tenant(), key);
        PutOptions options = PutOptions.DEFAULT.withNofReplicas(nofReplicas).withReplicas(replicas)
            .withChecksum(checksum).withHardPin(hardPin).withPreferredSegments(segments);
        if (softPinMs != null) {
            options = options.withSoftPin(SoftPin.forMillis(softPinMs));
        }
        try (Arena arena = Arena.ofShared()) {
            final MemorySegment[] pieces =
                ValueFiles.read(console(), file, in, arena).toArray(MemorySegment[]::new);
            final PutOutcome outcome = replace ? store.upsert(name, options, pieces)
                : store.put(name, options, pieces);
            if (outcome == PutOutcome.STORED) {
                return Main.DONE;
            }
            say(outcome + ": " + name + " was not stored; " + switch (outcome) {
                case ALREADY_EXISTS -> "the key has a value, --replace replaces it";
                case BEING_WRITTEN -> "somebody else is writing it";
                default -> "there is no room for it: no process lends enough memory (or block devices), or all of it "
                    + "is in use";
            });
            return Main.FAILED;
        }
    }
}
