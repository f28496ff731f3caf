package io.kvtier.transport.gds;

import io.kvtier.bindings.cuda.CudaContext;
import io.kvtier.bindings.cufile.CuFileDriver;
import java.util.function.Supplier;

/**
 * What the lane of a GPU is made of.
 *
 * @param driver        an open driver.
 * @param context       of the GPU; null in a simulation.
 * @param config        the settings.
 * @param registrations where memory is looked up.
 * @param threadName    what its threads are called, but for a number.
 */
record LaneParts(CuFileDriver driver, CudaContext context, GdsConfig config, Registrations registrations,
                 String threadName) {
    /** Runs something with a context current in the calling platform thread. */
    static <T> T inContext(final CudaContext context, final Supplier<T> body) {
        if (context == null) {
            return body.get();
        }
        final CudaContext.Guard guard = context.enter();
        try {
            return body.get();
        } finally {
            guard.close();
        }
    }

    /** Runs the body of a thread with the GPU's context current. */
    void inContext(final Runnable body) {
        inContext(context, () -> {
            body.run();
            return null;
        });
    }
}
