package io.kvtier.store.cli;

import java.lang.reflect.Proxy;
import java.util.concurrent.CountDownLatch;

/**
 * Waits until the process is asked to end (SIGTERM or SIGINT). Left to itself the JVM would end with a status that
 * looks like a failure, so the signals are caught; the second one ends the process the system's way, for whoever does
 * not want to wait.
 *
 * <p>The JDK has no supported call for this. {@code sun.misc.Signal} is in every JDK, but javac warns of it and cannot
 * be told not to; so it is called by reflection. Where it is missing, or the JVM was told to leave signals alone
 * ({@code -Xrs}), a hook at the end of the process does, and only the exit status differs.
 */
final class StopSignals {
    private static final String SIGNAL = "sun.misc.Signal";
    private static final String HANDLER = "sun.misc.SignalHandler";

    private final CountDownLatch asked = new CountDownLatch(1);
    private final CountDownLatch ended = new CountDownLatch(1);

    private StopSignals() {
    }

    /** Listens from now on. */
    static StopSignals listen() {
        final StopSignals signals = new StopSignals();
        try {
            signals.handle("TERM");
            signals.handle("INT");
        } catch (final ReflectiveOperationException e) {
            Runtime.getRuntime().addShutdownHook(new Thread(signals::stopAndWait, "kvtier-stop"));
        }
        return signals;
    }

    /** Waits until somebody asks. */
    void await() throws InterruptedException {
        asked.await();
    }

    /** As a signal does. */
    void stop() {
        asked.countDown();
    }

    /** Everything is closed: a hook need not keep the process any longer. */
    void done() {
        ended.countDown();
    }

    private void stopAndWait() {
        stop();
        try {
            ended.await();
        } catch (final InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void handle(final String name) throws ReflectiveOperationException {
        final Class<?> signalClass = Class.forName(SIGNAL);
        final Class<?> handlerClass = Class.forName(HANDLER);
        final Object signal = signalClass.getConstructor(String.class).newInstance(name);
        final Object byDefault = handlerClass.getField("SIG_DFL").get(null);
        final Object handler = Proxy.newProxyInstance(StopSignals.class.getClassLoader(), new Class<?>[] {handlerClass},
            (proxy, method, arguments) -> switch (method.getName()) {
                case "handle" -> {
                    signalClass.getMethod("handle", signalClass, handlerClass).invoke(null, signal, byDefault);
                    stop();
                    yield null;
                }
                case "equals" -> proxy == arguments[0];
                case "hashCode" -> System.identityHashCode(proxy);
                default -> name;
            });
        signalClass.getMethod("handle", signalClass, handlerClass).invoke(null, signal, handler);
    }
}
