package io.kvtier.kit;

import io.kvtier.bindings.posix.BlockFile;
import io.kvtier.bindings.posix.Errno;
import io.kvtier.bindings.posix.ErrnoException;
import io.kvtier.bindings.posix.OpenMode;
import io.kvtier.bindings.posix.PosixFile;
import io.kvtier.transport.file.DirectoryEntries;
import io.kvtier.transport.file.FileOpener;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeMap;

/**
 * Files of a machine whose power fails: after the cut every call fails with EIO, and {@link #lose()} then takes back
 * what no successful sync has covered, block by block at random: a block keeps the new bytes, has the old ones again,
 * or has some sectors of each. A file that had grown may be short again. A sync that is told to fail loses the blocks
 * it should have written: no later sync covers them, as on Linux, where such pages count as clean.
 *
 * <p>So it is with names, by the syncs of their directories: see {@link PowerLossNames}.
 *
 * <p>Thread-safe. One per machine: open all files of a directory through it. Nothing really reaches the disk, which
 * makes it fast.
 */
public final class PowerLossFiles implements FileOpener, AutoCloseable {
    private static final int BLOCK = 4096;
    private static final int SECTOR = 512;

    private final SplittableRandom random;
    private final Map<String, Disk> disks = new HashMap<>();
    private final PowerLossNames names;
    private long changes;
    private long cutAt = Long.MAX_VALUE;
    private long syncs;
    private long failedSync = -1;
    private boolean cut;

    /** What one file would have after a cut, as far as it differs from what it has. */
    private static final class Disk {
        private final FileChannel channel;
        private final Map<Long, byte[]> before = new TreeMap<>();
        private final Map<Long, byte[]> lost = new TreeMap<>();
        private long durableSize;

        Disk(final FileChannel channel, final long size) {
            this.channel = channel;
            this.durableSize = size;
        }
    }

    public PowerLossFiles(final long seed) {
        random = new SplittableRandom(seed);
        names = new PowerLossNames(this, random.split());
    }

    /** Cuts the power in the n-th write, sync or change of names from now, from 1; that one may have happened. */
    public synchronized PowerLossFiles cutAt(final long n) {
        cutAt = changes + n;
        return this;
    }

    /** Lets the n-th sync of a file from now, from 1, fail with EIO. */
    public synchronized PowerLossFiles failSync(final long n) {
        failedSync = syncs + n;
        return this;
    }

    /** Cuts the power now. */
    public synchronized void cut() {
        cut = true;
    }

    public synchronized boolean isCut() {
        return cut;
    }

    /** Whether the sync that was told to fail has done so. */
    public synchronized boolean hasFailedSync() {
        return failedSync > 0 && syncs >= failedSync;
    }

    /** Writes, syncs and changes of names so far. */
    public synchronized long changes() {
        return changes;
    }

    @Override
    public synchronized BlockFile open(final String path, final OpenMode mode) {
        checkPower(path);
        final boolean there = Files.exists(Path.of(path));
        final PosixFile real = PosixFile.open(path, mode);
        try {
            final Disk disk = disk(real);
            if (!there) {
                names.created(Path.of(path), new PowerLossNames.FileTarget(disk.channel, real.identity()));
            }
            return new Handle(real, disk);
        } catch (final IOException e) {
            real.close();
            throw new UncheckedIOException(e);
        }
    }

    private Disk disk(final PosixFile real) throws IOException {
        if (!disks.containsKey(real.identity())) {
            // Its own descriptor keeps the file, and so its number, through renaming and deleting.
            final FileChannel channel =
                FileChannel.open(Path.of(real.path()), StandardOpenOption.READ, StandardOpenOption.WRITE);
            disks.put(real.identity(), new Disk(channel, real.size()));
        }
        return disks.get(real.identity());
    }

    /** The file that a name leads to. */
    PowerLossNames.FileTarget target(final Path path) throws IOException {
        try (PosixFile real = PosixFile.open(path.toString(), OpenMode.READ)) {
            return new PowerLossNames.FileTarget(disk(real).channel, real.identity());
        }
    }

    @Override
    public DirectoryEntries entries() {
        return names.entries();
    }

    /** Takes back what the cut has lost; call when nothing uses the files any more. */
    public synchronized void lose() {
        cut = true;
        try {
            for (final Disk disk : disks.values()) {
                final Map<Long, byte[]> all = new TreeMap<>(disk.before);
                all.putAll(disk.lost);
                for (final Map.Entry<Long, byte[]> block : all.entrySet()) {
                    lose(disk.channel, block.getKey(), block.getValue());
                }
                if (disk.channel.size() > disk.durableSize && random.nextInt(3) == 0) {
                    disk.channel.truncate(disk.durableSize);
                }
                disk.before.clear();
                disk.lost.clear();
            }
            names.lose();
        } catch (final IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public synchronized void close() {
        try {
            for (final Disk disk : disks.values()) {
                disk.channel.close();
            }
        } catch (final IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void lose(final FileChannel channel, final long at, final byte[] old) throws IOException {
        final int fate = random.nextInt(3);
        if (fate == 0) {
            return;
        }
        final long size = channel.size();
        for (int sector = 0; sector < BLOCK; sector += SECTOR) {
            final int length = (int) Math.min(SECTOR, size - at - sector);
            if (length > 0 && (fate == 1 || random.nextBoolean())) {
                writeAll(channel, Arrays.copyOfRange(old, sector, sector + length), at + sector);
            }
        }
    }

    void checkPower(final String path) {
        if (cut) {
            throw new ErrnoException("power", Errno.EIO, path + ", the power is off");
        }
    }

    /** Counts a change; true when the power fails in it. */
    boolean failsNow() {
        changes++;
        if (changes >= cutAt) {
            cut = true;
        }
        return cut;
    }

    private static byte[] readBlock(final FileChannel channel, final long at) throws IOException {
        final ByteBuffer block = ByteBuffer.allocate(BLOCK);
        while (block.hasRemaining() && channel.read(block, at + block.position()) > 0) {
            continue;
        }
        return block.array();
    }

    private static void writeAll(final FileChannel channel, final byte[] bytes, final long at) throws IOException {
        final ByteBuffer buffer = ByteBuffer.wrap(bytes);
        while (buffer.hasRemaining()) {
            channel.write(buffer, at + buffer.position());
        }
    }

    private final class Handle implements BlockFile {
        private final PosixFile real;
        private final Disk disk;

        Handle(final PosixFile real, final Disk disk) {
            this.real = real;
            this.disk = disk;
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
            synchronized (PowerLossFiles.this) {
                checkPower(path());
                return real.read(target, offset);
            }
        }

        @Override
        public long write(final MemorySegment source, final long offset) {
            synchronized (PowerLossFiles.this) {
                checkPower(path());
                final boolean fails = failsNow();
                keepOld(offset, source.byteSize());
                final long count = real.write(source, offset);
                if (fails) {
                    checkPower(path());
                }
                return count;
            }
        }

        @Override
        public void sync() {
            synchronized (PowerLossFiles.this) {
                checkPower(path());
                syncs++;
                if (syncs == failedSync) {
                    disk.before.forEach(disk.lost::putIfAbsent);
                    disk.before.clear();
                    throw new ErrnoException("fdatasync", Errno.EIO, path() + ", told to fail");
                }
                final boolean fails = failsNow();
                if (!fails || random.nextBoolean()) {
                    disk.before.clear();
                    disk.durableSize = Math.max(disk.durableSize, real.size());
                }
                if (fails) {
                    checkPower(path());
                }
            }
        }

        @Override
        public void preallocate(final long offset, final long length) {
            synchronized (PowerLossFiles.this) {
                checkPower(path());
                real.preallocate(offset, length);
            }
        }

        @Override
        public void punch(final long offset, final long length) {
            synchronized (PowerLossFiles.this) {
                final boolean fails = failsNow();
                keepOld(offset, length);
                real.punch(offset, length);
                if (fails) {
                    checkPower(path());
                }
            }
        }

        @Override
        public long size() {
            synchronized (PowerLossFiles.this) {
                checkPower(path());
                return real.size();
            }
        }

        @Override
        public String identity() {
            return real.identity();
        }

        @Override
        public void close() {
            real.close();
        }

        private void keepOld(final long offset, final long length) {
            try {
                for (long at = offset & -BLOCK; at < offset + length; at += BLOCK) {
                    // A block whose sync failed is dirty again once it is written again: a later sync covers it.
                    final byte[] lost = disk.lost.remove(at);
                    if (lost != null) {
                        disk.before.put(at, lost);
                    } else if (!disk.before.containsKey(at)) {
                        disk.before.put(at, readBlock(disk.channel, at));
                    }
                }
            } catch (final IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }
}
