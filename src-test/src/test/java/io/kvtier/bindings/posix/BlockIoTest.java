package io.kvtier.bindings.posix;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.ArrayFile;
import io.kvtier.kit.Faults;
import io.kvtier.kit.Faults.Call;
import io.kvtier.kit.FaultyFile;
import io.kvtier.kit.PatternBytes;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class BlockIoTest {
    private static final int BLOCK = 512;

    private final Arena arena = Arena.ofConfined();
    private final Faults faults = new Faults();
    private final byte[] content = PatternBytes.of(1, 8 * BLOCK);

    @AfterEach
    void freeMemory() {
        arena.close();
    }

    private MemorySegment memory(final int length) {
        return arena.allocate(length, BLOCK);
    }

    private MemorySegment memory(final byte[] bytes) {
        final MemorySegment memory = memory(bytes.length);
        MemorySegment.copy(MemorySegment.ofArray(bytes), 0, memory, 0, bytes.length);
        return memory;
    }

    @Test
    void shouldTryAgainWhenASignalInterruptsTheCall() {
        faults.failNth(Call.READ, 1, Errno.EINTR).failNth(Call.READ, 2, Errno.EINTR)
            .failNth(Call.WRITE, 1, Errno.EINTR);
        final ArrayFile real = new ArrayFile(1, content);
        final FaultyFile file = new FaultyFile(real, faults);
        final MemorySegment target = memory(100);

        assertEquals(100, BlockIo.readFully(file, target, 5));
        BlockIo.writeFully(file, target, 0);

        assertArrayEquals(Arrays.copyOfRange(content, 5, 105), PatternBytes.copyOf(target));
        assertArrayEquals(Arrays.copyOfRange(content, 5, 105), Arrays.copyOf(real.content(), 100));
        assertEquals(3, faults.count(Call.READ));
        assertEquals(2, faults.count(Call.WRITE));
    }

    @Test
    void shouldGoOnWhereItStoppedWhenCallsAreShort() {
        faults.mostPerCall(7);
        final ArrayFile real = new ArrayFile(1, content);
        final FaultyFile file = new FaultyFile(real, faults);
        final MemorySegment target = memory(100);

        assertEquals(100, BlockIo.readFully(file, target, 50));
        assertArrayEquals(Arrays.copyOfRange(content, 50, 150), PatternBytes.copyOf(target));
        assertEquals(15, faults.count(Call.READ), "100 bytes by 7");

        final byte[] data = PatternBytes.of(2, 100);
        BlockIo.writeFully(file, memory(data), 30);
        final byte[] expected = content.clone();
        System.arraycopy(data, 0, expected, 30, 100);
        assertArrayEquals(expected, real.content());
    }

    @Test
    void shouldSayHowMuchThereWasWhenTheFileEnds() {
        final FaultyFile file = new FaultyFile(new ArrayFile(1, content), faults.mostPerCall(100));

        assertEquals(150, BlockIo.readFully(file, memory(1000), content.length - 150));
        assertEquals(0, BlockIo.readFully(file, memory(1000), content.length));
        assertEquals(0, BlockIo.readFully(file, memory(1000), content.length + 1_000_000));
    }

    @Test
    void shouldStopAtTheEndWhenADirectReadComesBackUnaligned() {
        final byte[] odd = Arrays.copyOf(content, 3 * BLOCK + 100);
        final FaultyFile file = new FaultyFile(new ArrayFile(BLOCK, odd), faults);
        final MemorySegment target = memory(6 * BLOCK);

        assertEquals(2 * BLOCK + 100, BlockIo.readFully(file, target, BLOCK));
        assertEquals(1, faults.count(Call.READ), "asking for the rest would fail with EINVAL");
    }

    @Test
    void shouldMoveNothingAndMakeNoCallWhenLengthIsZero() {
        final FaultyFile file = new FaultyFile(new ArrayFile(BLOCK, content), faults);

        assertEquals(0, BlockIo.readFully(file, MemorySegment.NULL, 0));
        BlockIo.writeFully(file, MemorySegment.NULL, 0);

        assertEquals(0, faults.count(Call.READ) + faults.count(Call.WRITE));
    }

    @Test
    void shouldFailAtOnceWhenTheErrorIsNotAnInterrupt() {
        faults.failNth(Call.READ, 2, Errno.EIO).failNth(Call.WRITE, 1, Errno.EDQUOT).mostPerCall(10);
        final FaultyFile file = new FaultyFile(new ArrayFile(1, content), faults);

        assertEquals(5, assertThrows(ErrnoException.class, () -> BlockIo.readFully(file, memory(100), 0)).errno());
        assertEquals(2, faults.count(Call.READ));
        assertEquals(122, assertThrows(ErrnoException.class, () -> BlockIo.writeFully(file, memory(100), 0)).errno());
        assertEquals(1, faults.count(Call.WRITE));
    }

    @Test
    void shouldFailWithEnospcWhenTheDiskFillsUnderAWrite() {
        faults.fullAfter(60);
        final ArrayFile real = new ArrayFile(1, new byte[0]);
        final FaultyFile file = new FaultyFile(real, faults);
        final byte[] data = PatternBytes.of(3, 100);

        assertEquals(28, assertThrows(ErrnoException.class, () -> BlockIo.writeFully(file, memory(data), 0)).errno());
        assertArrayEquals(Arrays.copyOf(data, 60), real.content());
    }

    @Test
    void shouldFailWithEioWhenAWriteMovesNothing() {
        final BlockFile stuck = new Stuck(1, 0);

        final ErrnoException e =
            assertThrows(ErrnoException.class, () -> BlockIo.writeFully(stuck, memory(100), 1000));

        assertEquals(5, e.errno());
        assertTrue(e.getMessage().contains("stuck"), e.getMessage());
        assertTrue(e.getMessage().contains("offset 1000"), e.getMessage());
    }

    @Test
    void shouldFailWithEioWhenADirectWriteTakesLessThanABlock() {
        assertEquals(5, assertThrows(ErrnoException.class,
            () -> BlockIo.writeFully(new Stuck(BLOCK, BLOCK - 1), memory(2 * BLOCK), 0)).errno());
    }

    @Test
    @SuppressWarnings("restricted")
    void shouldSplitWhenMoreIsAskedThanOneCallMoves() {
        final Sizes sizes = new Sizes();
        // Never touched: there is nothing at that address.
        final MemorySegment huge = MemorySegment.ofAddress(4096).reinterpret((5L << 29) + 7);

        assertEquals(huge.byteSize(), BlockIo.readFully(sizes, huge, 1L << 40));

        assertEquals(List.of("1073741824@1099511627776", "1073741824@1100585369600", "536870919@1101659111424"),
            sizes.calls);
    }

    /** Takes the same few bytes of every write. */
    private static final class Stuck extends Refusing {
        private final int count;

        Stuck(final int alignment, final int count) {
            super(alignment);
            this.count = count;
        }

        @Override
        public long write(final MemorySegment source, final long offset) {
            return count;
        }
    }

    /** Says that it has read everything, and touches nothing. */
    private static final class Sizes extends Refusing {
        private final List<String> calls = new ArrayList<>();

        Sizes() {
            super(4096);
        }

        @Override
        public long read(final MemorySegment target, final long offset) {
            calls.add(target.byteSize() + "@" + offset);
            return target.byteSize();
        }
    }

    private abstract static class Refusing implements BlockFile {
        private final int alignment;

        Refusing(final int alignment) {
            this.alignment = alignment;
        }

        @Override
        public final String path() {
            return "stuck";
        }

        @Override
        public final int alignment() {
            return alignment;
        }

        @Override
        public long read(final MemorySegment target, final long offset) {
            throw new AssertionError("not expected");
        }

        @Override
        public long write(final MemorySegment source, final long offset) {
            throw new AssertionError("not expected");
        }

        @Override
        public final void sync() {
            throw new AssertionError("not expected");
        }

        @Override
        public final void preallocate(final long offset, final long length) {
            throw new AssertionError("not expected");
        }

        @Override
        public final long size() {
            throw new AssertionError("not expected");
        }

        @Override
        public final String identity() {
            throw new AssertionError("not expected");
        }

        @Override
        public final void close() {
            // Nothing to give back.
        }
    }
}
