package io.kvtier.store.cli.bench;

import io.kvtier.alloc.HostRegion;
import io.kvtier.bindings.NativeTag;
import io.kvtier.bindings.posix.BlockIo;
import io.kvtier.bindings.posix.OpenMode;
import io.kvtier.bindings.posix.PosixFile;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.List;
import java.util.function.ObjLongConsumer;

/**
 * Where a bench makes its files, and what the rows share. Whoever made the directory removes it.
 *
 * <p><b>Threading:</b> one thread.
 */
public final class Workspace {
    /** A file of whole pieces, so that each is written in one go, past the page cache. */
    static final long PIECE_BYTES = 16L << 20;

    private final Path directory;
    private final Path ownerDirectory;
    private final long fileBytes;
    private final int objects;
    private final ObjLongConsumer<MemorySegment> filler;
    private final List<String> self;
    private Path file;

    /**
     * A workspace.
     *
     * @param directory an existing directory for files.
     * @param fileBytes size of the file that rows read and write, a multiple of 16 MiB.
     * @param objects   objects that a master knows, in rows of many.
     * @param filler    fills memory with bytes that follow from a number, nothing in which compresses.
     * @param self      command line that runs this program, to which the name of a command can be added.
     */
    public Workspace(final Path directory, final long fileBytes, final int objects,
        final ObjLongConsumer<MemorySegment> filler, final List<String> self) {
        this(directory, directory, fileBytes, objects, filler, self);
    }

    /**
     * A workspace in two places, which may be on two file systems.
     *
     * @param directory      an existing directory for files.
     * @param ownerDirectory another one, for what belongs to one process alone where {@code directory} is shared.
     * @param fileBytes      size of the file that rows read and write, a multiple of 16 MiB.
     * @param objects        objects that a master knows, in rows of many.
     * @param filler         fills memory with bytes that follow from a number, nothing in which compresses.
     * @param self           command line that runs this program, to which the name of a command can be added.
     */
    public Workspace(final Path directory, final Path ownerDirectory, final long fileBytes, final int objects,
        final ObjLongConsumer<MemorySegment> filler, final List<String> self) {
        this.directory = directory.toAbsolutePath();
        this.ownerDirectory = ownerDirectory.toAbsolutePath();
        this.fileBytes = fileBytes;
        this.objects = objects;
        this.filler = filler;
        this.self = List.copyOf(self);
    }

    Path directory() {
        return directory;
    }

    /** Where the disk of one process is. */
    Path ownerDirectory() {
        return ownerDirectory;
    }

    long fileBytes() {
        return fileBytes;
    }

    /** How many are many. */
    int objects() {
        return objects;
    }

    /** Command line of this program in a process of its own. */
    List<String> self() {
        return self;
    }

    /** Memory in huge pages where the machine gives them, filled; the number decides with what. */
    HostRegion filled(final long bytes, final long number) {
        final HostRegion region = HostRegion.allocateHuge(NativeTag.HOST_REGION, bytes);
        fill(region.segment(), number);
        return region;
    }

    /** Memory in ordinary pages, filled; the number decides with what. */
    HostRegion filledPages(final long bytes, final long number) {
        final HostRegion region = HostRegion.allocate(NativeTag.HOST_REGION, bytes);
        fill(region.segment(), number);
        return region;
    }

    /** Fills memory with bytes that follow from a number. */
    void fill(final MemorySegment memory, final long number) {
        filler.accept(memory, number);
    }

    /** The file, which is made when it is first asked for: preallocated, and every block of it really written. */
    Path file() {
        if (file == null) {
            final Path path = directory.resolve("blocks");
            PosixFile.open(path.toString(), OpenMode.CREATE).close();
            try (PosixFile target = PosixFile.open(path.toString(), OpenMode.READ_WRITE_DIRECT);
                 HostRegion piece = HostRegion.allocate(NativeTag.BOUNCE, PIECE_BYTES)) {
                target.preallocate(0, fileBytes);
                for (long at = 0; at < fileBytes; at += PIECE_BYTES) {
                    fill(piece.segment(), at);
                    BlockIo.writeFully(target, piece.segment(), at);
                }
                target.syncAll();
            }
            file = path;
        }
        return file;
    }
}
