package io.kvtier.store.storage.shared;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;

import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.MooseMounts;
import io.kvtier.kit.PatternBytes;
import io.kvtier.transport.TransferConfig;
import io.kvtier.transport.TransferEngine;
import io.kvtier.transport.Transport;
import io.kvtier.transport.file.FileOpener;
import io.kvtier.transport.file.PosixTransport;
import io.kvtier.transport.file.UringConfig;
import io.kvtier.transport.file.UringTransport;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** Whether what was synced at one mount is what another mount reads, on a file system that keeps back what was not. */
@ExtendWith(LeakCheck.class)
class SharedMountSyncTest {
    private static final int PAGE = 65_536;
    private static final int PAGES = 32;

    @TempDir
    private Path directory;

    private static FileSystemAdapter open(final boolean rings) {
        final List<Transport> transports = new ArrayList<>();
        if (rings) {
            transports.add(new UringTransport(FileOpener.POSIX, UringConfig.DEFAULT, true));
        }
        transports.add(new PosixTransport(FileOpener.POSIX, 2, true));
        return new PosixFileSystem(FileOpener.POSIX, TransferEngine.open(TransferConfig.DEFAULT, transports));
    }

    private static void read(final SharedFile file, final int page, final MemorySegment target) {
        file.read(page * (long) PAGE, List.of(target), 0, true).await();
    }

    private void writeAndRead(final MooseMounts mounts, final boolean rings) {
        final String name = rings ? "rings" : "calls";
        try (FileSystemAdapter files = open(rings); Arena arena = Arena.ofShared()) {
            final String path = mounts.first().resolve(name).toString();
            files.grow(path, PAGES * (long) PAGE);
            final MemorySegment memory = arena.allocate(PAGE, FileSystemAdapter.BLOCK_BYTES);
            final String other = mounts.second().resolve(name).toString();
            try (SharedFile writer = files.open(path); SharedFile reader = files.open(other)) {
                for (int i = 0; i < PAGES; i++) {
                    final byte[] page = PatternBytes.of(i + 1, PAGE);
                    memory.copyFrom(MemorySegment.ofArray(page));
                    writer.write(i * (long) PAGE, List.of(memory), 0).await();
                    writer.sync();
                    memory.fill((byte) 0);
                    read(reader, i, memory);
                    if (!Arrays.equals(page, PatternBytes.copyOf(memory))) {
                        // Read ahead before it was written, which a mount heeds in an open file, though not always.
                        try (SharedFile anew = files.open(other)) {
                            read(anew, i, memory);
                        }
                    }
                    assertArrayEquals(page, PatternBytes.copyOf(memory), name + ", page " + i);
                }
            }
        }
    }

    @Test
    void shouldReadAtAnotherMountWhatWasSynced() throws Exception {
        try (MooseMounts mounts = MooseMounts.start(directory)) {
            writeAndRead(mounts, false);
            writeAndRead(mounts, true);
        }
    }
}
