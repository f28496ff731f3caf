package io.kvtier.alloc;

/** How a thread learns of its access to a page that is gone. */
final class PageFaults {
    private PageFaults() {
    }

    /**
     * Takes what is pending for this thread: {@link HostMemory#raiseFault()} of memory that is mapped from a file.
     *
     * @throws InternalError when there was such an access.
     */
    static void raise() {
        // A method of the JVM that is native and never inlined: on the way back into Java a thread takes what is
        // pending for it. This one only reads a number.
        Runtime.getRuntime().totalMemory();
    }
}
