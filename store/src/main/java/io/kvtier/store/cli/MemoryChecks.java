package io.kvtier.store.cli;

import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Huge pages and NUMA nodes: what large memory costs here. */
final class MemoryChecks {
    private static final String MODE = "/sys/kernel/mm/transparent_hugepage/enabled";
    private static final String RESERVED = "/proc/sys/vm/nr_hugepages";
    private static final String NODES = "/sys/devices/system/node";
    /** The kernel puts the mode in force into brackets. */
    private static final Pattern CHOSEN = Pattern.compile("\\[(\\w+)]");

    private final Machine machine;

    MemoryChecks(final Machine machine) {
        this.machine = machine;
    }

    List<Finding> findings() {
        return List.of(transparent(), reserved(), nodes());
    }

    Finding transparent() {
        final String name = "huge_pages";
        final Matcher matcher = CHOSEN.matcher(machine.text(MODE));
        if (!matcher.find()) {
            return Finding.absent(name, "this kernel has no transparent huge pages",
                "nothing has to be done; large memory tiers cost more TLB misses");
        }
        final String mode = matcher.group(1);
        return switch (mode) {
            case "always" -> Finding.ok(name, "transparent huge pages are always used");
            case "madvise" -> Finding.ok(name,
                "transparent huge pages are used where asked for (StoreConfig.hugePages)");
            default -> Finding.limited(name, "transparent huge pages are off (" + mode
                + "): StoreConfig.hugePages has no effect", "echo madvise > " + MODE);
        };
    }

    private Finding reserved() {
        final String name = "huge_pages_reserved";
        final long count = Machine.number(machine.text(RESERVED));
        return count < 0 ? Finding.absent(name, RESERVED + " cannot be read", "")
            : Finding.ok(name, "vm.nr_hugepages is " + count + (count == 0 ? "; none are needed"
                : "; kvtier uses transparent ones, so these are lost to its memory tier"));
    }

    Finding nodes() {
        final String name = "numa";
        final List<String> nodes = machine.names(NODES).stream().filter(one -> one.matches("node\\d+"))
            .map(one -> one + " (processors " + machine.text(NODES + '/' + one + "/cpulist") + ')').toList();
        if (nodes.size() <= 1) {
            return Finding.ok(name, "one NUMA node");
        }
        return Finding.limited(name, nodes.size() + " NUMA nodes: " + String.join(", ", nodes)
            + "; memory of another node is slower", "start the JVM on the node of the disk or GPU: numactl"
            + " --cpunodebind=N --membind=N java ...");
    }
}
