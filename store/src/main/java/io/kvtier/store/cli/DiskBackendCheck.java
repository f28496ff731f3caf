package io.kvtier.store.cli;

import io.kvtier.store.DiskBackend;
import io.kvtier.store.StoreException;
import io.kvtier.store.config.Environment;
import io.kvtier.store.storage.StorageBackends;
import java.nio.file.Path;
import java.util.Optional;

/** Which files the SSD tier would use in a directory, and whether others are there already. */
final class DiskBackendCheck {
    private static final String NAME = "disk_backend";

    private final Machine machine;
    private final Path directory;

    DiskBackendCheck(final Machine machine, final Path directory) {
        this.machine = machine;
        this.directory = directory;
    }

    Finding finding() {
        final DiskBackend wanted;
        try {
            wanted = DiskBackend.from(Environment.of(machine.environment()));
        } catch (final StoreException e) {
            return Finding.broken(NAME, e.getMessage(), "correct " + DiskBackend.VARIABLE + ", or unset it");
        }
        final Optional<DiskBackend> there = StorageBackends.maker(directory);
        if (there.isPresent() && there.get() != wanted) {
            return Finding.broken(NAME, directory + " has values of " + there.get().configName() + ", and "
                + wanted.configName() + " would use it", "set " + DiskBackend.VARIABLE + " to "
                + there.get().configName() + ", or name another directory with --dir");
        }
        return Finding.ok(NAME, wanted.configName() + (there.isPresent() ? ", whose values are there"
            : ", and no values yet"));
    }
}
