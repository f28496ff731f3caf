package io.kvtier.store;

import io.kvtier.transport.Printable;

/**
 * The name of an object: a key within a tenant. The same key in two tenants names two objects.
 *
 * <p><b>Threading:</b> immutable.
 *
 * @param tenant the tenant: not empty, without control characters, not starting with an underscore, at most 255 bytes
 *               of UTF-8.
 * @param key    the key: 1 to 4,096 bytes of UTF-8, any characters.
 */
public record ObjectKey(String tenant, String key) {
    /** The tenant of a key that names none. */
    public static final String DEFAULT_TENANT = "default";
    /** Longest key, in bytes of UTF-8. */
    public static final int MAX_KEY_BYTES = 4096;
    /** Longest tenant, in bytes of UTF-8. */
    public static final int MAX_TENANT_BYTES = 255;

    private static final int DELETE = 0x7f;

    /**
     * Checks tenant and key; an empty tenant becomes {@link #DEFAULT_TENANT}.
     *
     * @param tenant the tenant.
     * @param key    the key.
     * @throws StoreException INVALID_KEY, naming what is wrong.
     */
    public ObjectKey {
        if (tenant == null || tenant.isEmpty()) {
            tenant = DEFAULT_TENANT;
        }
        checkTenant(tenant);
        checkKey(key);
    }

    /**
     * A key of the default tenant.
     *
     * @param key the key.
     * @return the name.
     */
    public static ObjectKey of(final String key) {
        return new ObjectKey(DEFAULT_TENANT, key);
    }

    /**
     * A key of a tenant.
     *
     * @param tenant the tenant.
     * @param key    the key.
     * @return the name.
     */
    public static ObjectKey of(final String tenant, final String key) {
        return new ObjectKey(tenant, key);
    }

    @Override
    public String toString() {
        return Printable.of(tenant + '/' + key);
    }

    /** Written out: what a record is given does this through method handles, which cost more than the comparison. */
    @Override
    public boolean equals(final Object other) {
        return this == other
            || other instanceof ObjectKey(String itsTenant, String itsKey) && key.equals(itsKey)
            && tenant.equals(itsTenant);
    }

    @Override
    public int hashCode() {
        return 31 * tenant.hashCode() + key.hashCode();
    }

    private static void checkTenant(final String tenant) {
        if (tenant.charAt(0) == '_') {
            throw invalid("tenant '" + tenant + "' starts with an underscore, which is kept for the store itself; "
                + "use another name");
        }
        for (int i = 0; i < tenant.length(); i++) {
            final char c = tenant.charAt(i);
            if (c < ' ' || c == DELETE) {
                throw invalid("the tenant has the control character 0x" + Integer.toHexString(c) + " at position "
                    + i + "; use printable characters");
            }
        }
        final int bytes = utf8Length(tenant);
        if (bytes > MAX_TENANT_BYTES) {
            throw invalid("the tenant is " + bytes + " bytes long, at most " + MAX_TENANT_BYTES + " are allowed");
        }
    }

    private static void checkKey(final String key) {
        if (key == null || key.isEmpty()) {
            throw invalid("the key is empty; a key has 1 to " + MAX_KEY_BYTES + " bytes");
        }
        final int bytes = utf8Length(key);
        if (bytes > MAX_KEY_BYTES) {
            throw invalid("the key starting with '" + key.substring(0, 32) + "' is " + bytes
                + " bytes long, at most " + MAX_KEY_BYTES + " are allowed; use a hash of it");
        }
    }

    /** Refuses what UTF-8 cannot carry: an unpaired surrogate would come back from disk as another key. */
    private static int utf8Length(final String text) {
        int bytes = 0;
        for (int i = 0; i < text.length(); i++) {
            final char c = text.charAt(i);
            if (Character.isHighSurrogate(c) && i + 1 < text.length() && Character.isLowSurrogate(text.charAt(i + 1))) {
                i++;
                bytes += 4;
            } else if (Character.isSurrogate(c)) {
                throw invalid("half a surrogate pair at position " + i + "; UTF-8 cannot carry it");
            } else {
                bytes += c < 0x80 ? 1 : c < 0x800 ? 2 : 3;
            }
        }
        return bytes;
    }

    private static StoreException invalid(final String message) {
        return new StoreException(ErrorCode.INVALID_KEY, message);
    }
}
