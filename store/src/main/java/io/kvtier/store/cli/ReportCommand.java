package io.kvtier.store.cli;

import io.kvtier.bindings.NativeException;
import io.kvtier.store.StoreException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.FileSystemException;
import java.util.Locale;
import java.util.concurrent.Callable;
import java.util.regex.Pattern;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/**
 * A command that does something and reports: a table for people, or one JSON object as the last line of standard
 * output. A failure is one line on standard error.
 */
abstract sealed class ReportCommand implements Callable<Integer> permits BenchCommand, DemoCommand,
    DoctorCommand, ReplayCommand {
    private static final Pattern SETTING = Pattern.compile("^\\w+: setting (\\w+)");

    /** What was parsed; set by picocli. */
    @Spec
    private CommandSpec spec;

    @Option(names = "--json", description = "Print one JSON object as the last line of standard output, no table.")
    private boolean json;

    @Option(names = "--stacktrace", description = "With an error, print where in the program it arose.")
    private boolean stacktrace;

    private final Console console;
    private final StoreOpener opener;

    ReportCommand(final Console console, final StoreOpener opener) {
        this.console = console;
        this.opener = opener;
    }

    /**
     * Does the work.
     *
     * @param where where to show progress; its standard output takes remarks for people.
     * @return what came of it.
     * @throws IOException          when a file cannot be used.
     * @throws InterruptedException when the thread was interrupted.
     */
    abstract Outcome report(Console where) throws IOException, InterruptedException;

    @Override
    public final Integer call() {
        try {
            final Outcome outcome = report(console);
            if (json) {
                console.out().println(outcome.json());
            } else {
                outcome.print(console.out());
            }
            console.out().flush();
            return outcome.failure().isEmpty() ? Main.DONE : failed(outcome);
        } catch (final ParameterException e) {
            throw e;
        } catch (final InterruptedException e) {
            Thread.currentThread().interrupt();
            return failed("interrupted", e);
        } catch (final IOException | RuntimeException e) {
            return failed(message(e), e);
        }
    }

    StoreOpener opener() {
        return opener;
    }

    /** Remarks for people, which would be in the way of a program. */
    void remark(final String text) {
        if (!json) {
            console.out().println(text);
            console.out().flush();
        }
    }

    /** Ends the command as wrongly used unless an option's value is allowed. */
    void allow(final boolean allowed, final String message) {
        if (!allowed) {
            throw new ParameterException(spec.commandLine(), message);
        }
    }

    /** A setting that the store refuses came from an option of the same name, in another spelling. */
    ParameterException wrongSetting(final StoreException refusal) {
        final String message = SETTING.matcher(refusal.getMessage()).replaceFirst(setting -> "option --"
            + setting.group(1).replaceAll("([A-Z])", "-$1").toLowerCase(Locale.ROOT));
        return new ParameterException(spec.commandLine(), message, refusal);
    }

    /** As it is written behind {@code kvtier}. */
    private String name() {
        final CommandSpec root = spec.root();
        return spec == root ? spec.name() : spec.qualifiedName().substring(root.name().length() + 1);
    }

    private int failed(final Outcome outcome) {
        console.err().println("kvtier " + name() + ": " + outcome.failure());
        return Main.FAILED;
    }

    private int failed(final String message, final Exception failure) {
        console.err().println("kvtier " + name() + ": " + message);
        if (stacktrace) {
            failure.printStackTrace(console.err());
        }
        if (json) {
            console.out().println(ReportJson.failed(name(), message));
            console.out().flush();
        }
        return Main.FAILED;
    }

    private static String message(final Exception failure) {
        return switch (failure) {
            case UncheckedIOException e -> message(e.getCause());
            case FileSystemException e when e.getReason() != null -> e.getFile() + ": " + e.getReason();
            // These put nothing but the file's name into their message.
            case FileSystemException e -> e.getFile() + ": " + e.getClass().getSimpleName();
            case TraceFormatException e -> e.getMessage();
            case CommandFailure e -> e.getMessage();
            case StoreException e -> e.getMessage();
            case NativeException e -> e.getMessage();
            case IllegalStateException e when e.getMessage() != null -> e.getMessage();
            case IOException e when e.getMessage() != null -> e.getMessage();
            default -> "unexpected " + failure + "; --stacktrace shows where";
        };
    }
}
