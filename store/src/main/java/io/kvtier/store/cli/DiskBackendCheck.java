package io.kvtier.store.cli;

import io.kvtier.store.DiskBackend;
import io.kvtier.store.StoreException;
import io.kvtier.store.config.Environment;
import io.kvtier.store.storage.StorageBackends;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Which files the SSD tier would use in a directory, and whether others are there already. */
final class DiskBackendCheck {
    private static final String NAME = "disk_backend";

    private final Machine machine;
    private final Probes probes;
    private final Path directory;

    DiskBackendCheck(final Machine machine, final Probes probes, final Path directory) {
        this.machine = machine;
        this.probes = probes;
        this.directory = directory;
    }

    /** One, and for the backend on a shared file system one for each thing that was looked at. */
    List<Finding> findings() {
        final List<Finding> all = new ArrayList<>();
        all.add(finding());
        if (all.getFirst().state() == Finding.State.OK && wanted() == DiskBackend.DISTRIBUTED) {
            all.addAll(new SharedDiskCheck(machine, probes).ofKeys(NAME, directory.toAbsolutePath()));
        }
        return all;
    }

    private DiskBackend wanted() {
        return DiskBackend.from(Environment.of(machine.environment()));
    }

    private Finding finding() {
        final DiskBackend wanted;
        try {
            wanted = wanted();
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
