package io.kvtier.store.cli;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/** The directory of the SSD tier: whether it can be written to, what it is on, and what that can do. */
final class DirectoryChecks {
    /** File systems on local disks that the tests run on. */
    static final Set<String> KNOWN = Set.of("ext4", "xfs");
    private static final Set<String> IN_MEMORY = Set.of("tmpfs", "ramfs");
    private static final long LEAST_FREE = 1L << 30;
    private static final String OTHER = "name a directory on a local ext4 or XFS disk with --dir";

    private final Probes probes;
    private final Path directory;

    DirectoryChecks(final Probes probes, final Path directory) {
        this.probes = probes;
        this.directory = directory;
    }

    /** Whether it is there and can be written to; the rest is looked at only then. */
    Finding directory() {
        final String name = "directory";
        if (!Files.exists(directory)) {
            return Finding.broken(name, directory + " does not exist", "make it (mkdir -p " + directory
                + "), or name another one with --dir");
        } else if (!Files.isDirectory(directory)) {
            return Finding.broken(name, directory + " is not a directory", "name a directory with --dir");
        }
        try {
            Files.delete(Files.createTempFile(directory, ".kvtier-doctor-", ""));
            return Finding.ok(name, directory + " can be written to");
        } catch (final IOException e) {
            return Finding.broken(name, "no file can be made in " + directory + " (" + e.getClass().getSimpleName()
                + ")", "allow it to this user, mount it for writing, or name another directory with --dir");
        }
    }

    List<Finding> disk() {
        final List<Finding> findings = new ArrayList<>();
        try {
            final Probes.Volume volume = probes.volume(directory);
            findings.add(fileSystem(volume));
            findings.add(free(volume));
        } catch (final IOException | RuntimeException e) {
            findings.add(Finding.limited("file_system", "the system does not tell what " + directory + " is on: " + e,
                OTHER));
        }
        findings.add(directIo());
        return findings;
    }

    private static Finding fileSystem(final Probes.Volume volume) {
        final String name = "file_system";
        final String found = volume.type() + " on " + volume.source() + " (device " + volume.major() + ':'
            + volume.minor() + ')';
        if (KNOWN.contains(volume.type())) {
            return Finding.ok(name, found);
        }
        return Finding.limited(name, found + (IN_MEMORY.contains(volume.type()) ? ": this is memory, not a disk"
            : ": not a file system that kvtier is tested on"), OTHER);
    }

    private static Finding free(final Probes.Volume volume) {
        final String name = "free_space";
        final String found = ByteSize.shown(volume.freeBytes()) + " free";
        return volume.freeBytes() >= LEAST_FREE ? Finding.ok(name, found)
            : Finding.limited(name, found + ", hardly an SSD tier", "make room, or name another directory with --dir");
    }

    private Finding directIo() {
        final String name = "direct_io";
        final Probes.DirectIo direct = probes.directIo(directory);
        return direct.available().available()
            ? Finding.ok(name, direct.available().reason() + ", alignment " + direct.alignment() + " bytes")
            : Finding.limited(name, direct.available().reason(), direct.available().remedy());
    }
}
