package io.kvtier.store.snapshot.files;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.NoSuchFileException;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;

/** Blobs in memory, which can be looked at and damaged. */
public final class MemoryStore implements SnapshotStore {
    private final TreeMap<String, byte[]> blobs = new TreeMap<>();
    /** What was committed and deleted, in order. */
    private final List<String> journal = new ArrayList<>();
    /** Bytes and commits that still succeed. */
    private long budget = Long.MAX_VALUE;

    public TreeMap<String, byte[]> blobs() {
        return blobs;
    }

    List<String> journal() {
        return journal;
    }

    /** After so many writes and commits every other one fails. */
    void failAfter(final long steps) {
        budget = steps;
    }

    private void spend() throws IOException {
        if (--budget < 0) {
            throw new IOException("the store is full");
        }
    }

    @Override
    public List<String> names() {
        return List.copyOf(blobs.keySet());
    }

    @Override
    public Writing create(final String name) {
        final ByteArrayOutputStream content = new ByteArrayOutputStream();
        return new Writing() {
            @Override
            public void write(final byte[] bytes, final int length) throws IOException {
                spend();
                content.write(bytes, 0, length);
            }

            @Override
            public void commit() throws IOException {
                spend();
                blobs.put(name, content.toByteArray());
                journal.add("+ " + name);
            }

            @Override
            public void close() {
                // What was not committed is not there.
            }
        };
    }

    @Override
    public InputStream read(final String name) throws IOException {
        final byte[] bytes = blobs.get(name);
        if (bytes == null) {
            throw new NoSuchFileException(name);
        }
        return new ByteArrayInputStream(bytes);
    }

    @Override
    public void delete(final String name) {
        if (blobs.remove(name) != null) {
            journal.add("- " + name);
        }
    }
}
