package io.kvtier.kit;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kvtier.bindings.NativeResources;
import io.kvtier.bindings.NativeTag;
import java.util.Map;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.TestInstanceFactoryContext;
import org.junit.jupiter.api.extension.TestInstancePreConstructCallback;

/** Fails a test that leaves native bytes or handles behind: {@code @ExtendWith(LeakCheck.class)}. */
public final class LeakCheck implements TestInstancePreConstructCallback, AfterEachCallback {
    private static final ExtensionContext.Namespace NAMESPACE = ExtensionContext.Namespace.create(LeakCheck.class);

    // Before the fields of the test are made, which may hold native resources of their own.
    @Override
    public void preConstructTestInstance(final TestInstanceFactoryContext factory, final ExtensionContext context) {
        context.getStore(NAMESPACE).put("before", NativeResources.snapshot());
    }

    @Override
    public ExtensionContextScope getTestInstantiationExtensionContextScope(final ExtensionContext root) {
        return ExtensionContextScope.TEST_METHOD;
    }

    @Override
    public void afterEach(final ExtensionContext context) {
        if (context.getExecutionException().isEmpty()) {
            assertEquals(context.getStore(NAMESPACE).get("before"), NativeResources.snapshot(),
                "native resources after the test differ from before it");
        }
    }

    /**
     * Runs a piece of a test and fails when it leaves native resources behind; for jqwik properties, which JUnit's
     * extensions do not reach.
     *
     * @param body the piece.
     */
    public static void around(final Runnable body) {
        final Map<NativeTag, NativeResources.Usage> before = NativeResources.snapshot();
        body.run();
        assertEquals(before, NativeResources.snapshot(), "native resources after the run differ from before it");
    }
}
