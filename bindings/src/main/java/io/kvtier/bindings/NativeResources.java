package io.kvtier.bindings;

import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.LongAdder;

/**
 * Live native bytes and handles of this process, by tag, so that a test or an operator can see a leak.
 *
 * <p>Owners report here when they create and when they release; nothing is freed by this class.
 *
 * <p><b>Threading:</b> thread-safe. A reading taken while others create or release is a sum of moments, exact only
 * when they rest. <b>Blocking:</b> never.
 */
public final class NativeResources {
    private static final NativeTag[] TAGS = NativeTag.values();
    private static final LongAdder[] BYTES = adders();
    private static final LongAdder[] HANDLES = adders();

    private NativeResources() {
    }

    /**
     * What is alive under one tag.
     *
     * @param handles number of live handles.
     * @param bytes   live native bytes held by them.
     */
    public record Usage(long handles, long bytes) {
    }

    /**
     * Counts a handle that has just been created.
     *
     * @param tag   its tag.
     * @param bytes native bytes it holds; 0 for a descriptor.
     */
    public static void created(final NativeTag tag, final long bytes) {
        HANDLES[tag.ordinal()].increment();
        BYTES[tag.ordinal()].add(bytes);
    }

    /**
     * Counts a handle that has just been released.
     *
     * @param tag   its tag.
     * @param bytes the bytes given at its creation.
     */
    public static void released(final NativeTag tag, final long bytes) {
        HANDLES[tag.ordinal()].decrement();
        BYTES[tag.ordinal()].add(-bytes);
    }

    /**
     * What is alive, by tag; tags with nothing alive are left out.
     *
     * @return a copy in the order of the tags.
     */
    public static Map<NativeTag, Usage> snapshot() {
        final Map<NativeTag, Usage> usage = new TreeMap<>();
        for (final NativeTag tag : TAGS) {
            final Usage one = new Usage(HANDLES[tag.ordinal()].sum(), BYTES[tag.ordinal()].sum());
            if (one.handles() != 0 || one.bytes() != 0) {
                usage.put(tag, one);
            }
        }
        return usage;
    }

    private static LongAdder[] adders() {
        final LongAdder[] adders = new LongAdder[TAGS.length];
        for (int i = 0; i < adders.length; i++) {
            adders[i] = new LongAdder();
        }
        return adders;
    }
}
