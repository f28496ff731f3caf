package io.kvtier.store.master.state;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.kvtier.store.protocol.AdminCommand;
import org.junit.jupiter.api.Test;

/** The arithmetic of accounts, at its limits. */
class TenantsTest {
    private static final long MAX = Long.MAX_VALUE;

    private final Tenants tenants = new Tenants(true);

    private void quota(final long bytes) {
        tenants.set(new AdminCommand.SetQuota("acme", bytes));
    }

    private long charged() {
        return tenants.list(MAX).stream().filter(info -> info.tenant().equals("acme")).findFirst().orElseThrow()
            .charged();
    }

    @Test
    void shouldRefuseToRefundMoreThanWasCharged() {
        quota(100);
        tenants.charge("acme", 60);
        assertThrows(IllegalStateException.class, () -> tenants.refund("acme", 61));
        assertThrows(IllegalStateException.class, () -> tenants.refund("nobody", 1));
        assertEquals(60, charged());
        tenants.refund("acme", 60);
        assertEquals(0, charged());
        assertThrows(IllegalStateException.class, () -> tenants.refund("acme", 1));
    }

    @Test
    void shouldSayHowMuchIsLacking() {
        quota(100);
        tenants.charge("acme", 60);
        assertEquals(0, tenants.deficit("acme", 40, 0, MAX));
        assertEquals(1, tenants.deficit("acme", 41, 0, MAX));
        assertEquals(0, tenants.deficit("acme", 50, 10, MAX), "what is given up counts");
        assertEquals(30, tenants.deficit("acme", 40, 0, 70), "of 70 bytes of memory");
        assertEquals(MAX - 40, tenants.deficit("acme", MAX, 0, MAX));
    }

    @Test
    void shouldNotWrapNearTheLargestNumber() {
        quota(MAX);
        tenants.charge("acme", MAX - 1);
        assertEquals(0, tenants.deficit("acme", 1, 0, MAX));
        assertEquals(1, tenants.deficit("acme", 2, 0, MAX));
        assertEquals(MAX - 1, tenants.deficit("acme", MAX, 0, MAX));
        quota(1);
        assertEquals(MAX - 1, tenants.deficit("acme", 1, 0, MAX));
        assertEquals(MAX, tenants.deficit("acme", 3, 0, MAX), "the largest number there is when it is more");
        assertEquals(MAX, tenants.deficit("acme", MAX, 0, MAX));
        tenants.refund("acme", MAX - 1);
        assertEquals(0, charged());
    }
}
