package io.kvtier.store.cli;

import io.kvtier.store.ObjectKey;
import io.kvtier.store.Store;
import io.kvtier.store.client.ConnectedStore;
import io.kvtier.transport.Printable;
import java.util.Comparator;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code kvtier ls}. */
@Command(name = "ls", mixinStandardHelpOptions = true, sortOptions = false,
    description = "Lists values in the order of their names: bytes, a tab, the key; of all tenants the tenant and a "
        + "tab before it. Control characters are shown by their numbers, like \\u000a.",
    footer = {"", "Exit status: 0 listed, 1 failed, 2 wrong use."})
final class ListCommand extends ClientCommand {
    @Parameters(arity = "0..1", paramLabel = "REGEX", defaultValue = "",
        description = "Those whose key contains a match (default: all).")
    private String pattern;

    @Option(names = "--all-tenants", description = "Of all tenants.")
    private boolean allTenants;

    ListCommand(final Console console) {
        super(console);
    }

    @Override
    int run(final ConnectedStore store) {
        final List<Store.Found> found = store.find(allTenants ? "" : tenant(), pattern);
        found.stream().sorted(Comparator.comparing((Store.Found one) -> one.key().tenant())
            .thenComparing(one -> one.key().key())).forEach(one -> print(line(one.size(), one.key())));
        return Main.DONE;
    }

    private String line(final long size, final ObjectKey key) {
        return size + "\t" + (allTenants ? key.tenant() + '\t' : "") + Printable.of(key.key());
    }
}
