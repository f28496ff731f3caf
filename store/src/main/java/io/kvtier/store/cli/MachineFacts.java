package io.kvtier.store.cli;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * What a figure that was measured on a machine has to be read with.
 *
 * <p><b>Threading:</b> immutable.
 *
 * @param machine the machine.
 * @param volume  the file system that was used.
 */
record MachineFacts(Machine machine, Probes.Volume volume) {
    private static final Pattern MODEL = Pattern.compile("(?m)^model name\\s*:\\s*(.+)$");
    private static final Pattern MEMORY = Pattern.compile("(?m)^MemTotal:\\s*(\\d+) kB$");
    private static final long KIB = 1024;

    /** By name: numbers, or texts. What the machine does not say is left out. */
    Map<String, Object> facts() {
        final Map<String, Object> facts = new LinkedHashMap<>();
        put(facts, "cpu", found(MODEL, "/proc/cpuinfo"));
        facts.put("cores", Runtime.getRuntime().availableProcessors());
        final String kib = found(MEMORY, "/proc/meminfo");
        if (!kib.isEmpty()) {
            facts.put("memory_bytes", Long.parseLong(kib) * KIB);
        }
        put(facts, "kernel", machine.text("/proc/sys/kernel/osrelease"));
        put(facts, "java", Runtime.version().toString());
        put(facts, "file_system", volume.type());
        put(facts, "device", volume.source());
        final String load = machine.text("/proc/loadavg");
        if (!load.isEmpty()) {
            facts.put("load_before", Double.valueOf(load.split(" ")[0]));
        }
        return facts;
    }

    private String found(final Pattern pattern, final String file) {
        final Matcher matcher = pattern.matcher(machine.text(file));
        return matcher.find() ? matcher.group(1).strip() : "";
    }

    private static void put(final Map<String, Object> facts, final String name, final String value) {
        if (!value.isEmpty()) {
            facts.put(name, value);
        }
    }
}
