package io.kvtier.store.cli;

import io.kvtier.store.BatchResult;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.client.ConnectedStore;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

/** {@code kvtier exists}. */
@Command(name = "exists", mixinStandardHelpOptions = true, sortOptions = false,
    description = "Says of each key whether it has a value, in their order, as true or false.",
    footer = {"", "Exit status: 0 all have, 1 some have not, or an error on standard error, 2 wrong use."})
final class ExistsCommand extends ClientCommand {
    @Parameters(arity = "1..*", paramLabel = "KEY", description = "Names.")
    private List<String> keys;

    ExistsCommand(final Console console) {
        super(console);
    }

    @Override
    int run(final ConnectedStore store) {
        final List<Boolean> there = store.existsBatch(keys.stream().map(key -> ObjectKey.of(tenant(), key)).toList())
            .stream().map(BatchResult::orThrow).toList();
        there.forEach(one -> print(one.toString()));
        return there.contains(false) ? Main.FAILED : Main.DONE;
    }
}
