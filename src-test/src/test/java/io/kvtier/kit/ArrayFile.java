package io.kvtier.kit;

import io.kvtier.bindings.posix.BlockFile;
import io.kvtier.bindings.posix.Errno;
import io.kvtier.bindings.posix.ErrnoException;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;

/** A file that is a byte array, and refuses with EINVAL what direct I/O of its alignment refuses. */
public final class ArrayFile implements BlockFile {
    private final int alignment;
    private byte[] content;

    public ArrayFile(final int alignment, final byte[] content) {
        this.alignment = alignment;
        this.content = content.clone();
    }

    public synchronized byte[] content() {
        return content.clone();
    }

    @Override
    public String path() {
        return "array";
    }

    @Override
    public int alignment() {
        return alignment;
    }

    @Override
    public synchronized long read(final MemorySegment target, final long offset) {
        checkAligned("pread", target, offset);
        final long count = Math.max(0, Math.min(target.byteSize(), content.length - offset));
        MemorySegment.copy(MemorySegment.ofArray(content), count == 0 ? 0 : offset, target, 0, count);
        return count;
    }

    @Override
    public synchronized long write(final MemorySegment source, final long offset) {
        checkAligned("pwrite", source, offset);
        preallocate(offset, source.byteSize());
        MemorySegment.copy(source, 0, MemorySegment.ofArray(content), offset, source.byteSize());
        return source.byteSize();
    }

    @Override
    public void sync() {
        // Memory.
    }

    @Override
    public synchronized void preallocate(final long offset, final long length) {
        content = Arrays.copyOf(content, Math.max(content.length, Math.toIntExact(offset + length)));
    }

    @Override
    public synchronized long size() {
        return content.length;
    }

    @Override
    public String identity() {
        return "array:" + System.identityHashCode(this);
    }

    @Override
    public void close() {
        // Memory.
    }

    private void checkAligned(final String call, final MemorySegment memory, final long offset) {
        if ((memory.address() | memory.byteSize() | offset) % alignment != 0) {
            throw new ErrnoException(call, Errno.EINVAL, "array, not aligned to " + alignment);
        }
    }
}
