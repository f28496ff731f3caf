package io.kvtier.kit;

import io.kvtier.bindings.posix.BlockFile;
import io.kvtier.bindings.posix.Errno;
import io.kvtier.kit.Faults.Call;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** A file that does what a real one does, except for what its {@link Faults} say. */
public final class FaultyFile implements BlockFile {
    private static final byte JUNK = (byte) 0xdb;

    private final BlockFile real;
    private final Faults faults;

    public FaultyFile(final BlockFile real, final Faults faults) {
        this.real = real;
        this.faults = faults;
    }

    BlockFile real() {
        return real;
    }

    @Override
    public String path() {
        return real.path();
    }

    @Override
    public int alignment() {
        return real.alignment();
    }

    @Override
    public long read(final MemorySegment target, final long offset) {
        faults.enter(Call.READ, path());
        final long allowed = faults.allowed(Call.READ, target.byteSize(), alignment(), path());
        final long count = real.read(target.asSlice(0, allowed), offset);
        // What a short read did not fill holds anything: a caller that believes it shall notice.
        target.asSlice(count).fill(JUNK);
        faults.flips().forEach((at, mask) -> {
            if (at >= offset && at < offset + count) {
                final byte was = target.get(ValueLayout.JAVA_BYTE, at - offset);
                target.set(ValueLayout.JAVA_BYTE, at - offset, (byte) (was ^ mask));
            }
        });
        return count;
    }

    @Override
    public long write(final MemorySegment source, final long offset) {
        final long number = faults.enter(Call.WRITE, path());
        final Long torn = faults.tear(number);
        if (torn != null) {
            real.write(source.asSlice(0, Math.min(torn, source.byteSize())), offset);
            throw Faults.failed(Call.WRITE, Errno.EIO, path());
        }
        final long allowed = faults.allowed(Call.WRITE, source.byteSize(), alignment(), path());
        return real.write(source.asSlice(0, faults.taken(allowed, alignment(), path())), offset);
    }

    @Override
    public void sync() {
        faults.enter(Call.SYNC, path());
        real.sync();
    }

    @Override
    public void preallocate(final long offset, final long length) {
        faults.enter(Call.PREALLOCATE, path());
        faults.reserve(length, path());
        real.preallocate(offset, length);
    }

    @Override
    public void punch(final long offset, final long length) {
        faults.enter(Call.PUNCH, path());
        real.punch(offset, length);
    }

    @Override
    public long size() {
        faults.enter(Call.SIZE, path());
        return real.size();
    }

    @Override
    public String identity() {
        return real.identity();
    }

    /** Closes the real file whether or not it is told to fail: Linux gives the number back either way. */
    @Override
    public void close() {
        try {
            faults.enter(Call.CLOSE, path());
        } finally {
            real.close();
        }
    }
}
