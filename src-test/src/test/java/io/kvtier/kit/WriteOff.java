package io.kvtier.kit;

import io.kvtier.bindings.NativeResources;
import io.kvtier.bindings.NativeTag;
import java.util.Map;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * Writes off the native resources that a test has left behind on purpose, since a device may still use them: they stay
 * until the process ends, and are no longer counted, so that other tests find the counts as they left them.
 */
public final class WriteOff implements BeforeEachCallback, AfterEachCallback {
    private static final ExtensionContext.Namespace NAMESPACE = ExtensionContext.Namespace.create(WriteOff.class);
    private static final NativeResources.Usage NONE = new NativeResources.Usage(0, 0);

    @Override
    public void beforeEach(final ExtensionContext context) {
        context.getStore(NAMESPACE).put("before", NativeResources.snapshot());
    }

    @Override
    @SuppressWarnings("unchecked") // It was put there.
    public void afterEach(final ExtensionContext context) {
        final Map<NativeTag, NativeResources.Usage> before =
            (Map<NativeTag, NativeResources.Usage>) context.getStore(NAMESPACE).get("before");
        NativeResources.snapshot().forEach((tag, now) -> {
            final NativeResources.Usage then = before.getOrDefault(tag, NONE);
            long bytes = now.bytes() - then.bytes();
            for (long i = then.handles(); i < now.handles(); i++) {
                NativeResources.released(tag, bytes);
                bytes = 0;
            }
        });
    }
}
