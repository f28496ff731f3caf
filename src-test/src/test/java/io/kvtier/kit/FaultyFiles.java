package io.kvtier.kit;

import io.kvtier.bindings.posix.BlockFile;
import io.kvtier.bindings.posix.Errno;
import io.kvtier.bindings.posix.OpenMode;
import io.kvtier.bindings.posix.PosixFile;
import io.kvtier.kit.Faults.Call;
import io.kvtier.transport.file.DirectoryEntries;
import io.kvtier.transport.file.FileOpener;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** Opens real files that fail as their common {@link Faults} say. */
public final class FaultyFiles implements FileOpener {
    private final FileOpener real;
    private final Faults faults;
    private final List<FaultyFile> opened = new CopyOnWriteArrayList<>();

    public FaultyFiles(final Faults faults) {
        this(FileOpener.POSIX, faults);
    }

    public FaultyFiles(final FileOpener real, final Faults faults) {
        this.real = real;
        this.faults = faults;
    }

    @Override
    public BlockFile open(final String path, final OpenMode mode) {
        faults.enter(Call.OPEN, path);
        if (mode.direct() && faults.directRefused()) {
            throw Faults.failed(Call.OPEN, Errno.EINVAL, path);
        }
        final FaultyFile file = new FaultyFile(real.open(path, mode), faults);
        opened.add(file);
        return file;
    }

    @Override
    public DirectoryEntries entries() {
        return real.entries();
    }

    @Override
    public PosixFile descriptor(final BlockFile file) {
        return real.descriptor(((FaultyFile) file).real());
    }

    /** Every file opened so far, closed ones included, in order: for closing what a test made its owner abandon. */
    public List<FaultyFile> opened() {
        return List.copyOf(opened);
    }
}
