package io.kvtier.kit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.Faults.Call;
import io.kvtier.transport.file.FileOpener;
import java.nio.file.Path;
import java.util.List;
import java.util.function.BiFunction;
import java.util.function.ObjLongConsumer;

/** Runs a scenario again and again, with a failure of another call each time, until it makes no more such calls. */
public final class FailingCalls {
    private FailingCalls() {
    }

    /**
     * A scenario that is about to run.
     *
     * @param failures what it is told has failed; filled meanwhile.
     * @param body     does it, and asserts what has to be after any failure.
     * @param whole    asserts what has to be when nothing has failed.
     */
    public record Run(List<? extends RuntimeException> failures, Runnable body, Runnable whole) {
        /** One of which nothing but {@code body} is asserted, and that it is told of no failure when there is none. */
        public Run(final List<? extends RuntimeException> failures, final Runnable body) {
            this(failures, body, () -> { });
        }
    }

    /**
     * Lets the first call of a kind fail, then the second, and so on up to a run that does not reach the failure, which
     * must report none. No run may leave native resources behind.
     *
     * @param directory of all runs; each has a folder of its own in it, which is not made here.
     * @param call      the kind.
     * @param arming    sets the failure of the n-th call up, from 1.
     * @param scenario  what is run, over the folder and files that fail.
     */
    public static void each(final Path directory, final Call call, final ObjLongConsumer<Faults> arming,
        final BiFunction<Path, FileOpener, Run> scenario) {
        long reached = Long.MAX_VALUE;
        long n = 1;
        for (; n <= reached; n++) {
            final Faults faults = new Faults();
            arming.accept(faults, n);
            final Run run = scenario.apply(directory.resolve(call + "-" + n), new FaultyFiles(faults));
            try {
                LeakCheck.around(run.body());
            } catch (final AssertionError | RuntimeException e) {
                throw new AssertionError("with " + call + " number " + n + " failing; reported failures "
                    + run.failures(), e);
            }
            // A scenario that ends early makes fewer calls: only one that has not reached the failure is the last.
            if (faults.count(call) < n) {
                reached = n;
                assertEquals(List.of(), run.failures(), "without a failure");
                run.whole().run();
            }
        }
        assertTrue(n > 2, "the scenario makes none of these calls");
    }
}
