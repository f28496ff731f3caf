package io.kvtier.store.cli;

import io.kvtier.store.StoreException;
import io.kvtier.store.config.Environment;
import io.kvtier.store.config.SharedDiskVariables;
import io.kvtier.store.storage.shared.FileSystemAdapter;
import io.kvtier.store.storage.shared.PosixFileSystem;
import io.kvtier.store.storage.shared.SharedDiskHealth;
import io.kvtier.store.storage.shared.SharedFileSystems;
import io.kvtier.transport.TransferConfig;
import io.kvtier.transport.TransferEngine;
import io.kvtier.transport.file.FileOpener;
import io.kvtier.transport.file.PosixTransport;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** Whether a store of this environment could use the shared disk that it asks for, by what a store looks at. */
final class SharedDiskCheck {
    private static final String NAME = "shared_disk";

    private final Machine machine;
    private final Probes probes;

    SharedDiskCheck(final Machine machine, final Probes probes) {
        this.machine = machine;
        this.probes = probes;
    }

    /** One that says why there is none, or one for each thing that was looked at. */
    List<Finding> findings() {
        try {
            final Optional<SharedDiskVariables> wanted =
                SharedDiskVariables.from(Environment.of(machine.environment()));
            if (wanted.isEmpty()) {
                return List.of(Finding.absent(NAME, "not asked for: " + SharedDiskVariables.PAGE_MODE + " is not set",
                    "nothing has to be done; store/OPERATIONS.md, The shared disk, says how to turn it on"));
            }
            if (!probes.missingFlags().isEmpty()) {
                return List.of(Finding.broken(NAME, "not looked at: this JVM lacks "
                    + String.join(" ", probes.missingFlags()), "see the flags above"));
            }
            return looked(wanted.get());
        } catch (final StoreException | IllegalArgumentException e) {
            return List.of(Finding.broken(NAME, e.getMessage(), "correct it, or set " + SharedDiskVariables.PAGE_MODE
                + " to false to do without"));
        }
    }

    private List<Finding> looked(final SharedDiskVariables wanted) {
        try (FileSystemAdapter files = SharedFileSystems.open(wanted.fileSystem(), FileOpener.POSIX,
            SharedDiskCheck::engine)) {
            return SharedDiskHealth.look(wanted.layout(), files, host()).stream()
                .map(finding -> shown(NAME, finding)).toList();
        }
    }

    /**
     * Of the folder of a disk with a file a key.
     *
     * @param prefix of the names of findings.
     * @param folder absolute.
     */
    List<Finding> ofKeys(final String prefix, final Path folder) {
        if (!probes.missingFlags().isEmpty()) {
            return List.of();
        }
        try {
            SharedFileSystems.refuseForKeys(Environment.of(machine.environment()));
        } catch (final StoreException e) {
            return List.of(Finding.broken(prefix + "_file_system", e.getMessage(), "correct it"));
        }
        try (FileSystemAdapter files = new PosixFileSystem(FileOpener.POSIX, engine())) {
            return SharedDiskHealth.look(folder, "--dir", files, host()).stream()
                .map(finding -> shown(prefix, finding)).toList();
        }
    }

    private static TransferEngine engine() {
        return TransferEngine.open(TransferConfig.DEFAULT, List.of(new PosixTransport(1, true)));
    }

    private SharedDiskHealth.Host host() {
        return new SharedDiskHealth.Host() {
            @Override
            public String fileSystem(final Path folder) throws IOException {
                return probes.volume(folder).type();
            }

            @Override
            public long openFiles() {
                return machine.limit("Max open files");
            }
        };
    }

    private static Finding shown(final String prefix, final SharedDiskHealth.Finding finding) {
        final String name = prefix + '_' + finding.name();
        return switch (finding.state()) {
            case OK -> Finding.ok(name, finding.found());
            case LIMITED -> Finding.limited(name, finding.found(), finding.remedy());
            case BROKEN -> Finding.broken(name, finding.found(), finding.remedy());
        };
    }
}
