package io.kvtier.bindings.uring;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.bindings.posix.PosixFile;
import io.kvtier.kit.LeakCheck;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** An opening that is ended by an error, at whatever call, leaves nothing behind. */
@ExtendWith(LeakCheck.class)
class UringRingOpeningTest {
    private final SimulatedKernel kernel = new SimulatedKernel();
    private int callsLeft;

    /** The kernel, one of whose calls finds no memory. */
    private UringKernel poor(final int calls) {
        callsLeft = calls;
        return (UringKernel) Proxy.newProxyInstance(UringKernel.class.getClassLoader(),
            new Class<?>[] {UringKernel.class}, (proxy, method, arguments) -> call(method, arguments));
    }

    private Object call(final Method method, final Object[] arguments) throws ReflectiveOperationException {
        if (--callsLeft == 0) {
            throw new LinkageError("a test's error");
        }
        return method.invoke(kernel, arguments);
    }

    private UringRing open(final int calls) {
        return UringRing.open(poor(calls), SimulatedKernel.FEATURES, new UringOptions(4, 2, 2, 1));
    }

    @Test
    void shouldLeaveNothingBehindWhicheverCallEndsItsOpening() {
        int calls = 1;
        boolean opened = false;
        for (; !opened && calls < 100; calls++) {
            final int which = calls;
            final UringRing ring = openedOrNull(which);
            opened = ring != null;
            if (opened) {
                callsLeft = 0;
                ring.close();
            }
            assertEquals(0, kernel.openDescriptors(), "descriptors, after call " + which);
            assertEquals(0, kernel.openMappings(), "mappings, after call " + which);
        }
        assertTrue(opened && calls > 5, "an opening makes more calls than " + calls);
    }

    private UringRing openedOrNull(final int calls) {
        try {
            return open(calls);
        } catch (final LinkageError e) {
            return null;
        }
    }

    @Test
    void shouldNotHoldAFileThatItCouldNotAttach() {
        try (PosixFile file = PosixFile.inMemory("uring-opening")) {
            final UringRing ring = open(0);
            callsLeft = 1;
            assertThrows(LinkageError.class, () -> ring.attach(file));
            ring.close();
        }
        assertEquals(0, kernel.openDescriptors());
    }
}
