package io.kvtier.store.cli.bench;

import io.kvtier.store.replica.PageLayout;
import io.kvtier.store.replica.ReplicaDescriptor;
import io.kvtier.store.storage.PieceHash;
import io.kvtier.store.storage.shared.DistributedDiskReader;
import io.kvtier.store.storage.shared.FileSystemAdapter;
import io.kvtier.store.storage.shared.OpenFiles;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

/**
 * Reads values of shared files by where they lie, as a store does or with one thing different.
 *
 * <p><b>Threading:</b> one thread. <b>Lifetime:</b> all that it uses belongs to the rig.
 */
final class SharedReads {
    private final PageLayout layout;
    private final FileSystemAdapter files;
    private final Way way;
    private final OpenFiles kept;
    private final DistributedDiskReader reader;

    /** What is different. */
    enum Way {
        /** Nothing: files stay open, and what is wanted together is read together. */
        TOGETHER,
        /** The caller reads one value by itself, and then the next. */
        ONE_BY_ONE,
        /** Together, but every value has its file opened, looked up and closed. */
        OPENED_ANEW
    }

    /**
     * A value.
     *
     * @param place    where it lies.
     * @param checksum XXH64 that it must have; null when it is not looked at.
     * @param target   as large as the value.
     */
    record Wanted(ReplicaDescriptor.DistributedDisk place, Long checksum, MemorySegment target) {
    }

    /** A read under way, and the files of its own that it has open; null where they are kept. */
    private record Reading(Wanted wanted, DistributedDiskReader.Read read, OpenFiles own) {
        void finish() throws IOException {
            try (own) {
                read.await();
            }
            final MemorySegment bytes = wanted.target();
            if (wanted.checksum() != null
                && PieceHash.xxh64(List.of(bytes), bytes.byteSize()) != wanted.checksum()) {
                throw new IOException("what lies at " + wanted.place() + " has not the checksum of what was written");
            }
        }
    }

    SharedReads(final Rig rig, final PageLayout layout, final FileSystemAdapter files, final Way way) {
        this.layout = layout;
        this.files = files;
        this.way = way;
        this.kept = rig.keep(new OpenFiles(files), OpenFiles::close);
        this.reader = new DistributedDiskReader(layout, kept);
    }

    /** The files that stay open. */
    OpenFiles kept() {
        return kept;
    }

    /**
     * Reads values.
     *
     * @param wanted which.
     * @throws IOException when one has not its checksum; nothing writes to their memory any more then, either.
     */
    void read(final List<Wanted> wanted) throws IOException {
        if (way == Way.ONE_BY_ONE || wanted.size() == 1 && way == Way.TOGETHER) {
            for (final Wanted one : wanted) {
                begin(one, reader, null, true).finish();
            }
            return;
        }
        final List<Reading> readings = new ArrayList<>(wanted.size());
        int finished = 0;
        try {
            for (final Wanted one : wanted) {
                readings.add(begin(one));
            }
            while (finished < readings.size()) {
                finished++;
                readings.get(finished - 1).finish();
            }
        } finally {
            giveUp(readings.subList(finished, readings.size()));
        }
    }

    private Reading begin(final Wanted wanted) {
        if (way == Way.TOGETHER) {
            return begin(wanted, reader, null, false);
        }
        final OpenFiles own = new OpenFiles(files);
        return begin(wanted, new DistributedDiskReader(layout, own), own, false);
    }

    private static Reading begin(final Wanted wanted, final DistributedDiskReader with, final OpenFiles own,
        final boolean alone) {
        return new Reading(wanted, with.start(wanted.place(), 0, List.of(wanted.target()), 0, alone), own);
    }

    /** One has failed, which is thrown; the memory of the others is theirs until they have ended. */
    private static void giveUp(final List<Reading> readings) {
        for (final Reading reading : readings) {
            try {
                reading.finish();
            } catch (final IOException | RuntimeException e) {
                System.getLogger(SharedReads.class.getName()).log(System.Logger.Level.DEBUG,
                    "a read that was given up failed", e);
            }
        }
    }
}
