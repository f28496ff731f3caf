package io.kvtier.bindings;

import org.jetbrains.lincheck.datastructures.ModelCheckingOptions;
import org.jetbrains.lincheck.datastructures.Operation;
import org.jetbrains.lincheck.datastructures.StressOptions;
import org.jetbrains.lincheck.datastructures.Validate;
import org.junit.jupiter.api.Test;

/** Every interleaving of a few users and closers, up to lincheck's bounds; the sequential run of this is the model. */
public class RefCountInterleavingTest {
    private volatile int releases;
    private final RefCount count = new RefCount(() -> releases++);

    /** Uses the handle once if it can; what it sees inside must be alive. */
    @Operation
    public boolean use() {
        if (!count.tryAcquire()) {
            return false;
        }
        if (releases != 0) {
            throw new IllegalStateException("released under a user");
        }
        count.release();
        return true;
    }

    /** A use in two steps, the second of which its first one carries over the owner's close. */
    @Operation
    public boolean share() {
        if (!count.tryAcquire()) {
            return false;
        }
        final boolean shared = count.tryShare();
        count.release();
        if (!shared || releases != 0) {
            throw new IllegalStateException(shared ? "released under a user" : "refused to a holder");
        }
        count.release();
        return true;
    }

    /** As by somebody who holds nothing: whether it succeeds is luck, but it must not come back to life. */
    @Operation
    public void shareAlone() {
        if (count.tryShare()) {
            if (releases != 0) {
                throw new IllegalStateException("shared after its release");
            }
            count.release();
        }
    }

    @Operation
    public void close() {
        count.close();
    }

    @Operation
    public boolean isClosed() {
        return count.isClosed();
    }

    @Validate
    public void releasedExactlyOnceWhenClosed() {
        if (releases != (count.isClosed() ? 1 : 0)) {
            throw new IllegalStateException("released " + releases + " times, closed: " + count.isClosed());
        }
    }

    @Test
    void shouldReleaseOnceAndNeverUnderAUserWhenScheduleIsArbitrary() {
        new ModelCheckingOptions().iterations(10).threads(3).actorsPerThread(3).invocationsPerIteration(500)
            .check(RefCountInterleavingTest.class);
    }

    @Test
    void shouldReleaseOnceAndNeverUnderAUserWhenThreadsRace() {
        new StressOptions().iterations(5).threads(3).actorsPerThread(3).invocationsPerIteration(1000)
            .check(RefCountInterleavingTest.class);
    }
}
