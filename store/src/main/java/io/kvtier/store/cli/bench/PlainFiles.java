package io.kvtier.store.cli.bench;

import io.kvtier.bindings.posix.BlockIo;
import io.kvtier.bindings.posix.OpenMode;
import io.kvtier.bindings.posix.PosixFile;
import io.kvtier.store.BatchResult;
import io.kvtier.store.GetOutcome;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.PutOutcome;
import io.kvtier.store.Store;
import io.kvtier.store.replica.ReplicaType;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * What anybody would write first: a file a value, written and made durable, or read, one after the other, past the page
 * cache. The oldest go where a limit is passed.
 *
 * <p><b>Threading:</b> one thread. <b>Lifetime:</b> the files are those of the folder.
 */
final class PlainFiles implements BatchValues {
    private final Path folder;
    private final long capacity;
    private final Map<ObjectKey, Long> sizes = new HashMap<>();
    private final ArrayDeque<ObjectKey> oldest = new ArrayDeque<>();
    private long used;

    PlainFiles(final Path folder, final long capacity) {
        this.folder = folder;
        this.capacity = capacity;
    }

    private String file(final ObjectKey key) {
        return folder.resolve(key.key()).toString();
    }

    @Override
    public List<BatchResult<PutOutcome>> put(final List<Store.Item> items) throws IOException {
        final List<BatchResult<PutOutcome>> results = new ArrayList<>(items.size());
        for (final Store.Item item : items) {
            final MemorySegment value = item.memory().getFirst();
            while (used + value.byteSize() > capacity && !oldest.isEmpty()) {
                final ObjectKey gone = oldest.remove();
                used -= sizes.remove(gone);
                Files.delete(folder.resolve(gone.key()));
            }
            PosixFile.open(file(item.key()), OpenMode.CREATE).close();
            try (PosixFile file = PosixFile.open(file(item.key()), OpenMode.READ_WRITE_DIRECT)) {
                BlockIo.writeFully(file, value, 0);
                file.sync();
            }
            sizes.put(item.key(), value.byteSize());
            oldest.add(item.key());
            used += value.byteSize();
            results.add(new BatchResult<>(PutOutcome.STORED, null));
        }
        return results;
    }

    @Override
    public List<BatchResult<GetOutcome>> get(final List<Store.Item> items) {
        final List<BatchResult<GetOutcome>> results = new ArrayList<>(items.size());
        for (final Store.Item item : items) {
            if (!sizes.containsKey(item.key())) {
                results.add(new BatchResult<>(GetOutcome.MISS, null));
                continue;
            }
            try (PosixFile file = PosixFile.open(file(item.key()), OpenMode.READ_DIRECT)) {
                results.add(new BatchResult<>(new GetOutcome(true,
                    BlockIo.readFully(file, item.memory().getFirst(), 0), ReplicaType.LOCAL_DISK), null));
            }
        }
        return results;
    }
}
