package io.kvtier.store.storage;

import io.kvtier.store.StoreException;
import java.util.List;

/**
 * A medium in a folder that may become another host's: nothing in it is changed when it may not be ({@link
 * FolderOwner}), and nothing read when it is known to be another's.
 *
 * <p><b>Threading:</b> as of {@link Medium}. <b>Lifetime:</b> closes the medium, not the owner.
 */
final class OwnedMedium implements Medium {
    private final Medium medium;
    private final FolderOwner owner;

    OwnedMedium(final Medium medium, final FolderOwner owner) {
        this.medium = medium;
        this.owner = owner;
    }

    @Override
    public long capacityBytes() {
        return medium.capacityBytes();
    }

    @Override
    public long usedBytes() {
        return medium.usedBytes();
    }

    @Override
    public boolean take(final StoredValue value) {
        return medium.take(value);
    }

    @Override
    public boolean reserve(final PendingStore pending) {
        return medium.reserve(pending);
    }

    @Override
    public List<PendingStore> prepare(final List<PendingStore> reserved) {
        owner.check();
        return medium.prepare(reserved);
    }

    @Override
    public void write(final List<PendingStore> batch) {
        if (isAllowed(batch)) {
            medium.write(batch);
        }
    }

    /** Files without a name stay when it is not allowed: to remove one by its path may remove another host's. */
    @Override
    public void persist(final List<PendingStore> batch) {
        if (isAllowed(batch)) {
            medium.persist(batch);
        }
    }

    private boolean isAllowed(final List<PendingStore> batch) {
        try {
            owner.check();
            return true;
        } catch (final StoreException e) {
            DataFile.failAll(batch, e);
            return false;
        }
    }

    @Override
    public void giveBack(final PendingStore pending) {
        medium.giveBack(pending);
    }

    @Override
    public void append(final List<StoredValue> removals) {
        owner.check();
        medium.append(removals);
    }

    @Override
    public void record(final List<StoredValue> removals, final List<StoredValue> replaced,
        final List<StoredValue> values) {
        owner.check();
        medium.record(removals, replaced, values);
    }

    @Override
    public void sync() {
        owner.check();
        medium.sync();
    }

    @Override
    public boolean isDamaged() {
        return medium.isDamaged();
    }

    @Override
    public boolean isWorthRewriting() {
        return medium.isWorthRewriting();
    }

    @Override
    public void rewrite(final List<StoredValue> live) {
        owner.check();
        medium.rewrite(live);
    }

    /** Values are gone already, so nobody is told; their room counts as taken until the next start. */
    @Override
    public void free(final List<StoredValue> gone) {
        if (isAllowed(List.of())) {
            medium.free(gone);
        }
    }

    @Override
    public ValueAccess access(final StoredValue value) {
        owner.checkOwned();
        return medium.access(value);
    }

    @Override
    public void close() {
        medium.close();
    }
}
