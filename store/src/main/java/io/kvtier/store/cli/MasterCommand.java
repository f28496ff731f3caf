package io.kvtier.store.cli;

import io.kvtier.bindings.NativeAccess;
import io.kvtier.store.StoreException;
import io.kvtier.store.config.Environment;
import io.kvtier.store.config.MasterConfig;
import io.kvtier.store.config.MasterOption;
import java.io.IOException;
import java.util.EnumMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.Spec;

/** {@code kvtier master}: runs a master until it is asked to end. Its options are those of {@link MasterOption}. */
@Command(name = "master", mixinStandardHelpOptions = true, sortOptions = false,
    customSynopsis = "kvtier master [OPTION]...",
    description = "Runs a master: it knows which client has which value, and serves metrics and administration "
        + "over HTTP. SIGTERM and SIGINT end it.",
    footer = {"", "Each option can also be given in the file that --config_path names (YAML or JSON) and as an "
        + "environment variable, --rpc_port as KVTIER_MASTER_RPC_PORT. The command line counts before the file, the "
        + "file before the environment. Hyphens may stand for underscores. Times take ms, s, m or h behind them.",
        "Exit status: 0 ended when asked, 1 failed, 2 wrong use."})
final class MasterCommand implements Callable<Integer> {
    @Spec
    private CommandSpec spec;

    private final Console console;
    private final Environment environment;

    private MasterCommand(final Console console, final Environment environment) {
        this.console = console;
        this.environment = environment;
    }

    /** The command with its options. */
    static CommandLine line(final Console console, final Environment environment) {
        final CommandLine line = new CommandLine(new MasterCommand(console, environment));
        for (final MasterOption option : MasterOption.values()) {
            line.getCommandSpec().addOption(spec(option));
        }
        return line;
    }

    private static OptionSpec spec(final MasterOption option) {
        final Set<String> names = new LinkedHashSet<>();
        names.add("--" + option.key());
        names.add("--" + option.key().replace('_', '-'));
        final String text = option.description()
            + (option.byDefault().isEmpty() ? "" : " (default: " + option.byDefault() + ')');
        return OptionSpec.builder(names.toArray(String[]::new)).type(String.class)
            .arity(option.isFlag() ? "0..1" : "1").fallbackValue(option.isFlag() ? "true" : "")
            .paramLabel(option.isFlag() ? "true|false" : "VALUE").description(text).build();
    }

    private Map<MasterOption, String> given() {
        final Map<MasterOption, String> given = new EnumMap<>(MasterOption.class);
        for (final MasterOption option : MasterOption.values()) {
            final String value = spec.commandLine().getParseResult().matchedOptionValue("--" + option.key(), null);
            if (value != null) {
                given.put(option, value);
            }
        }
        return given;
    }

    @Override
    public Integer call() {
        final MasterProcess.Plan plan;
        try {
            final MasterConfig config = MasterConfig.read(given(), environment);
            config.warnings().forEach(warning -> say("note: " + warning));
            plan = MasterProcess.plan(config);
            if (!plan.note().isEmpty()) {
                say("note: " + plan.note());
            }
        } catch (final IllegalArgumentException e) {
            say(e.getMessage());
            return Main.WRONG_USE;
        }
        final List<String> missing = NativeAccess.missingFlags(null);
        if (!missing.isEmpty()) {
            say("the JVM was started without " + String.join(" ", missing) + "; add it, or run the launcher 'kvtier'");
            return Main.FAILED;
        }
        return run(plan);
    }

    private int run(final MasterProcess.Plan plan) {
        final StopSignals signals = StopSignals.listen();
        try (MasterProcess master = MasterProcess.start(plan)) {
            console.out().println("kvtier master ready: " + master);
            console.out().flush();
            signals.await();
            say("ending");
        } catch (final IOException | StoreException e) {
            say(e.getMessage());
            return Main.FAILED;
        } catch (final InterruptedException e) {
            Thread.currentThread().interrupt();
            say("interrupted");
            return Main.FAILED;
        }
        return Main.DONE;
    }

    private void say(final String text) {
        console.err().println("kvtier master: " + text);
        console.err().flush();
    }
}
