package io.kvtier.store.cli.bench;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

final class RigTest {
    private final List<String> closed = new ArrayList<>();

    private void keep(final Rig rig, final String name, final RuntimeException failure) {
        rig.keep(name, one -> {
            closed.add(one);
            if (failure != null) {
                throw failure;
            }
        });
    }

    @Test
    void shouldCloseAllInReverseAndTellOfEveryFailure() {
        final RuntimeException first = new IllegalStateException("c");
        final RuntimeException second = new IllegalStateException("a");
        final Rig rig = new Rig();
        keep(rig, "a", second);
        keep(rig, "b", null);
        keep(rig, "c", first);

        assertSame(first, assertThrows(IllegalStateException.class, rig::close));
        assertArrayEquals(new Throwable[] {second}, first.getSuppressed());
        assertEquals(List.of("c", "b", "a"), closed);
    }

    /** The reason is what the row shows in place of a figure. */
    @Test
    void shouldSayWhyItCouldNotBeFittedThoughClosingFailsToo() {
        final IOException reason = new IOException("no such server");
        final RuntimeException inClosing = new IllegalStateException("a");
        assertSame(reason, assertThrows(IOException.class, () -> Rig.with(rig -> {
            keep(rig, "a", inClosing);
            throw reason;
        })));
        assertArrayEquals(new Throwable[] {inClosing}, reason.getSuppressed());
        assertEquals(List.of("a"), closed);
    }
}
