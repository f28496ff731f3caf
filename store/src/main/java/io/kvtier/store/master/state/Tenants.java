package io.kvtier.store.master.state;

import io.kvtier.store.ErrorCode;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.StoreException;
import io.kvtier.store.protocol.AdminCommand;
import io.kvtier.store.protocol.AdminCommand.TenantInfo;
import io.kvtier.store.protocol.Command.Ack;
import io.kvtier.store.snapshot.SavedTenant;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Accounts of tenants: what they have, and what they may have.
 *
 * <p>A tenant is charged the size of the value for each memory replica that belongs to one of its objects, from when it
 * is placed until it is taken away from the object. {@link SpaceTier} places all replicas and takes all of them away,
 * and calls here whenever it does; nobody else changes a charge.
 *
 * <p>While all quotas together exceed the memory there is, each is scaled down in proportion. What that leaves over by
 * rounding goes byte by byte to those with the largest remainders, by name where these are equal.
 */
final class Tenants {
    private final boolean strict;
    private final Map<String, Account> accounts = new HashMap<>();
    /** The memory that effective quotas were computed for; negative when a quota has changed since. */
    private long scaledFor = -1;

    private static final class Account {
        private final String tenant;
        private long requested;
        private long effective;
        private long charged;
        private long leaving;
        private long objects;
        private long rejections;
        private long evictedBytes;

        Account(final String tenant) {
            this.tenant = tenant;
        }

        boolean isUnused() {
            return requested == 0 && charged == 0 && objects == 0;
        }
    }

    /** Nobody known; when not strict everybody may store what there is room for. */
    Tenants(final boolean strict) {
        this.strict = strict;
    }

    boolean isStrict() {
        return strict;
    }

    Ack set(final AdminCommand.SetQuota quota) {
        checkMode();
        if (quota.bytes() <= 0) {
            throw new StoreException(ErrorCode.INVALID_PARAMS, "a quota of " + quota.bytes() + " bytes for tenant '"
                + quota.tenant() + "'; a quota is more than 0");
        }
        account(name(quota.tenant())).requested = quota.bytes();
        scaledFor = -1;
        return Ack.OK;
    }

    Ack delete(final AdminCommand.DeleteQuota quota) {
        checkMode();
        final String tenant = name(quota.tenant());
        if (!isRegistered(tenant)) {
            throw unregistered(tenant);
        }
        final Account account = accounts.get(tenant);
        if (account.charged > 0 || account.objects > 0) {
            throw new StoreException(ErrorCode.TENANT_NOT_EMPTY, "tenant '" + tenant + "' has " + account.objects
                + " objects with " + account.charged + " bytes in memory; remove them first");
        }
        accounts.remove(tenant);
        scaledFor = -1;
        return Ack.OK;
    }

    private void checkMode() {
        if (!strict) {
            throw new StoreException(ErrorCode.UNAVAILABLE_IN_CURRENT_MODE,
                "this master has no quotas; start it with enable_multi_tenants");
        }
    }

    /** The tenant's name as keys have it; refuses what cannot be one. */
    private static String name(final String tenant) {
        return ObjectKey.of(tenant, "quota").tenant();
    }

    List<TenantInfo> list(final long memory) {
        scale(memory);
        return accounts.values().stream().sorted(Comparator.comparing((Account account) -> account.tenant))
            .map(account -> new TenantInfo(account.tenant, account.requested, account.effective, account.charged,
                account.objects, account.rejections, account.evictedBytes)).toList();
    }

    /** Those with a quota, for a snapshot. Without quotas there is no need to look. */
    List<SavedTenant> save() {
        if (!strict) {
            return List.of();
        }
        return accounts.values().stream().filter(account -> account.requested > 0)
            .map(account -> new SavedTenant(account.tenant, account.requested, account.rejections,
                account.evictedBytes)).toList();
    }

    /** Takes the quotas of a snapshot, where there are quotas. */
    void restore(final List<SavedTenant> saved) {
        if (!strict) {
            return;
        }
        for (final SavedTenant one : saved) {
            final Account account = account(one.tenant());
            account.requested = one.quota();
            account.rejections = one.rejections();
            account.evictedBytes = one.evictedBytes();
        }
        scaledFor = -1;
    }

    /** Refuses a tenant that has no quota where one is needed. */
    void checkRegistered(final String tenant) {
        if (strict && !isRegistered(tenant)) {
            throw unregistered(tenant);
        }
    }

    boolean isRegistered(final String tenant) {
        final Account account = accounts.get(tenant);
        return account != null && account.requested > 0;
    }

    static StoreException unregistered(final String tenant) {
        return new StoreException(ErrorCode.TENANT_NOT_REGISTERED, "tenant '" + tenant
            + "' has no quota; an operator must give it one before it can store anything");
    }

    /**
     * By how much a registered tenant would exceed its quota.
     *
     * @param bytes  that it wants more of.
     * @param credit bytes of what it gives up for that.
     * @param memory bytes of memory there are.
     */
    long deficit(final String tenant, final long bytes, final long credit, final long memory) {
        scale(memory);
        final Account account = accounts.get(tenant);
        final long left = account.effective - (account.charged - credit);
        if (left >= bytes) {
            return 0;
        }
        return left < 0 && bytes > Long.MAX_VALUE + left ? Long.MAX_VALUE : bytes - left;
    }

    /** Counts a put that is refused, and says why. */
    StoreException exceeded(final String tenant, final long bytes) {
        final Account account = accounts.get(tenant);
        account.rejections++;
        return new StoreException(ErrorCode.TENANT_QUOTA_EXCEEDED, "tenant '" + tenant + "' needs " + bytes
            + " more bytes, and has used " + account.charged + " of " + account.effective + " (its quota is "
            + account.requested + "); remove values, let leases end, or raise the quota");
    }

    /** A registered tenant lost values to make room in its quota. */
    void evicted(final String tenant, final long bytes) {
        accounts.get(tenant).evictedBytes += bytes;
    }

    /** A memory replica belongs to the tenant from now on. */
    void charge(final String tenant, final long bytes) {
        if (bytes > 0) {
            account(tenant).charged += bytes;
        }
    }

    /** A memory replica is no longer the tenant's. */
    void refund(final String tenant, final long bytes) {
        if (bytes == 0) {
            // Of a tenant that may have nothing else left, and so is not known any more.
            return;
        }
        final Account account = accounts.get(tenant);
        if (account == null || account.charged < bytes) {
            throw new IllegalStateException("tenant '" + tenant + "' is to be refunded " + bytes
                + " bytes and was charged " + (account == null ? 0 : account.charged));
        }
        account.charged -= bytes;
        forget(account);
    }

    /** Bytes of the tenant are on their way to a disk, or no more (negative); they are charged until they are there. */
    void leaving(final String tenant, final long bytes) {
        account(tenant).leaving += bytes;
    }

    long leaving(final String tenant) {
        final Account account = accounts.get(tenant);
        return account == null ? 0 : account.leaving;
    }

    void objectAdded(final String tenant) {
        account(tenant).objects++;
    }

    void objectRemoved(final String tenant) {
        final Account account = accounts.get(tenant);
        account.objects--;
        forget(account);
    }

    private Account account(final String tenant) {
        return accounts.computeIfAbsent(tenant, Account::new);
    }

    private void forget(final Account account) {
        if (account.isUnused()) {
            accounts.remove(account.tenant);
        }
    }

    private void scale(final long memory) {
        if (scaledFor == memory) {
            return;
        }
        scaledFor = memory;
        final List<Account> registered = new ArrayList<>();
        BigInteger sum = BigInteger.ZERO;
        for (final Account account : accounts.values()) {
            account.effective = account.requested;
            if (account.requested > 0) {
                registered.add(account);
                sum = sum.add(BigInteger.valueOf(account.requested));
            }
        }
        if (sum.compareTo(BigInteger.valueOf(memory)) > 0) {
            scaleDown(registered, sum, memory);
        }
    }

    private record Share(Account account, BigInteger remainder) {
    }

    private static void scaleDown(final List<Account> registered, final BigInteger sum, final long memory) {
        final List<Share> shares = new ArrayList<>(registered.size());
        long left = memory;
        for (final Account account : registered) {
            final BigInteger[] parts =
                BigInteger.valueOf(account.requested).multiply(BigInteger.valueOf(memory)).divideAndRemainder(sum);
            account.effective = parts[0].longValueExact();
            left -= account.effective;
            shares.add(new Share(account, parts[1]));
        }
        shares.sort(Comparator.comparing(Share::remainder).reversed()
            .thenComparing(share -> share.account().tenant));
        for (int i = 0; i < left; i++) {
            shares.get(i).account().effective++;
        }
    }
}
