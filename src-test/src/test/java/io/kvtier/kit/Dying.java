package io.kvtier.kit;

import io.kvtier.bindings.cufile.CuFile;
import io.kvtier.bindings.cufile.CuFileApi;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;

/** A library of which one function throws an Error, as a class that cannot be linked does. */
public final class Dying {
    private Dying() {
    }

    /** A library over a simulated one whose function of this name throws. */
    public static CuFile in(final String call, final SimulatedCuFile real, final Error error) {
        final CuFileApi api = (CuFileApi) Proxy.newProxyInstance(CuFileApi.class.getClassLoader(),
            new Class<?>[] {CuFileApi.class}, (proxy, method, arguments) -> {
                if (method.getName().equals(call)) {
                    throw error;
                }
                try {
                    return method.invoke(real, arguments);
                } catch (final InvocationTargetException e) {
                    throw e.getCause();
                }
            });
        return CuFile.over(api, (address, byteSize) -> real.memory().at(address).require(byteSize));
    }
}
