package io.kvtier.transport.rpc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.Threads;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;

/** What waits to be written, and how much of it there may be. */
class FrameOutputTest {
    private static final byte[] LARGE = new byte[1 << 20];

    private static boolean add(final FrameOutput output, final byte[] body) {
        return output.add(RpcFrame.REPLY, 0, 1, 0, body);
    }

    @Test
    void shouldWriteEveryByteOfALargeFrameInPieces() throws IOException {
        final ByteArrayOutputStream written = new ByteArrayOutputStream();
        final FrameOutput output = new FrameOutput(written, Integer.MAX_VALUE);
        final byte[] body = new byte[(3 << 20) + 5];
        body[body.length - 1] = 9;
        assertTrue(add(output, body));
        output.flush();

        assertEquals(RpcFrame.HEADER_BYTES + body.length, written.size());
        assertEquals(9, written.toByteArray()[written.size() - 1]);
        assertEquals(0, output.stalledNanos());
    }

    @Test
    void shouldTakeNoMoreThanTheBudgetThatOutputsShare() throws IOException {
        final FrameOutput.Budget budget = new FrameOutput.Budget(3 << 20);
        final FrameOutput first = new FrameOutput(OutputStream.nullOutputStream(), Integer.MAX_VALUE, budget);
        final FrameOutput second = new FrameOutput(OutputStream.nullOutputStream(), Integer.MAX_VALUE, budget);
        assertTrue(add(first, LARGE));
        assertTrue(add(second, LARGE));
        final FrameOutput third = new FrameOutput(OutputStream.nullOutputStream(), Integer.MAX_VALUE, budget);
        assertFalse(add(third, LARGE));
        assertTrue(add(third, new byte[100]), "little costs nothing");

        first.flush();
        assertTrue(add(third, LARGE), "what was written is given back");
        second.close();
        third.close();
        assertEquals(0, budget.taken());
        assertFalse(add(second, new byte[1]), "it is closed");
    }

    @Test
    void shouldGiveItsPartOfTheBudgetBackWhenItIsClosedInTheMiddleOfAWrite() {
        final CountDownLatch writing = new CountDownLatch(1);
        final CountDownLatch on = new CountDownLatch(1);
        final FrameOutput.Budget budget = new FrameOutput.Budget(16 << 20);
        final FrameOutput output = new FrameOutput(new OutputStream() {
            @Override
            public void write(final int one) throws IOException {
                throw new IOException("only in pieces");
            }

            @Override
            public void write(final byte[] bytes, final int from, final int count) throws IOException {
                writing.countDown();
                try {
                    on.await();
                } catch (final InterruptedException e) {
                    throw new IOException(e);
                }
                throw new IOException("closed meanwhile");
            }
        }, Integer.MAX_VALUE, budget);
        assertTrue(add(output, LARGE));
        final CompletableFuture<IOException> flush =
            Threads.start(() -> assertThrows(IOException.class, output::flush));
        try {
            writing.await();
        } catch (final InterruptedException e) {
            throw new AssertionError(e);
        }
        assertTrue(output.stalledNanos() > 0);
        assertTrue(add(output, LARGE));
        output.close();
        assertTrue(budget.taken() > LARGE.length, "the write still has its buffer");
        on.countDown();
        flush.join();
        assertEquals(0, budget.taken());
        assertEquals(0, output.stalledNanos());
    }
}
