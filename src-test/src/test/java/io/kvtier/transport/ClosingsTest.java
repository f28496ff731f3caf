package io.kvtier.transport;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class ClosingsTest {
    private final List<String> closed = new ArrayList<>();
    private final Closings closings = new Closings();

    private void keepFailing(final String name, final Throwable failure) {
        closings.keep(name, one -> {
            closed.add(one);
            if (failure instanceof Error error) {
                throw error;
            }
            throw (RuntimeException) failure;
        });
    }

    @Test
    void shouldCloseInReverseAndOnce() {
        assertEquals("a", closings.keep("a", closed::add));
        closings.add(() -> closed.add("step"));
        closings.keep("b", closed::add);

        closings.close();
        closings.close();

        assertEquals(List.of("b", "step", "a"), closed);
    }

    @Test
    void shouldCloseWhatWasKeptSinceItWasClosed() {
        closings.keep("a", closed::add);
        closings.close();
        closings.keep("b", closed::add);

        closings.close();

        assertEquals(List.of("a", "b"), closed);
    }

    @Test
    void shouldCloseNothingThatStaysOpen() {
        closings.keep("a", closed::add);

        closings.stayOpen();
        closings.close();

        assertEquals(List.of(), closed);
    }

    @Test
    void shouldCloseAllAndThrowTheFirstFailureWithTheOthers() {
        final Error last = new LinkageError("a");
        final RuntimeException second = new IllegalStateException("c");
        final RuntimeException first = new IllegalArgumentException("d");
        keepFailing("a", last);
        closings.keep("b", closed::add);
        keepFailing("c", second);
        keepFailing("d", first);

        assertSame(first, assertThrows(IllegalArgumentException.class, closings::close));

        assertArrayEquals(new Throwable[] {second, last}, first.getSuppressed());
        assertEquals(List.of("d", "c", "b", "a"), closed);
    }

    @Test
    void shouldThrowAnErrorAsWhatItIs() {
        final Error error = new LinkageError("b");
        keepFailing("a", new IllegalStateException("a"));
        keepFailing("b", error);

        assertSame(error, assertThrows(LinkageError.class, closings::close));
        assertEquals(List.of("b", "a"), closed);
    }

    /** The same object twice must not suppress itself, which is refused. */
    @Test
    void shouldThrowWhatSeveralThrowOnce() {
        final RuntimeException same = new IllegalStateException("same");
        keepFailing("a", same);
        keepFailing("b", same);

        assertSame(same, assertThrows(IllegalStateException.class, closings::close));
        assertArrayEquals(new Throwable[0], same.getSuppressed());
    }

    @Test
    void shouldCloseWhatWasOpenedWhenTheNextThingCannotBe() {
        final RuntimeException inClosing = new IllegalStateException("a");
        final RuntimeException reason = new IllegalArgumentException("no third");
        final RuntimeException thrown = assertThrows(IllegalArgumentException.class, () -> {
            try (closings) {
                keepFailing("a", inClosing);
                closings.keep("b", closed::add);
                throw reason;
            }
        });

        assertSame(reason, thrown);
        assertArrayEquals(new Throwable[] {inClosing}, reason.getSuppressed());
        assertEquals(List.of("b", "a"), closed);
    }
}
