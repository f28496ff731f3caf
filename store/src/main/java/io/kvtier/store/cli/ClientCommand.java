package io.kvtier.store.cli;

import io.kvtier.bindings.NativeException;
import io.kvtier.store.ConnectConfig;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.GdsConfig;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.Store;
import io.kvtier.store.StoreException;
import io.kvtier.store.client.ConnectedStore;
import io.kvtier.store.client.engine.StoreHooks;
import io.kvtier.transport.Printable;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystemException;
import java.nio.file.NoSuchFileException;
import java.util.concurrent.Callable;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/**
 * A command of a client of a master. Why it did not do what it should is one line on standard error, which names the
 * outcome or the error in a word.
 */
abstract class ClientCommand implements Callable<Integer> {
    /** What was parsed; set by picocli. */
    @Spec
    private CommandSpec spec;

    @Mixin
    private MasterOptions master;

    @Option(names = "--stacktrace", description = "With an error, print where in the program it arose.")
    private boolean stacktrace;

    private final Console console;

    ClientCommand(final Console console) {
        this.console = console;
    }

    /**
     * Does the work.
     *
     * @param store where.
     * @return the exit status.
     */
    abstract int run(ConnectedStore store) throws IOException, InterruptedException;

    /** What this command lends, and whatever else it wants set; without GDS offload, whose file is a node's. */
    ConnectConfig.Builder settings(final ConnectConfig.Builder config) {
        return config.gds(GdsConfig.NONE);
    }

    @Override
    public final Integer call() {
        final ConnectConfig config;
        try {
            config = settings(master.config()).build();
        } catch (final StoreException | IllegalArgumentException e) {
            say(e.getMessage());
            return Main.WRONG_USE;
        }
        try (ConnectedStore store = open(config)) {
            return run(store);
        } catch (final StoreException e) {
            trace(e);
            say(e.getMessage());
            return e.code() == ErrorCode.INVALID_KEY || e.code() == ErrorCode.INVALID_PARAMS ? Main.WRONG_USE
                : Main.FAILED;
        } catch (final InterruptedException e) {
            Thread.currentThread().interrupt();
            say("interrupted");
            return Main.FAILED;
        } catch (final IOException | RuntimeException e) {
            trace(e);
            say(message(e));
            return Main.FAILED;
        }
    }

    /** An address that others reach, without a secret, is refused when servers are opened on it. */
    private static ConnectedStore open(final ConnectConfig config) {
        try {
            return ConnectedStore.open(config, StoreHooks.SYSTEM);
        } catch (final IllegalArgumentException e) {
            throw new StoreException(ErrorCode.INVALID_PARAMS, e.getMessage(), e);
        }
    }

    final Console console() {
        return console;
    }

    final boolean isNameless() {
        return master.isNameless();
    }

    final String tenant() {
        return master.tenant();
    }

    final void print(final String line) {
        console.out().println(line);
    }

    final void say(final String text) {
        console.err().println("kvtier " + spec.name() + ": " + Printable.of(text));
        console.err().flush();
    }

    private void trace(final Exception failure) {
        if (stacktrace) {
            failure.printStackTrace(console.err());
        }
    }

    private static String message(final Exception failure) {
        return switch (failure) {
            case UncheckedIOException e -> message(e.getCause());
            case NoSuchFileException e -> e.getFile() + ": there is no such file or directory";
            case AccessDeniedException e -> e.getFile() + ": this process may not read or write it";
            case FileSystemException e when e.getReason() != null -> e.getFile() + ": " + e.getReason();
            case FileSystemException e -> e.getFile() + ": " + e.getClass().getSimpleName();
            case NativeException e -> e.getMessage();
            case IllegalArgumentException e when e.getMessage() != null -> e.getMessage();
            case IllegalStateException e when e.getMessage() != null -> e.getMessage();
            case IOException e when e.getMessage() != null -> e.getMessage();
            default -> "unexpected " + failure + "; --stacktrace shows where";
        };
    }

    /** Refuses what a command line cannot mean. */
    static void allow(final boolean allowed, final String message) {
        if (!allowed) {
            throw new StoreException(ErrorCode.INVALID_PARAMS, message);
        }
    }

    /** The size of a value; says so when there is none. */
    static long sizeOf(final Store store, final ObjectKey key) {
        return store.stat(key).orElseThrow(() -> new StoreException(ErrorCode.OBJECT_NOT_FOUND, "there is no value "
            + key)).size();
    }
}
