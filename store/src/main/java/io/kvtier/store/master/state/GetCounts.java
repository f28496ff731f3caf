package io.kvtier.store.master.state;

import io.kvtier.store.protocol.MasterStats.Gets;
import io.kvtier.store.protocol.SegmentCommand.Medium;

/** How many values were asked for, and where they were found. */
final class GetCounts {
    private final Found memory = new Found();
    private final Found nof = new Found();
    private final Found gds = new Found();
    private final Found pages = new Found();
    private final Found disk = new Found();
    private long total;

    private static final class Found {
        private long values;
        private long bytes;
    }

    /** Somebody wants to read a value. */
    void asked() {
        total++;
    }

    /** It can be read. */
    void found(final ObjectEntry entry) {
        final Found found = isIn(entry, Medium.MEMORY) ? memory : isIn(entry, Medium.NOF) ? nof
            : isIn(entry, Medium.GDS) ? gds : isIn(entry, Medium.DISTRIBUTED_DISK) ? pages : disk;
        found.values++;
        found.bytes += entry.record().size();
    }

    private static boolean isIn(final ObjectEntry entry, final Medium medium) {
        final Residency residency = entry.residency(medium);
        return residency != null && residency.isReadable();
    }

    Gets counted() {
        return new Gets(total, memory.values, memory.bytes, nof.values, nof.bytes, disk.values, disk.bytes,
            gds.values, gds.bytes, pages.values, pages.bytes);
    }
}
