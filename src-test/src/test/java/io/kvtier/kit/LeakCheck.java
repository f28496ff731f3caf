package io.kvtier.kit;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kvtier.bindings.NativeResources;
import io.kvtier.bindings.NativeTag;
import java.util.Map;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/** Fails a test that leaves native bytes or handles behind: {@code @ExtendWith(LeakCheck.class)}. */
public final class LeakCheck implements BeforeEachCallback, AfterEachCallback {
    private static final ExtensionContext.Namespace NAMESPACE = ExtensionContext.Namespace.create(LeakCheck.class);

    @Override
    public void beforeEach(final ExtensionContext context) {
        context.getStore(NAMESPACE).put("before", NativeResources.snapshot());
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
