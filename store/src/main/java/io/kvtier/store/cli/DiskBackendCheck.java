package io.kvtier.store.cli;

import io.kvtier.store.DiskBackend;
import io.kvtier.store.StoreException;
import io.kvtier.store.config.Environment;
import io.kvtier.store.storage.BackendOptions;
import io.kvtier.store.storage.StorageBackends;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** Which files the SSD tier would use in a directory, whether others are there already, and who has a shared one. */
final class DiskBackendCheck {
    private static final String NAME = "disk_backend";
    private static final long ANY_BYTES = 1L << 20;
    private static final String OWNER = "disk_folder_owner";

    private final Machine machine;
    private final Path directory;

    DiskBackendCheck(final Machine machine, final Path directory) {
        this.machine = machine;
        this.directory = directory;
    }

    List<Finding> findings() {
        final Finding files = finding();
        return files.state() == Finding.State.OK && wanted() == DiskBackend.DISTRIBUTED ? List.of(files, owner())
            : List.of(files);
    }

    /** Of the folder that this host has under its own name. */
    private Finding owner() {
        try {
            final StorageBackends.Keeper keeper =
                StorageBackends.keeper(new BackendOptions(directory, ANY_BYTES, 1, 1));
            return keeper.kept() != StorageBackends.Kept.ELSEWHERE ? Finding.ok(OWNER, keeper.told())
                : Finding.limited(OWNER, keeper.told() + ", elsewhere or before this mount", "tell two hosts of one "
                    + "name apart (--host-id); where that one is dead, who opens the folder waits half a minute");
        } catch (final StoreException e) {
            return Finding.broken(OWNER, e.getMessage(), "see there");
        }
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
