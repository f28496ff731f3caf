package io.kvtier.store.cli;

import io.kvtier.store.ErrorCode;
import io.kvtier.store.GetOutcome;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.StoreException;
import io.kvtier.store.client.ConnectedStore;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

/** {@code kvtier get}. */
@Command(name = "get", mixinStandardHelpOptions = true, sortOptions = false,
    description = "Writes a value to a file.",
    footer = {"", "Exit status: 0 read, 1 not (OBJECT_NOT_FOUND or an error on standard error), 2 wrong use."})
final class GetCommand extends ClientCommand {
    /** How often a value is read that has grown each time. */
    private static final int MOST_SIZES = 64;

    @Parameters(index = "0", paramLabel = "KEY", description = "The value's name.")
    private String key;

    @Parameters(index = "1", paramLabel = "FILE", defaultValue = ValueFiles.STANDARD,
        description = "The file; - for standard output (default: ${DEFAULT-VALUE}).")
    private String file;

    GetCommand(final Console console) {
        super(console);
    }

    @Override
    int run(final ConnectedStore store) throws IOException {
        final ObjectKey name = ObjectKey.of(tenant(), key);
        for (int tries = 0; tries < MOST_SIZES; tries++) {
            final long size = sizeOf(store, name);
            try (Arena arena = Arena.ofShared()) {
                final MemorySegment value = arena.allocate(Math.max(1, size));
                final GetOutcome outcome = store.get(name, value.asSlice(0, size));
                if (!outcome.hit()) {
                    throw new StoreException(ErrorCode.OBJECT_NOT_FOUND, "value " + name + " is there, but nobody who "
                        + "has it can be reached");
                }
                ValueFiles.write(console(), file, console().out(), value.asSlice(0, outcome.valueSize()));
                return Main.DONE;
            } catch (final StoreException e) {
                // Replaced by a larger one since its size was asked for.
                if (e.code() != ErrorCode.BUFFER_OVERFLOW) {
                    throw e;
                }
            }
        }
        throw new StoreException(ErrorCode.BUFFER_OVERFLOW, "value " + name + " was larger " + MOST_SIZES
            + " times in a row when it was read than when its size was asked for");
    }
}
