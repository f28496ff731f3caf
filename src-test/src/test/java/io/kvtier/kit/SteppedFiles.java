package io.kvtier.kit;

import io.kvtier.bindings.posix.BlockFile;
import io.kvtier.bindings.posix.Errno;
import io.kvtier.bindings.posix.ErrnoException;
import io.kvtier.bindings.posix.OpenMode;
import io.kvtier.bindings.posix.PosixFile;
import io.kvtier.kit.Steps.Kind;
import io.kvtier.transport.file.FileOpener;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.function.Supplier;

/** Real files, each call of which is a {@linkplain Steps step}; one that fails does so with EIO. */
public final class SteppedFiles implements FileOpener {
    private final Steps steps;

    public SteppedFiles(final Steps steps) {
        this.steps = steps;
    }

    @Override
    public BlockFile open(final String path, final OpenMode mode) {
        // Not held back, and closed at once when nobody is told of it: a file that a dead process had open is closed.
        final BlockFile[] opened = new BlockFile[1];
        boolean told = false;
        try {
            final BlockFile file = step(Kind.OPEN, "open", path, null, () -> {
                opened[0] = FileOpener.POSIX.open(path, mode);
                return new Stepped(opened[0]);
            });
            told = true;
            return file;
        } finally {
            if (!told && opened[0] != null) {
                opened[0].close();
            }
        }
    }

    @Override
    public PosixFile descriptor(final BlockFile file) {
        // What goes by it would not be seen.
        return null;
    }

    private <T> T step(final Kind kind, final String call, final String path, final Runnable part,
        final Supplier<T> whole) {
        return steps.take(kind, Path.of(path).getFileName().toString(), part, whole,
            why -> new ErrnoException(call, Errno.EIO, path + ", " + why));
    }

    private final class Stepped implements BlockFile {
        private final BlockFile real;

        Stepped(final BlockFile real) {
            this.real = real;
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
            return step(Kind.READ, "pread", path(), null, () -> real.read(target, offset));
        }

        @Override
        public long write(final MemorySegment source, final long offset) {
            final long half = source.byteSize() / 2 / alignment() * alignment();
            return step(Kind.WRITE, "pwrite", path(), () -> real.write(source.asSlice(0, half), offset),
                () -> real.write(source, offset));
        }

        @Override
        public void sync() {
            step(Kind.SYNC, "fdatasync", path(), null, () -> {
                real.sync();
                return null;
            });
        }

        @Override
        public void preallocate(final long offset, final long length) {
            step(Kind.PREALLOCATE, "fallocate", path(), null, () -> {
                real.preallocate(offset, length);
                return null;
            });
        }

        @Override
        public long size() {
            return real.size();
        }

        @Override
        public String identity() {
            return real.identity();
        }

        @Override
        public void close() {
            real.close();
        }
    }
}
