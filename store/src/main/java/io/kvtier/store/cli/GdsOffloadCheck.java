package io.kvtier.store.cli;

import io.kvtier.bindings.Availability;
import io.kvtier.store.GdsConfig;
import io.kvtier.store.StoreConfig;
import io.kvtier.store.StoreException;
import io.kvtier.store.client.engine.GdsEnablement;
import io.kvtier.store.config.Environment;
import io.kvtier.store.config.GdsVariables;
import io.kvtier.store.config.TentConfig;

/** Whether a store of this environment would get the GDS offload that it asks for, by the rules that a store has. */
final class GdsOffloadCheck {
    private static final String NAME = "gds_offload";
    private static final String DO_WITHOUT = "correct it, or set " + GdsVariables.ENABLED + " to 0 to do without";

    private final Environment environment;
    private final Probes probes;

    GdsOffloadCheck(final Machine machine, final Probes probes) {
        this.environment = Environment.of(machine.environment());
        this.probes = probes;
    }

    Finding finding() {
        try {
            final GdsConfig wanted = GdsEnablement.wanted(StoreConfig.builder().build(), environment);
            if (wanted.bytes() == 0) {
                return Finding.absent(NAME, "not asked for: " + GdsVariables.ENABLED + " is not set", "nothing has to "
                    + "be done; store/OPERATIONS.md, GDS offload, says how to turn it on");
            }
            return judged(wanted);
        } catch (final StoreException | IllegalArgumentException e) {
            return Finding.broken(NAME, e.getMessage(), DO_WITHOUT);
        }
    }

    private Finding judged(final GdsConfig wanted) {
        final Availability allowed =
            GdsEnablement.allowed(wanted, TentConfig.from(environment).orElse(TentConfig.DEFAULT.withUring(false)));
        final Availability answer = allowed.available()
            ? GdsEnablement.answered(wanted.transport(), probe(wanted)) : allowed;
        return answer.available() ? Finding.ok(NAME, wanted.file() + ", " + ByteSize.shown(wanted.bytes()) + ", by "
            + wanted.transport().kind().configName() + ": " + answer.reason())
            : Finding.broken(NAME, answer.reason(), answer.remedy());
    }

    private Availability probe(final GdsConfig wanted) {
        return switch (wanted.transport()) {
            case GDS -> gpuFiles(probes.gpuFiles(wanted.file().getParent()));
            case IO_URING -> probes.uring();
            case POSIX -> Availability.yes("system calls need nothing that could be missing");
        };
    }

    private static Availability gpuFiles(final Probes.GpuFiles tried) {
        return !tried.library().available() || tried.failure().isEmpty() ? tried.library()
            : Availability.no("reading a file in that folder into GPU memory failed: " + tried.failure(),
                "see gds_mode and udev, and cufile.log");
    }
}
