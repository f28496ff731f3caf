package io.kvtier.bindings.cuda;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.bindings.NativeResources;
import io.kvtier.bindings.NativeTag;
import io.kvtier.kit.LeakCheck;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** How memory that a driver allocated is given back; ordinary memory stands for it. */
@ExtendWith(LeakCheck.class)
@SuppressWarnings("restricted")
class PinnedMemoryTest {
    private static final int BYTES = 64;

    private final Arena arena = Arena.ofShared();
    private final AtomicInteger frees = new AtomicInteger();
    private final PinnedMemory memory = PinnedMemory.of(arena.allocate(BYTES), BYTES, frees::incrementAndGet);
    private Throwable refusal;

    @AfterEach
    void free() {
        arena.close();
    }

    @Test
    void shouldBeFreedOnceByTheLastWhoHoldsIt() {
        assertTrue(memory.tryRetain());
        memory.close();
        memory.close();
        assertEquals(0, frees.get());
        assertFalse(memory.tryRetain());

        memory.release();
        memory.close();

        assertEquals(1, frees.get());
        assertFalse(memory.segment().scope().isAlive());
    }

    @Test
    void shouldBeFreedByALaterCloseWhenANativeCallIsUsingIt() {
        closeInsideACall();

        assertInstanceOf(IllegalStateException.class, refusal);
        assertEquals(0, frees.get());
        assertTrue(NativeResources.snapshot().containsKey(NativeTag.PINNED), "counted as freed");
        memory.close();
        assertEquals(1, frees.get());
        memory.close();
        assertEquals(1, frees.get());
    }

    /** Sorts the memory, so that the C library asks here which of two numbers is less. */
    private void closeInsideACall() {
        final Linker linker = Linker.nativeLinker();
        final MethodHandle sort = linker.downcallHandle(linker.defaultLookup().find("qsort").orElseThrow(),
            FunctionDescriptor.ofVoid(ADDRESS, JAVA_LONG, JAVA_LONG, ADDRESS));
        try (Arena stub = Arena.ofConfined()) {
            final MethodHandle compare = MethodHandles.lookup().bind(this, "compare",
                MethodType.methodType(int.class, MemorySegment.class, MemorySegment.class));
            sort.invokeExact(memory.segment(), 2L, 4L,
                linker.upcallStub(compare, FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS), stub));
        } catch (final Throwable e) {
            throw new AssertionError(e);
        }
    }

    /** Nothing may be thrown into C. */
    private int compare(final MemorySegment one, final MemorySegment other) {
        try {
            memory.close();
        } catch (final RuntimeException | Error e) {
            refusal = e;
        }
        return 0;
    }
}
