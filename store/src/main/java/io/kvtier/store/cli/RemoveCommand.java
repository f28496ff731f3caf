package io.kvtier.store.cli;

import io.kvtier.store.ErrorCode;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.RemoveOutcome;
import io.kvtier.store.StoreException;
import io.kvtier.store.client.ConnectedStore;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code kvtier rm}. */
@Command(name = "rm", mixinStandardHelpOptions = true, sortOptions = false,
    description = "Removes values.",
    footer = {"", "Exit status: 0 all removed, 1 some not (NOT_FOUND, LEASED, BEING_WRITTEN or an error on standard "
        + "error), 2 wrong use. What --match does not remove is no error."})
final class RemoveCommand extends ClientCommand {
    @Parameters(arity = "0..*", paramLabel = "KEY", description = "Names.")
    private List<String> keys = List.of();

    @Option(names = "--match", paramLabel = "REGEX",
        description = "Remove all whose key contains a match instead, and print how many there were; an empty one "
            + "matches all of the tenant.")
    private String match;

    @Option(names = "--force", description = "Remove what was read within its lease, too.")
    private boolean force;

    RemoveCommand(final Console console) {
        super(console);
    }

    @Override
    int run(final ConnectedStore store) {
        allow(keys.isEmpty() != (match == null), "name keys, or give --match");
        if (match != null) {
            print(Long.toString(store.removeMatching(tenant(), match, force)));
            return Main.DONE;
        }
        int status = Main.DONE;
        for (final String key : keys) {
            final ObjectKey name = ObjectKey.of(tenant(), key);
            final String outcome = remove(store, name);
            if (!outcome.isEmpty()) {
                say(outcome);
                status = Main.FAILED;
            }
        }
        return status;
    }

    /** Empty when it is removed. */
    private String remove(final ConnectedStore store, final ObjectKey name) {
        try {
            final RemoveOutcome outcome = store.remove(name, force);
            return switch (outcome) {
                case REMOVED -> "";
                case NOT_FOUND -> ErrorCode.OBJECT_NOT_FOUND + ": there is no value " + name;
                case LEASED -> "LEASED: " + name + " was read a short while ago and stays; --force removes it";
                case BEING_WRITTEN -> "BEING_WRITTEN: somebody is writing " + name + "; try again when that has ended";
            };
        } catch (final StoreException e) {
            if (e.code() == ErrorCode.OBJECT_HAS_REPLICATION_TASK) {
                return e.getMessage();
            }
            throw e;
        }
    }
}
