package io.kvtier.bindings.uring;

import com.sun.management.ThreadMXBean;
import io.kvtier.bindings.posix.OpenMode;
import io.kvtier.bindings.posix.PosixFile;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.management.ManagementFactory;

/**
 * What the hot path of a ring leaves on the heap, in a JVM that runs nothing else: what a compiler inlines depends on
 * what has run before, and other tests of the same JVM may not count here.
 */
final class RingAllocation {
    private static final int BLOCK = 4096;

    private RingAllocation() {
    }

    /** Reads a file of eight blocks again and again, and prints the bytes that the last round of it allocated. */
    public static void main(final String... arguments) {
        final ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        try (Arena arena = Arena.ofShared(); PosixFile file = PosixFile.open(arguments[0], OpenMode.READ);
            UringRing ring = UringRing.open(UringOptions.ofDepth(4).withSlots(1, 1));
            UringFile attached = ring.attach(file); RegisteredBuffer buffer = ring.register(arena.allocate(BLOCK))) {
            final MemorySegment target = arena.allocate(BLOCK);
            final SegmentVector vector = new SegmentVector(20);
            final UserDataTable<Object> requests = new UserDataTable<>(4);
            final CompletionHandler handler = (userData, result) -> requests.take(userData);
            long allocated = 1;
            // Interpreted and half-compiled code may allocate; a round of the compiled code must not.
            for (int round = 0; round < 500 && allocated > 0; round++) {
                final long before = threads.getCurrentThreadAllocatedBytes();
                for (int i = 0; i < 200; i++) {
                    vector.clear();
                    for (int piece = 0; piece < 20; piece++) {
                        vector.add(target, piece * 50L, 50);
                    }
                    ring.read(attached, target, i, requests.put(target));
                    ring.read(attached, target, i, 100, 0, requests.put(target));
                    ring.readFixed(attached, buffer, 0, BLOCK, i, requests.put(buffer));
                    ring.readVector(attached, vector, i, requests.put(vector));
                    ring.submitAndWait(4, 1L << 40);
                    ring.reap(handler);
                }
                allocated = threads.getCurrentThreadAllocatedBytes() - before;
            }
            System.out.println("allocated " + allocated);
        }
    }
}
