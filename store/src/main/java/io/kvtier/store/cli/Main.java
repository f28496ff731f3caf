package io.kvtier.store.cli;

import io.kvtier.bindings.NativeAccess;
import io.kvtier.bindings.posix.Terminal;
import io.kvtier.store.Store;
import io.kvtier.store.config.Environment;
import java.io.PrintWriter;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.IVersionProvider;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/**
 * The command {@code kvtier}. Exit status: 0 done, 1 failed, 2 wrong use.
 *
 * <p><b>Threading:</b> one thread.
 */
public final class Main {
    /** Exit status: the command did what it should. */
    static final int DONE = 0;
    /** Exit status: it did not; standard error says why. */
    static final int FAILED = 1;
    /** Exit status: the command line makes no sense. */
    static final int WRONG_USE = 2;

    private Main() {
    }

    /**
     * Runs a command and ends the process with its exit status.
     *
     * @param arguments the command line.
     */
    // The launcher class owns the process; nothing else in the library may end it.
    @SuppressWarnings("checkstyle:Regexp")
    public static void main(final String[] arguments) {
        logInLines();
        System.exit(run(new Console(System.out, System.err, watched()), Store::open, arguments));
    }

    /** Left to itself the JDK writes two lines for an event; whoever has a configuration of his own keeps it. */
    private static void logInLines() {
        final String logging = "java.util.logging.";
        if (System.getProperty(logging + "config.file") == null && System.getProperty(logging + "config.class") == null
            && System.getProperty(logging + "SimpleFormatter.format") == null) {
            System.setProperty(logging + "SimpleFormatter.format", "%1$tFT%1$tT.%1$tL%1$tz %4$s %3$s: %5$s%6$s%n");
        }
    }

    /**
     * Runs a command.
     *
     * @param console   where it writes.
     * @param opener    opens its store.
     * @param arguments the command line.
     * @return the exit status.
     */
    static int run(final Console console, final StoreOpener opener, final String... arguments) {
        return new CommandLine(new Root())
            .addSubcommand(MasterCommand.line(console, Environment.system()))
            .addSubcommand(new NodeCommand(console))
            .addSubcommand(new PutCommand(console, System.in))
            .addSubcommand(new GetCommand(console))
            .addSubcommand(new ExistsCommand(console))
            .addSubcommand(new RemoveCommand(console))
            .addSubcommand(new ListCommand(console))
            .addSubcommand(new StatCommand(console))
            .addSubcommand(new DemoCommand(console, opener))
            .addSubcommand(new ReplayCommand(console, opener))
            .addSubcommand(new DoctorCommand(console, opener, Machine.here(), new SystemProbes()))
            .addSubcommand(BenchCommand.all(console, opener, Machine.here(), new SystemProbes()))
            .setOut(new PrintWriter(console.out(), true))
            .setErr(new PrintWriter(console.err(), true))
            .setCaseInsensitiveEnumValuesAllowed(true)
            .setParameterExceptionHandler(Main::wrongUse)
            .execute(arguments);
    }

    /** What is wrong and where to read on; the whole help would push the first out of sight. */
    private static int wrongUse(final ParameterException wrong, final String[] arguments) {
        final CommandLine line = wrong.getCommandLine();
        final String name = line.getCommandSpec().qualifiedName();
        line.getErr().println(name + ": " + wrong.getMessage());
        CommandLine.UnmatchedArgumentException.printSuggestions(wrong, line.getErr());
        line.getErr().println("'" + name + " --help' says what it takes");
        return WRONG_USE;
    }

    /** Asking needs native access; without it the store's own message, which names the flag, should come first. */
    private static boolean watched() {
        return NativeAccess.missingFlags(null).isEmpty() && Terminal.onStandardError();
    }

    /** What is printed when no command is named. */
    @Command(name = "kvtier", mixinStandardHelpOptions = true, versionProvider = Version.class,
        synopsisSubcommandLabel = "COMMAND",
        description = "A tiered store of KV-cache blocks: embedded in a process, or a master with many clients.",
        footer = {"", "Exit status: 0 done, 1 failed, 2 wrong use.",
            "'kvtier COMMAND --help' describes a command."})
    private static final class Root implements Runnable {
        @Spec
        private CommandSpec spec;

        @Override
        public void run() {
            throw new ParameterException(spec.commandLine(), "name a command, one of "
                + String.join(", ", spec.subcommands().keySet()));
        }
    }

    /** The version, from the jar's manifest. */
    private static final class Version implements IVersionProvider {
        Version() {
        }

        @Override
        public String[] getVersion() {
            final String version = Main.class.getPackage().getImplementationVersion();
            return new String[] {"kvtier " + (version == null ? "(not run from its jar)" : version),
                "Java " + Runtime.version() + ", " + System.getProperty("os.name") + ' '
                    + System.getProperty("os.arch")};
        }
    }
}
