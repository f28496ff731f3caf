package io.kvtier.bindings;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class RefCountTest {
    private final AtomicInteger releases = new AtomicInteger();
    private final RefCount count = new RefCount(releases::incrementAndGet);

    @Test
    void shouldReleaseAtOnceWhenOwnerClosesAndNobodyUsesIt() {
        count.close();

        assertEquals(1, releases.get());
        assertTrue(count.isClosed());
    }

    @Test
    void shouldReleaseWithLastUserWhenOwnerClosesUnderUse() {
        assertTrue(count.tryAcquire());
        assertTrue(count.tryAcquire());
        count.close();
        assertTrue(count.isClosed());
        assertEquals(0, releases.get());

        count.release();
        assertEquals(0, releases.get());
        count.release();

        assertEquals(1, releases.get());
    }

    @Test
    void shouldRefuseNewUsersWhenClosedThoughOldOnesAreStillThere() {
        assertTrue(count.tryAcquire());
        count.close();

        assertFalse(count.tryAcquire());
        count.release();
        assertFalse(count.tryAcquire());
        assertEquals(1, releases.get());
    }

    @Test
    void shouldBeSharedByAHolderAfterTheOwnerHasClosed() {
        assertTrue(count.tryShare());
        count.close();
        assertTrue(count.tryShare());
        count.release();
        assertEquals(0, releases.get());

        count.release();
        assertEquals(1, releases.get());
        assertFalse(count.tryShare());
        assertEquals(1, releases.get());
    }

    @Test
    void shouldReleaseOnceWhenClosedTwice() {
        assertTrue(count.tryAcquire());
        count.close();
        count.close();
        assertEquals(0, releases.get());

        count.release();
        count.close();

        assertEquals(1, releases.get());
    }

    @Test
    void shouldRefuseToGiveBackTheOwnersReferenceWhenItIsTheOnlyOne() {
        assertThrows(IllegalStateException.class, count::release);

        assertEquals(0, releases.get());
        assertTrue(count.tryAcquire(), "the refused call must have changed nothing");
        count.release();
        count.close();
        assertEquals(1, releases.get());
    }

    @Test
    void shouldStayReleasedWhenGivenBackTooOften() {
        count.close();

        assertThrows(IllegalStateException.class, count::release);
        assertThrows(IllegalStateException.class, count::release);

        assertFalse(count.tryAcquire());
        count.close();
        assertEquals(1, releases.get());
    }

    @Test
    void shouldStayOpenWhenUsedAndLeftManyTimes() {
        for (int i = 0; i < 1000; i++) {
            assertTrue(count.tryAcquire());
            count.release();
        }

        assertFalse(count.isClosed());
        assertEquals(0, releases.get());
    }
}
