package io.kvtier.store.cli;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandleProxies;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;

/**
 * Waits until the process is asked to end (SIGTERM or SIGINT). Left to itself the JVM would end with a status that
 * looks like a failure, so the signals are caught; the second one, whichever it is, ends the process the system's way,
 * for whoever does not want to wait.
 *
 * <p>The JDK has no supported call for this. A hook at the end of the process could only halt it with another status,
 * which cuts off all other hooks, and would not see a second signal. {@code sun.misc.Signal} is in every JDK, but javac
 * warns of it and cannot be told not to; so it is called by reflection. Where the JVM was told to leave signals alone
 * ({@code -Xrs}), each ends the process at once.
 */
final class StopSignals {
    private static final List<String> NAMES = List.of("TERM", "INT");

    private final CountDownLatch asked = new CountDownLatch(1);

    private StopSignals() {
    }

    /** Listens from now on. */
    static StopSignals listen() {
        final StopSignals signals = new StopSignals();
        try {
            signals.handle();
        } catch (final ReflectiveOperationException ignored) {
            // They are not to be had: then they end the process, only not in good order.
        }
        return signals;
    }

    /** Waits until somebody asks. */
    void await() throws InterruptedException {
        asked.await();
    }

    private void handle() throws ReflectiveOperationException {
        final Class<?> signal = Class.forName("sun.misc.Signal");
        final Class<?> handler = Class.forName("sun.misc.SignalHandler");
        final Method handle = signal.getMethod("handle", signal, handler);
        final Object byDefault = handler.getField("SIG_DFL").get(null);
        final List<Object> all = new ArrayList<>();
        for (final String name : NAMES) {
            all.add(signal.getConstructor(String.class).newInstance(name));
        }
        final Runnable first = () -> {
            try {
                for (final Object one : all) {
                    handle.invoke(null, one, byDefault);
                }
            } catch (final ReflectiveOperationException e) {
                throw new IllegalStateException("a second signal will not end the process", e);
            } finally {
                asked.countDown();
            }
        };
        final MethodHandle run = MethodHandles.publicLookup()
            .findVirtual(Runnable.class, "run", MethodType.methodType(void.class)).bindTo(first);
        final Object once =
            MethodHandleProxies.asInterfaceInstance(handler, MethodHandles.dropArguments(run, 0, signal));
        for (final Object one : all) {
            handle.invoke(null, one, once);
        }
    }
}
