package io.kvtier.transport;

import io.kvtier.transport.Admission.Answer;
import org.jetbrains.lincheck.datastructures.IntGen;
import org.jetbrains.lincheck.datastructures.ModelCheckingOptions;
import org.jetbrains.lincheck.datastructures.Operation;
import org.jetbrains.lincheck.datastructures.Param;
import org.junit.jupiter.api.Test;

/** Threads at the bound of what is under way. */
class AdmissionStress {
    /** Every interleaving of a few calls is one of a sequential run. */
    @Param(name = "slices", gen = IntGen.class, conf = "0:3")
    public static class Interleavings {
        private final Admission admission = new Admission(3, 10);

        @Operation
        public String take(@Param(name = "slices") final int slices) {
            return AdmissionTest.now(admission, slices, slices).name();
        }

        @Operation
        public long slices() {
            return admission.slices();
        }

        @Operation
        public void close() {
            admission.close();
        }
    }

    @Test
    void shouldAnswerAsASequentialRunWouldInEveryInterleaving() {
        new ModelCheckingOptions().threads(2).actorsPerThread(3).iterations(10).invocationsPerIteration(500)
            .sequentialSpecification(Sequential.class).check(Interleavings.class);
    }

    /** The same by plain arithmetic. */
    public static class Sequential {
        private int used;
        private boolean closed;

        public String take(final int slices) {
            if (closed) {
                return Answer.CLOSED.name();
            }
            if (used + slices > 3) {
                return Answer.FULL.name();
            }
            used += slices;
            return Answer.ADMITTED.name();
        }

        public long slices() {
            return used;
        }

        public void close() {
            closed = true;
        }
    }
}
