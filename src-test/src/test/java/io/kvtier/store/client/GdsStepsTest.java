package io.kvtier.store.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.MemoryDirectory;
import io.kvtier.kit.Steps;
import io.kvtier.kit.Steps.How;
import io.kvtier.kit.Steps.Kind;
import io.kvtier.kit.Steps.Plan;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.client.StepsRig.Line;
import io.kvtier.store.protocol.GdsCommand.GdsCounts;
import io.kvtier.store.replica.ReplicaType;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * A client with a file for GDS replicas dies at every step that leaves it, one run a step: before each call of the
 * master and each change of a file, those that a slice makes too, and in the middle of each write. What it has done and
 * was not told of dies with it, so that after a step is before the next one. Or it lives, and the step fails: a call
 * that does not arrive, or whose answer is lost; a slice of many; a file.
 *
 * <p>Whoever opens the file next finds whole values that were put, all that must have survived, and nothing that was
 * removed or replaced; and all that the file has belongs to exactly one of them.
 */
@ExtendWith(LeakCheck.class)
@Timeout(value = 30, unit = TimeUnit.MINUTES)
class GdsStepsTest {
    /** They tell of each failure, of which there are some here. */
    private static final List<Logger> LOGGERS =
        List.of(Logger.getLogger("io.kvtier.store"), Logger.getLogger("io.kvtier.transport"));

    private static final boolean EACH_WITH_BOTH = Boolean.getBoolean("kvtier.steps.both");

    @TempDir(factory = MemoryDirectory.class)
    private Path directory;
    private int runs;

    /** Who is first when a client has died. */
    enum Next {
        /** The master, which takes it for dead. */
        THE_MASTER,
        /** Another process with the same file, while the master still counts on the dead one. */
        ANOTHER_CLIENT
    }

    /** What a run had. */
    private record Run(Steps steps, StepsScenario scenario, GdsCounts counts) {
    }

    @BeforeAll
    static void mute() {
        LOGGERS.forEach(logger -> logger.setLevel(Level.OFF));
    }

    @AfterAll
    static void unmute() {
        LOGGERS.forEach(logger -> logger.setLevel(null));
    }

    @ParameterizedTest
    @EnumSource(Line.class)
    void shouldLeaveWholeValuesWhereverItDiesAndTheMasterFindsOut(final Line line) {
        eachStep(true, line, Next.THE_MASTER);
    }

    @ParameterizedTest
    @EnumSource(Line.class)
    void shouldLeaveWholeValuesWhereverItDiesAndAnotherClientComesFirst(final Line line) {
        eachStep(true, line, Next.ANOTHER_CLIENT);
    }

    @ParameterizedTest
    @EnumSource(Line.class)
    void shouldGoOnWhicheverStepFails(final Line line) {
        eachStep(false, line, Next.THE_MASTER);
    }

    private void eachStep(final boolean kills, final Line line, final Next next) {
        // By default each step is died at with one of those who may be first, so that there is time for other tests.
        final long every = kills && !EACH_WITH_BOTH ? 2 : 1;
        long number = every == 2 && next == Next.ANOTHER_CLIENT ? 2 : 1;
        Run run = checked(new Plan(kills, line.name(), number, How.BEFORE), next);
        assertNotNull(run.steps().reached(), () -> "there are no steps of " + line);
        while (run.steps().reached() != null) {
            final Kind reached = run.steps().reached();
            if (reached == Kind.WRITE) {
                checked(new Plan(kills, line.name(), number, How.TORN), next);
            } else if (reached == Kind.CALL && !kills) {
                checked(new Plan(kills, line.name(), number, How.AFTER), next);
            }
            number += every;
            run = checked(new Plan(kills, line.name(), number, How.BEFORE), next);
        }
        checkUndisturbed(run);
    }

    /** What happens when nothing does: a scenario that does less would prove less. */
    private static void checkUndisturbed(final Run run) {
        assertEquals(List.of(), run.scenario().failures());
        final Map<Kind, Long> least = Map.of(Kind.CALL, 60L, Kind.SLICE, 30L, Kind.OPEN, 12L, Kind.READ, 15L,
            Kind.WRITE, 45L, Kind.SYNC, 20L, Kind.PREALLOCATE, 1L);
        least.forEach((kind, count) -> assertTrue(run.steps().count(kind) >= count,
            () -> "only " + run.steps().count(kind) + " steps of the kind " + kind));
        final GdsCounts counts = run.counts();
        assertTrue(counts.puts() >= 6 && counts.onlyPuts() >= 3 && counts.adopted() >= 4 && counts.evictions() >= 1,
            counts::toString);
    }

    private Run checked(final Plan plan, final Next next) {
        final Run[] run = new Run[1];
        LeakCheck.around(() -> run[0] = run(plan, next));
        return run[0];
    }

    private Run run(final Plan plan, final Next next) {
        final Path from = directory.resolve(runs + "-from");
        final Path to = directory.resolve(runs + "-to");
        runs++;
        final StepsLedger ledger = new StepsLedger();
        final Map<ObjectKey, Long> inFile = new HashMap<>();
        try (StepsRig rig = new StepsRig()) {
            final Steps steps = new Steps(plan, Line::of, () -> {
                StepsRig.copy(from, to);
                inFile.putAll(rig.versions(ledger.keys(), ReplicaType.GDS));
            });
            Files.createDirectory(from);
            final StepsScenario scenario = new StepsScenario(rig, from.resolve("gds"), steps, ledger);
            try {
                scenario.run();
                final GdsCounts counts = rig.stats().gds().counts();
                final Set<ObjectKey> sure = steps.isDead() ? ledger.surviving(inFile)
                    : plan.kills() ? ledger.surviving(Map.of()) : Set.of();
                verify(rig, (steps.isDead() ? to : from).resolve("gds"), next, ledger, sure);
                return new Run(steps, scenario, counts);
            } catch (final AssertionError | RuntimeException e) {
                throw new AssertionError(plan + ", " + steps.where() + ", then " + next + "; it was told "
                    + scenario.failures(), e);
            }
        } catch (final IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static void verify(final StepsRig rig, final Path file, final Next next, final StepsLedger ledger,
        final Set<ObjectKey> durable) {
        if (next == Next.THE_MASTER) {
            rig.pass(StepsRig.TTL_MS + 1);
        }
        final Set<ObjectKey> sure = new HashSet<>(durable);
        sure.addAll(rig.versions(ledger.keys(), ReplicaType.MEMORY).keySet());
        final StepsRig.Client client = rig.join(file, Steps.free());
        final ConnectedStore store = client.store();
        try (store) {
            for (final ObjectKey key : sure) {
                assertTrue(rig.query(key).found(), () -> key + " is lost");
            }
            StepsScenario.verify(rig, client, ledger);
        }
        assertEquals(0, rig.stats().gds().storages());
    }
}
