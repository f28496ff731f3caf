package io.kvtier.store.storage.shared;

import io.kvtier.bindings.Availability;

/** A file system that asks another one; a test overrides what it wants to answer itself. */
class ForwardingFileSystem implements FileSystemAdapter {
    private final FileSystemAdapter real;

    ForwardingFileSystem(final FileSystemAdapter real) {
        this.real = real;
    }

    @Override
    public String name() {
        return real.name();
    }

    @Override
    public SharedFile open(final String path) {
        return real.open(path);
    }

    @Override
    public Status status(final String path) {
        return real.status(path);
    }

    @Override
    public Growth grow(final String path, final long bytes) {
        return real.grow(path, bytes);
    }

    @Override
    public long freeBytes(final String folder) {
        return real.freeBytes(folder);
    }

    @Override
    public Availability pastTheCache(final String folder) {
        return real.pastTheCache(folder);
    }

    @Override
    public Availability readsPastTheCache(final String path) {
        return real.readsPastTheCache(path);
    }

    @Override
    public int descriptorsPerFile() {
        return real.descriptorsPerFile();
    }

    @Override
    public boolean isAbandoned() {
        return real.isAbandoned();
    }

    @Override
    public void close() {
        real.close();
    }
}
