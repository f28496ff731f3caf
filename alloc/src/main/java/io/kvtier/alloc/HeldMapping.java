package io.kvtier.alloc;

import io.kvtier.bindings.RefCount;
import io.kvtier.bindings.posix.Mapping;

/**
 * A mapping that is unmapped when its owner has closed it and the last who retained it has released it.
 *
 * <p><b>Threading:</b> thread-safe.
 */
final class HeldMapping {
    private final Mapping mapping;
    private final RefCount references;

    HeldMapping(final Mapping mapping) {
        this.mapping = mapping;
        this.references = new RefCount(mapping::close);
    }

    Mapping mapping() {
        return mapping;
    }

    boolean tryRetain() {
        return references.tryAcquire();
    }

    void release() {
        references.release();
    }

    /**
     * Gives the owner's hold back. A second call does nothing, or tries once more to unmap what a native call of
     * somebody who does not retain it was using.
     *
     * @throws IllegalStateException when there is such a call now; it stays mapped.
     */
    void close() {
        if (references.isReleased()) {
            mapping.close();
        } else {
            references.close();
        }
    }
}
