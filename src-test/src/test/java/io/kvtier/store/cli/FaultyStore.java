package io.kvtier.store.cli;

import io.kvtier.store.Store;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;

/** A real store with one call replaced. */
final class FaultyStore {
    private FaultyStore() {
    }

    /** What happens instead of a call, or around it. */
    interface Fault {
        Object call(Store real, Method method, Object[] arguments) throws ReflectiveOperationException;
    }

    static Store around(final Store real, final String name, final Fault fault) {
        return (Store) Proxy.newProxyInstance(Store.class.getClassLoader(), new Class<?>[] {Store.class},
            (proxy, method, arguments) -> {
                try {
                    return method.getName().equals(name) ? fault.call(real, method, arguments)
                        : method.invoke(real, arguments);
                } catch (final InvocationTargetException e) {
                    throw e.getCause();
                }
            });
    }
}
