package io.kvtier.store.storage;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;

/** Directories with others in them. */
final class Directories {
    private Directories() {
    }

    /** Copies one, with all that is in it, to a place where nothing is. */
    static void copy(final Path directory, final Path to) throws IOException {
        final List<Path> all;
        try (Stream<Path> walk = Files.walk(directory)) {
            all = walk.toList();
        }
        for (final Path one : all) {
            Files.copy(one, to.resolve(directory.relativize(one)));
        }
    }

    /** Deletes one with all that is in it. */
    static void delete(final Path directory) throws IOException {
        final List<Path> all;
        try (Stream<Path> walk = Files.walk(directory)) {
            all = walk.sorted(Comparator.reverseOrder()).toList();
        }
        for (final Path one : all) {
            Files.delete(one);
        }
    }
}
