package io.kvtier.store.cli.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.alloc.HostRegion;
import io.kvtier.bindings.NativeTag;
import io.kvtier.kit.LeakCheck;
import io.kvtier.store.BatchResult;
import io.kvtier.store.GetOutcome;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.PutOutcome;
import io.kvtier.store.Store;
import io.kvtier.store.cli.bench.SharedReads.Way;
import io.kvtier.store.replica.PageLayout;
import io.kvtier.store.replica.ReplicaType;
import io.kvtier.store.storage.shared.BucketFiles;
import io.kvtier.store.storage.shared.FileSystemAdapter;
import java.io.IOException;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

@ExtendWith(LeakCheck.class)
final class SharedReadsTest {
    private static final int BYTES = 3 * 4096;
    private static final int COUNT = 5;

    private final AtomicInteger opened = new AtomicInteger();

    @TempDir
    private Path dir;
    private Rig rig;
    private PageLayout layout;
    private FileSystemAdapter files;
    private HostRegion memory;

    @BeforeEach
    void open() {
        rig = new Rig();
        layout = new PageLayout(dir.toString(), 1, 64 << 10, 1 << 20);
        files = counted(DirectFolders.files(rig));
        BucketFiles.prepare(layout, files);
        memory = rig.keep(HostRegion.allocate(NativeTag.HOST_REGION, BYTES * COUNT));
    }

    @AfterEach
    void close() {
        rig.close();
    }

    private FileSystemAdapter counted(final FileSystemAdapter real) {
        return (FileSystemAdapter) Proxy.newProxyInstance(FileSystemAdapter.class.getClassLoader(),
            new Class<?>[] {FileSystemAdapter.class}, (proxy, method, arguments) -> {
                opened.addAndGet(method.getName().equals("open") ? 1 : 0);
                return method.invoke(real, arguments);
            });
    }

    private PlacedValues put(final Way way, final boolean compared) {
        final PlacedValues values = new PlacedValues(layout, new SharedReads(rig, layout, files, way), compared);
        for (int i = 0; i < COUNT; i++) {
            Stamps.write(items().get(i).memory().getFirst(), i);
        }
        for (final BatchResult<PutOutcome> result : values.put(items())) {
            assertEquals(PutOutcome.STORED, result.orThrow());
        }
        memory.segment().fill((byte) 0);
        return values;
    }

    private List<Store.Item> items() {
        return IntStream.range(0, COUNT).mapToObj(i -> new Store.Item(ObjectKey.of("value-" + i),
            List.of(memory.segment().asSlice((long) i * BYTES, BYTES)))).toList();
    }

    @ParameterizedTest
    @EnumSource(Way.class)
    void shouldReadWhatWasWritten(final Way way) throws IOException {
        final PlacedValues values = put(way, true);
        for (final BatchResult<GetOutcome> result : values.get(items())) {
            assertEquals(new GetOutcome(true, BYTES, ReplicaType.DISTRIBUTED_DISK), result.orThrow());
        }
        for (int i = 0; i < COUNT; i++) {
            Stamps.check(items().get(i).memory().getFirst(), i);
        }
    }

    @ParameterizedTest
    @EnumSource(Way.class)
    void shouldFailWhenAValueIsNotWhatWasWritten(final Way way) throws IOException {
        final PlacedValues values = put(way, true);
        overwrite(2);
        final IOException thrown = assertThrows(IOException.class, () -> values.get(items()));
        assertTrue(thrown.getMessage().contains("offset=" + 2 * layout.pageBytes()), thrown::getMessage);
    }

    @Test
    void shouldNotLookAtChecksumsUnlessAsked() throws IOException {
        final PlacedValues values = put(Way.TOGETHER, false);
        overwrite(2);
        values.get(items());
        // Who asked is left to find out.
        assertThrows(IOException.class, () -> Stamps.check(items().get(2).memory().getFirst(), 2));
    }

    private void overwrite(final int value) throws IOException {
        try (FileChannel channel = FileChannel.open(Path.of(layout.path(0)), StandardOpenOption.WRITE)) {
            channel.write(ByteBuffer.allocate(8), value * layout.pageBytes() + 4096);
            channel.force(true);
        }
    }

    @ParameterizedTest
    @CsvSource({"TOGETHER, 0", "ONE_BY_ONE, 0", "OPENED_ANEW, 5"})
    void shouldOpenFilesOfValuesOnlyWhereThatIsTheDifference(final Way way, final int expected) throws IOException {
        final PlacedValues values = put(way, true);
        final int before = opened.get();
        values.get(items());
        assertEquals(expected, opened.get() - before);
    }
}
