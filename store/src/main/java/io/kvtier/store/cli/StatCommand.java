package io.kvtier.store.cli;

import io.kvtier.store.ErrorCode;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.StoreException;
import io.kvtier.store.ValueInfo;
import io.kvtier.store.client.ConnectedStore;
import io.kvtier.store.replica.ReplicaType;
import java.util.stream.Collectors;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

/** {@code kvtier stat}. */
@Command(name = "stat", mixinStandardHelpOptions = true, sortOptions = false,
    description = "Says how large a value is and where it can be read, in that order, with a tab between.",
    footer = {"", "Exit status: 0 there, 1 not (OBJECT_NOT_FOUND or an error on standard error), 2 wrong use."})
final class StatCommand extends ClientCommand {
    @Parameters(paramLabel = "KEY", description = "The value's name.")
    private String key;

    StatCommand(final Console console) {
        super(console);
    }

    @Override
    int run(final ConnectedStore store) {
        final ObjectKey name = ObjectKey.of(tenant(), key);
        final ValueInfo info = store.stat(name).orElseThrow(
            () -> new StoreException(ErrorCode.OBJECT_NOT_FOUND, "there is no value " + name));
        print(info.size() + "\t" + info.tiers().stream().map(ReplicaType::toString).collect(Collectors.joining(" ")));
        return Main.DONE;
    }
}
