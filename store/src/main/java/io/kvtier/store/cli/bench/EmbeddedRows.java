package io.kvtier.store.cli.bench;

import io.kvtier.alloc.HostRegion;
import io.kvtier.store.GdsConfig;
import io.kvtier.store.Store;
import io.kvtier.store.StoreConfig;
import java.lang.foreign.MemorySegment;
import java.util.List;

/** Values in the memory of this process, beside copies of the same memory to the same memory. */
final class EmbeddedRows {
    private static final long VALUE_BYTES = 1L << 20;
    /** What a processor's caches cannot hold. */
    private static final int VALUES = 256;
    private static final int BUFFERS = 256;
    private static final long MEMORY_BYTES = 2 * VALUES * VALUE_BYTES;
    private static final double GOAL = 0.9;

    private final Workspace workspace;

    EmbeddedRows(final Workspace workspace) {
        this.workspace = workspace;
    }

    List<Row> rows() {
        final ValueLoad.Shape shape =
            new ValueLoad.Shape(ValueLoad.Operation.GET, VALUE_BYTES, 1, VALUES, BUFFERS);
        return List.of(new Row("embedded get " + Names.bytes(VALUE_BYTES) + ", 1 thread", Unit.MIB_PER_SECOND,
            Peer.builtIn("MemorySegment.copy"), GOAL, Row.EVERYWHERE, () -> Rig.with(rig -> {
                final Store store = rig.keep(Store.open(StoreConfig.builder().memoryBytes(MEMORY_BYTES)
                    .hugePages(true).gds(GdsConfig.NONE).build()), Store::close);
                final ValueLoad ours = ValueLoad.open(rig, shape, workspace, () -> new StoreValues(store));
                final HostRegion memory = rig.keep(workspace.filled(VALUES * VALUE_BYTES, 0));
                final ValueLoad copies = ValueLoad.open(rig, shape, workspace, () -> new Copies(memory.segment()));
                return new Contest(rig, ours::mebibytesPerSecond, copies::mebibytesPerSecond);
            })));
    }

    /** Values at places that follow from their names. */
    private record Copies(MemorySegment memory) implements KeyValues {
        @Override
        public void put(final String name, final MemorySegment value) {
            MemorySegment.copy(value, 0, memory, at(name), value.byteSize());
        }

        @Override
        public void get(final String name, final MemorySegment into) {
            MemorySegment.copy(memory, at(name), into, 0, into.byteSize());
        }

        private static long at(final String name) {
            return Long.parseLong(name.substring(name.lastIndexOf('-') + 1)) * VALUE_BYTES;
        }
    }
}
