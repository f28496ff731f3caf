package io.kvtier.kit;

import io.kvtier.bindings.posix.Errno;
import io.kvtier.bindings.posix.ErrnoException;
import io.kvtier.transport.file.DirectoryEntries;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.stream.Stream;

/**
 * Names in directories of a machine whose power fails: a change of names that no sync of its directory has followed may
 * be lost, each for itself or with all that came after it, as POSIX leaves it open. A rename is one change. What was
 * deleted or replaced is there again then, a directory that was made is gone with all that is in it. A sync of a file
 * does nothing for its name, although some file systems do more.
 *
 * <p>Not thread-safe: {@link PowerLossFiles} guards it.
 */
final class PowerLossNames {
    private final PowerLossFiles files;
    private final SplittableRandom random;
    private final Map<Path, Folder> folders = new HashMap<>();

    /** What a name leads to. */
    sealed interface Target {
    }

    /** A file, which its channel keeps whatever becomes of its names. */
    record FileTarget(FileChannel channel, String identity) implements Target {
    }

    /** A directory that was made, or nothing. */
    enum Other implements Target {
        DIRECTORY, NOTHING
    }

    /** Changes of a directory since it was synced. */
    private static final class Folder {
        private final Map<String, Target> before = new HashMap<>();
        private final List<Map<String, Target>> changes = new ArrayList<>();
    }

    PowerLossNames(final PowerLossFiles files, final SplittableRandom random) {
        this.files = files;
        this.random = random;
    }

    /** A file was made under a name that nothing had. */
    void created(final Path path, final FileTarget file) {
        change(path, Map.of(nameOf(path), Other.NOTHING), Map.of(nameOf(path), file));
    }

    private void change(final Path path, final Map<String, Target> before, final Map<String, Target> after) {
        final Folder folder = folders.computeIfAbsent(folderOf(path), any -> new Folder());
        before.forEach(folder.before::putIfAbsent);
        folder.changes.add(after);
    }

    private static Path folderOf(final Path path) {
        return path.toAbsolutePath().normalize().getParent();
    }

    private static String nameOf(final Path path) {
        return path.getFileName().toString();
    }

    /** As who changes names sees them. */
    DirectoryEntries entries() {
        return new DirectoryEntries() {
            @Override
            public void createDirectory(final Path directory) throws IOException {
                synchronized (files) {
                    final boolean fails = begin(directory);
                    SYSTEM.createDirectory(directory);
                    change(directory, Map.of(nameOf(directory), Other.NOTHING),
                        Map.of(nameOf(directory), Other.DIRECTORY));
                    end(fails, directory);
                }
            }

            @Override
            public void rename(final Path from, final Path to) throws IOException {
                synchronized (files) {
                    if (!folderOf(from).equals(folderOf(to))) {
                        throw new AssertionError("renames from one directory to another are not modelled");
                    }
                    final boolean fails = begin(to);
                    final Target moved = target(from);
                    final Target replaced = target(to);
                    SYSTEM.rename(from, to);
                    change(to, Map.of(nameOf(from), moved, nameOf(to), replaced),
                        Map.of(nameOf(from), Other.NOTHING, nameOf(to), moved));
                    end(fails, to);
                }
            }

            @Override
            public void deleteIfExists(final Path file) throws IOException {
                synchronized (files) {
                    final Target there = target(file);
                    if (there == Other.NOTHING) {
                        return;
                    }
                    final boolean fails = begin(file);
                    SYSTEM.deleteIfExists(file);
                    change(file, Map.of(nameOf(file), there), Map.of(nameOf(file), Other.NOTHING));
                    end(fails, file);
                }
            }

            @Override
            public void sync(final Path directory) {
                synchronized (files) {
                    files.checkPower(directory.toString());
                    if (!Files.isDirectory(directory)) {
                        throw new ErrnoException("open", Errno.ENOENT, directory.toString());
                    }
                    final boolean fails = files.failsNow();
                    if (!fails || random.nextBoolean()) {
                        folders.remove(directory.toAbsolutePath().normalize());
                    }
                    if (fails) {
                        files.checkPower(directory.toString());
                    }
                }
            }
        };
    }

    private boolean begin(final Path path) throws IOException {
        if (files.isCut()) {
            throw new IOException(path + ", the power is off");
        }
        return files.failsNow();
    }

    private void end(final boolean fails, final Path path) throws IOException {
        if (fails) {
            begin(path);
        }
    }

    private Target target(final Path path) throws IOException {
        return Files.exists(path) ? files.target(path) : Other.NOTHING;
    }

    /** Takes back what the cut has lost; what is in the files has been taken back. */
    void lose() throws IOException {
        final List<Path> above = new ArrayList<>(folders.keySet());
        above.sort(Comparator.comparingInt(Path::getNameCount));
        for (final Path directory : above) {
            // One that is in a directory that was lost is lost.
            if (Files.isDirectory(directory)) {
                lose(directory, folders.get(directory));
            }
        }
        folders.clear();
    }

    private void lose(final Path directory, final Folder folder) throws IOException {
        final int fate = random.nextInt(3);
        final int kept = random.nextInt(folder.changes.size() + 1);
        final Map<String, Target> names = new HashMap<>(folder.before);
        for (int i = 0; i < folder.changes.size(); i++) {
            if (fate == 0 ? i < kept : fate == 1 && random.nextBoolean()) {
                names.putAll(folder.changes.get(i));
            }
        }
        for (final Map.Entry<String, Target> name : names.entrySet()) {
            lead(directory.resolve(name.getKey()), name.getValue());
        }
    }

    private void lead(final Path path, final Target target) throws IOException {
        final boolean there = Files.exists(path);
        if (target instanceof FileTarget file) {
            if (!there || !files.target(path).identity().equals(file.identity())) {
                Files.deleteIfExists(path);
                copy(file.channel(), path);
            }
        } else if (target == Other.NOTHING && there) {
            deleteAll(path);
        }
    }

    private static void copy(final FileChannel from, final Path to) throws IOException {
        try (FileChannel file = FileChannel.open(to, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
            long at = 0;
            while (at < from.size()) {
                at += from.transferTo(at, from.size() - at, file);
            }
        }
    }

    private static void deleteAll(final Path path) throws IOException {
        try (Stream<Path> all = Files.walk(path)) {
            for (final Path one : all.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(one);
            }
        }
    }
}
