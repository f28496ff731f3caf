package io.kvtier.store.cli;

import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** NVIDIA's driver, CUDA and the GPUs. */
final class GpuChecks {
    private static final String VERSION_FILE = "/proc/driver/nvidia/version";
    private static final Pattern VERSION = Pattern.compile("\\b\\d{3,4}\\.\\d+(\\.\\d+)*\\b");

    private final Machine machine;
    private final Probes.Graphics graphics;

    GpuChecks(final Machine machine, final Probes.Graphics graphics) {
        this.machine = machine;
        this.graphics = graphics;
    }

    List<Finding> findings() {
        final List<Finding> findings = new ArrayList<>();
        findings.add(driver());
        findings.add(cuda());
        if (graphics.devices().isEmpty()) {
            findings.add(Finding.absent("gpu", "no GPU that CUDA can use", graphics.cuda().remedy()));
        }
        for (int i = 0; i < graphics.devices().size(); i++) {
            findings.add(Finding.ok("gpu_" + i, graphics.devices().get(i)));
        }
        return findings;
    }

    private boolean loaded() {
        return machine.exists(VERSION_FILE);
    }

    private Finding driver() {
        final String name = "nvidia_driver";
        if (!loaded()) {
            return Finding.absent(name, "the kernel has no NVIDIA driver (no " + VERSION_FILE + ')',
                "with a GPU in the machine, install NVIDIA's driver; without one nothing has to be done");
        }
        final Matcher matcher = VERSION.matcher(machine.text(VERSION_FILE));
        return Finding.ok(name, matcher.find() ? "driver " + matcher.group() + " is loaded"
            : "a driver that does not tell its version is loaded");
    }

    /** A driver in the kernel whose library does not work is worth repairing; no driver at all is not. */
    private Finding cuda() {
        final Finding finding = Finding.of("libcuda", graphics.cuda());
        return finding.state() == Finding.State.ABSENT && loaded()
            ? Finding.broken(finding.name(), finding.found(), finding.remedy()) : finding;
    }
}
