package io.kvtier.store.cli.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.ReferenceXxh64;
import io.kvtier.store.config.MasterSettings;
import io.kvtier.store.master.MasterServer;
import io.kvtier.store.protocol.Command;
import io.kvtier.store.protocol.Master;
import io.kvtier.store.protocol.PageCommand.AllocateDistributedPage;
import io.kvtier.store.protocol.PageCommand.BatchAllocateDistributedPage;
import io.kvtier.store.protocol.PageCommand.BucketInfo;
import io.kvtier.store.protocol.PageCommand.DistributedBuckets;
import io.kvtier.store.replica.PageLayout;
import io.kvtier.transport.rpc.RpcServerConfig;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

@ExtendWith(LeakCheck.class)
final class PageLoadTest {
    private static final long PAGE = 64 << 10;

    private final List<String> asked = new ArrayList<>();
    private MasterServer server;

    @AfterEach
    void close() {
        if (server != null) {
            server.close();
        }
    }

    private PageLoad open(final PageLayout layout, final long... sizes) throws IOException {
        server = MasterServer.start(RpcServerConfig.loopback(0), MasterHost.settings().withPages(
            new MasterSettings.Pages(layout, "bench", 1, 0, false, MasterSettings.Pages.OFF.promotion())));
        return PageLoad.open(new Master() {
            @Override
            public <R> R apply(final Command<R> command) {
                switch (command) {
                    case AllocateDistributedPage one -> asked.add(one.request().key().key());
                    case BatchAllocateDistributedPage all ->
                        all.requests().forEach(request -> asked.add(request.key().key()));
                    default -> { }
                }
                return server.master().apply(command);
            }
        }, layout, LongStream.of(sizes));
    }

    private static PageLayout layout(final int files, final int pages) {
        return new PageLayout("/nowhere", files, PAGE, pages * PAGE);
    }

    private long allocated() {
        return server.master().apply(new DistributedBuckets()).stream().mapToLong(BucketInfo::allocated).sum();
    }

    @Test
    void shouldCountBytesUpToTheFirstValueWithoutRoomAndGiveAllBack() throws IOException {
        // Two fit; what the third would need is not there.
        final PageLoad load = open(layout(1, 5), 2 * PAGE, 2 * PAGE, 2 * PAGE);
        for (int i = 0; i < 3; i++) {
            assertEquals(4 / 5.0, load.fill());
            assertEquals(0, allocated());
        }
    }

    /** A later value that is small enough finds room, and does not count. */
    @Test
    void shouldCountNothingAfterTheFirstValueWithoutRoom() throws IOException {
        final PageLoad load = open(layout(1, 5), 4 * PAGE, 4 * PAGE, PAGE);
        final Set<Double> shares = new TreeSet<>();
        for (int i = 0; i < 20; i++) {
            shares.add(load.fill());
        }
        // By whether the small one is the last.
        assertEquals(Set.of(0.8, 1.0), shares);
    }

    @Test
    void shouldCountBytesOfValuesAndNotOfTheirPages() throws IOException {
        final PageLoad load = open(layout(1, 2), 1, 1, 1);
        assertEquals(2 / (2.0 * PAGE), load.fill());
        assertEquals(2 / (2.0 * PAGE), load.fillHomes());
    }

    @Test
    void shouldFailWhereEverythingFits() throws IOException {
        final PageLoad load = open(layout(1, 5), PAGE, PAGE);
        assertTrue(assertThrows(IOException.class, load::fill).getMessage().contains("found room"));
        assertTrue(assertThrows(IOException.class, load::fillHomes).getMessage().contains("found room"));
        assertEquals(0, allocated());
    }

    @Test
    void shouldTakeAValueInItsHomeFileOrNotAtAll() throws IOException {
        // So many files that these two have one home, of one page.
        final int files = IntStream.range(2, 10_000).filter(count -> home("block-0", count) == home("block-1", count))
            .findFirst().orElseThrow();
        final PageLoad load = open(layout(files, 1), PAGE, PAGE);
        assertEquals(1.0 / files, load.fillHomes());
        assertTrue(assertThrows(IOException.class, load::fill).getMessage().contains("found room"));
    }

    private static long home(final String key, final long files) {
        return Long.remainderUnsigned(ReferenceXxh64.of(key.getBytes(StandardCharsets.UTF_8)), files);
    }

    @Test
    void shouldAllocateAndReleasePagesOfEachValueInTurn() throws IOException {
        final PageLoad load = open(layout(4, 8), PAGE, PAGE, PAGE, PAGE, PAGE, PAGE);
        final Crowd.Work single = load.single(1, 2);
        final Crowd.Work batch = load.batch(0, 2, 3);
        for (int i = 0; i < 10; i++) {
            assertEquals(1, single.once());
            assertEquals(3, batch.once());
            assertEquals(0, allocated());
        }
        assertEquals(List.of("block-1", "block-0", "block-2", "block-4", "block-3", "block-0", "block-2", "block-4",
            "block-5", "block-0", "block-2", "block-4", "block-1"), asked.subList(0, 13));
    }

    @Test
    void shouldFailWhenThereAreNoPages() throws IOException {
        final PageLoad load = open(layout(1, 2), 3 * PAGE);
        assertTrue(assertThrows(IOException.class, load.single(0, 1)::once).getMessage().contains("NO_SPACE"));
    }
}
