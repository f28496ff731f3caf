package io.kvtier.store.storage;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.Jvm;
import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.MemoryDirectory;
import io.kvtier.store.DiskBackend;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.storage.StorageBackend.Outcome;
import io.kvtier.store.storage.StorageBackend.Result;
import io.kvtier.transport.file.FileOpener;
import java.io.IOException;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * A process that stores, evicts and removes is killed at a random point, again and again on one directory. Before that
 * it is stopped at random points, and what lies on its disk then, which is what a kill would leave, is opened as well:
 * so there are many more points than processes.
 */
@ExtendWith(LeakCheck.class)
@ParameterizedClass
@EnumSource(DiskBackend.class)
class BackendKillTest {
    private static final int UNITS = 64;
    private static final int ROUNDS = Integer.getInteger("kvtier.kill.rounds", 10);
    /** So often each of them is stopped before. */
    private static final int STOPS = Integer.getInteger("kvtier.kill.stops", 19);
    private static final int MOST_LINES = 300;
    private static final int MOST_LINES_TO_A_STOP = 30;
    private static final long SEED = Long.getLong("kvtier.kill.seed", 20_260_731L);

    @Parameter
    private DiskBackend kind;
    @TempDir(factory = MemoryDirectory.class)
    private Path directory;
    private final Ledger ledger = new Ledger();
    private int stored;

    private static BackendRig.Setup setup(final DiskBackend kind, final Path where) {
        return new BackendRig.Setup(BackendRig.of(kind), where, UNITS, 1, 1, FileOpener.POSIX, false);
    }

    /** The process that is killed: says on its standard output what it is about to do and what it was told. */
    static final class Victim {
        private final PrintStream out = new PrintStream(System.out, true, StandardCharsets.US_ASCII);
        private final ModelOwner owner = new ModelOwner();
        private final SplittableRandom random;
        private long version;

        private Victim(final long seed, final long version) {
            random = new SplittableRandom(seed);
            this.version = version;
            owner.allow(victim -> {
                say("evict", new Value(victim.key(), victim.version(), Math.toIntExact(victim.size())));
                return true;
            });
        }

        public static void main(final String[] arguments) {
            final Victim victim = new Victim(Long.parseLong(arguments[1]), Long.parseLong(arguments[2]));
            try (BackendRig rig = setup(DiskBackend.valueOf(arguments[3]), Path.of(arguments[0])).open()) {
                victim.out.println("ready");
                while (true) {
                    victim.work(rig);
                }
            }
        }

        private void say(final String what, final Value value) {
            out.println(what + ' ' + value.key().key() + ' ' + value.version() + ' ' + value.size() + " .");
        }

        private void work(final BackendRig rig) {
            final List<Value> batch = new ArrayList<>();
            for (int j = random.nextInt(4); j >= 0; j--) {
                final Value value = Value.of("k" + (8 * j + random.nextInt(8)), version++,
                    random.nextInt(6 * Value.UNIT));
                say("try", value);
                batch.add(value);
            }
            final List<Result> results = rig.store(owner, random.nextBoolean(), batch);
            for (int j = 0; j < batch.size(); j++) {
                if (results.get(j).outcome() == Outcome.STORED) {
                    say("stored", batch.get(j));
                }
            }
            if (random.nextInt(3) == 0) {
                final Value value = batch.getFirst();
                say("removing", value);
                rig.remove(owner, value);
                say("removed", value);
            }
        }
    }

    @Test
    void shouldHaveWhatItReportedAfterItWasKilled() {
        final SplittableRandom random = new SplittableRandom(SEED);
        for (int round = 0; round < ROUNDS; round++) {
            final String where = "seed " + SEED + ", round " + round;
            try (Jvm victim = start(random.nextLong(), round * 1_000_000L)) {
                for (int stop = 0; stop < STOPS; stop++) {
                    final String place = where + ", stop " + stop;
                    victim.stopAt(1 + random.nextInt(MOST_LINES_TO_A_STOP), this::apply, () -> verifyCopy(place));
                }
                victim.killAt(1 + random.nextInt(MOST_LINES), this::apply);
            }
            verify(directory, where, true);
        }
        assertTrue(stored > 100, () -> "the processes stored only " + stored + " values");
    }

    private Jvm start(final long seed, final long version) {
        final List<String> flags =
            List.of("-Xmx128m", "-XX:+IgnoreUnrecognizedVMOptions", "--sun-misc-unsafe-memory-access=allow");
        return Jvm.start(flags, ProcessBuilder.Redirect.INHERIT, Victim.class, directory.toString(),
            Long.toString(seed), Long.toString(version), kind.name());
    }

    private void verifyCopy(final String where) {
        try {
            final Path copy = directory.resolveSibling(directory.getFileName() + "-copy");
            try {
                Directories.copy(directory, copy);
                verify(copy, where, false);
            } finally {
                Directories.delete(copy);
            }
        } catch (final IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void verify(final Path where, final String when, final boolean goesOn) {
        try (BackendRig rig = setup(kind, where).open()) {
            ledger.verify(rig, true);
            if (goesOn) {
                ledger.adopt(rig);
            }
        } catch (final AssertionError | RuntimeException e) {
            throw new AssertionError(when, e);
        }
    }

    private void apply(final String[] words) {
        final Value value =
            new Value(ObjectKey.of(words[1]), Long.parseLong(words[2]), Integer.parseInt(words[3]));
        switch (words[0]) {
            case "try" -> {
                ledger.tried(value);
                ledger.owner().want(value);
            }
            case "stored" -> {
                ledger.stored(value);
                stored++;
            }
            case "evict" -> ledger.owner().forget(value);
            case "removing" -> ledger.removing(value);
            case "removed" -> ledger.removed(value);
            default -> throw new AssertionError("unknown: " + words[0]);
        }
    }
}
