package io.kvtier.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class HandOverTest {
    private static final Executor OTHER = call -> Thread.ofPlatform().daemon().start(call);

    static List<Throwable> throwables() {
        return List.of(new IllegalStateException("a test's exception"), new LinkageError("a test's error"));
    }

    private static Object thrown(final Throwable thrown) {
        if (thrown instanceof Error error) {
            throw error;
        }
        throw (RuntimeException) thrown;
    }

    @Test
    void shouldGiveTheResultOfACallThatAnotherThreadMade() {
        assertNotSame(Thread.currentThread(), HandOver.call(OTHER, Thread::currentThread));
        assertEquals("result", HandOver.join(CompletableFuture.completedFuture("result")));
    }

    @ParameterizedTest
    @MethodSource("throwables")
    void shouldThrowWhatTheCallThrew(final Throwable thrown) {
        assertSame(thrown, assertThrows(thrown.getClass(), () -> HandOver.call(OTHER, () -> thrown(thrown))));
        assertSame(thrown, assertThrows(thrown.getClass(),
            () -> HandOver.join(CompletableFuture.supplyAsync(() -> thrown(thrown), OTHER))));
    }

    @Test
    void shouldThrowThatNobodyTakesTheCall() {
        final RejectedExecutionException full = new RejectedExecutionException("a test's executor is full");
        assertSame(full, assertThrows(RejectedExecutionException.class, () -> HandOver.call(call -> {
            throw full;
        }, () -> "never")));
    }

    @Test
    void shouldWrapWhatACallerNeedNotExpect() {
        final IOException checked = new IOException("a test's");
        assertSame(checked, assertThrows(CompletionException.class,
            () -> HandOver.join(CompletableFuture.failedFuture(checked))).getCause());
    }
}
