package io.kvtier.store.master.state;

import io.kvtier.kit.LeakCheck;
import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;

/**
 * Files of single values under two tenants, three clients and masters one after the other: a file has the value that
 * its replica is of, it is there unless it was deleted after the snapshot that names it, and in the end the folder has
 * the files of replicas and no others.
 */
class KeyFileProperties {
    private static final int STEPS = 400;

    @Property(tries = 150)
    void shouldKeepTheFilesOfReplicasAndNoOthers(@ForAll final long seed) {
        LeakCheck.around(() -> {
            final KeyFileModel model = new KeyFileModel(new Random(seed));
            try {
                for (int i = 0; i < STEPS; i++) {
                    model.step();
                }
                model.quiesce();
            } finally {
                model.close();
            }
        });
    }
}
