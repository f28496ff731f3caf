package io.kvtier.store.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.LeakCheck;
import io.kvtier.store.Store;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@ExtendWith(LeakCheck.class)
final class ReplayTest {
    private static final String[] LRU = {"--high-watermark", "1.0", "--eviction-ratio", "0", "--lease-ms", "0"};
    private static final int REQUESTS = 300;
    private static final String REQUEST =
        "{\"timestamp\": 1, \"input_length\": 2, \"output_length\": 3, \"hash_ids\": ";

    @TempDir
    private Path dir;
    private List<List<Long>> requests;
    private Path trace;

    /** Conversations that grow and are picked up again, as in a trace of a chat service. */
    @BeforeEach
    void writeTrace() throws IOException {
        final SplittableRandom random = new SplittableRandom(11);
        final List<List<Long>> conversations = new ArrayList<>();
        requests = new ArrayList<>();
        long next = 1;
        for (int i = 0; i < REQUESTS; i++) {
            final List<Long> blocks = new ArrayList<>();
            blocks.add(0L);
            if (!conversations.isEmpty() && random.nextInt(3) > 0) {
                final int recent = Math.min(conversations.size(), 12);
                blocks.clear();
                blocks.addAll(conversations.get(conversations.size() - 1 - random.nextInt(recent)));
            }
            for (int added = random.nextInt(6); added >= 0; added--) {
                blocks.add(next++);
            }
            conversations.add(blocks);
            requests.add(blocks);
        }
        trace = Files.write(dir.resolve("chat.jsonl"),
            requests.stream().map(blocks -> REQUEST + blocks + '}').toList());
    }

    private CommandRun replay(final String... options) {
        return CommandRun.of(with(new String[] {"replay", trace.toString(), "--block-bytes", "4096"}, options));
    }

    private static String[] with(final String[] some, final String... more) {
        final List<String> all = new ArrayList<>(List.of(some));
        all.addAll(List.of(more));
        return all.toArray(String[]::new);
    }

    /** Counts that an exact LRU of its own comes to. */
    private record Expected(long blocks, long distinct, long hits, long prefixHits) {
        static Expected lru(final List<List<Long>> requests, final int capacity) {
            final Map<Long, Boolean> cache = new LinkedHashMap<>(16, 0.75f, true) {
                private static final long serialVersionUID = 1L;

                @Override
                protected boolean removeEldestEntry(final Map.Entry<Long, Boolean> eldest) {
                    return size() > capacity;
                }
            };
            final Set<Long> distinct = new HashSet<>();
            long blocks = 0;
            long hits = 0;
            long prefixHits = 0;
            for (final List<Long> request : requests) {
                boolean prefix = true;
                for (final Long id : request) {
                    blocks++;
                    distinct.add(id);
                    final boolean hit = cache.get(id) != null;
                    prefix &= hit;
                    hits += hit ? 1 : 0;
                    prefixHits += prefix ? 1 : 0;
                    if (!hit) {
                        cache.put(id, true);
                    }
                }
            }
            return new Expected(blocks, distinct.size(), hits, prefixHits);
        }

        static double ratio(final long part, final long whole) {
            return BigDecimal.valueOf((double) part / whole).setScale(4, RoundingMode.HALF_UP).doubleValue();
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 7, 40, 150, 2000})
    void shouldHitAsAnExactLruDoes(final int capacity) {
        final Expected expected = Expected.lru(requests, capacity);
        final Map<String, Object> json =
            replay(with(LRU, "--memory-blocks", Integer.toString(capacity), "--json")).done().json();
        assertEquals("replay", json.get("command"));
        assertEquals((long) REQUESTS, json.get("requests"));
        assertEquals(expected.blocks(), json.get("blocks"));
        assertEquals(expected.distinct(), json.get("distinct_blocks"));
        assertEquals(expected.hits(), json.get("memory_hits"));
        assertEquals(expected.blocks() - expected.hits(), json.get("misses"));
        assertEquals(Expected.ratio(expected.hits(), expected.blocks()), json.get("hit_ratio"));
        assertEquals(Expected.ratio(expected.prefixHits(), expected.blocks()), json.get("prefix_hit_ratio"));
        assertEquals(0L, json.get("disk_hits"));
        assertEquals(0L, json.get("puts_without_space"));
        assertEquals(expected.hits() * 4096, json.get("memory_read_bytes"));
        assertEquals(expected.blocks(), json.get("latency_ns.get.count"));
        assertEquals(expected.blocks() - expected.hits(), json.get("latency_ns.put.count"));
    }

    /** Memory and SSD hold different blocks, and what was used longest ago goes, wherever it was used. */
    @Test
    void shouldHitWithTwoTiersAsOneOfTheirSizeDoes() throws IOException {
        final SplittableRandom random = new SplittableRandom(3);
        requests.clear();
        for (int i = 0; i < 2500; i++) {
            requests.add(List.of((long) random.nextInt(1 + random.nextInt(400))));
        }
        Files.write(trace, requests.stream().map(blocks -> REQUEST + blocks + '}').toList());
        final long one = Expected.lru(requests, 120).hits();
        assertTrue(Expected.lru(requests, 100).hits() < 0.93 * one, "there is something to lose");
        final Map<String, Object> json = replay(with(LRU, "--memory-blocks", "40", "--disk-blocks", "80", "--json"))
            .done().json();
        final long hits = (long) json.get("memory_hits") + (long) json.get("disk_hits");
        assertTrue(hits >= 0.98 * one, () -> hits + " hits of " + one + ": " + json);
        assertTrue((long) json.get("disk_evictions") > 0 && (long) json.get("disk_hits") > 0, json::toString);
        assertEquals(0L, json.get("puts_without_space"));
    }

    @Test
    void shouldMissNothingTwiceWhenTheSsdHoldsWhatMemoryDoesNot() {
        final Expected unbounded = Expected.lru(requests, Integer.MAX_VALUE);
        final Map<String, Object> json =
            replay("--memory-blocks", "20", "--disk-blocks", "4000", "--json").done().json();
        assertEquals(unbounded.distinct(), json.get("misses"));
        assertEquals(unbounded.hits(), (long) json.get("memory_hits") + (long) json.get("disk_hits"));
        assertTrue((long) json.get("disk_hits") > 0, () -> json.toString());
        assertTrue((long) json.get("offloads") > 0, () -> json.toString());
    }

    @Test
    void shouldFindBlocksAgainInAKeptDirectory() {
        final Path kept = dir.resolve("tier");
        final String[] options = {"--memory-blocks", "20", "--disk-blocks", "4000", "--dir", kept.toString(), "--json"};
        replay(options).done();
        assertTrue(Files.isDirectory(kept));
        final Map<String, Object> json = replay(options).done().json();
        final Expected unbounded = Expected.lru(requests, Integer.MAX_VALUE);
        assertTrue((long) json.get("misses") <= 20, "only what never left memory is missed the second time");
        assertEquals(unbounded.blocks(), json.get("blocks"));
    }

    @Test
    void shouldPrintATableForPeopleAndNothingOnStandardError() {
        final CommandRun run = replay(LRU).done();
        assertEquals("", run.err());
        assertTrue(run.out().lines().anyMatch(line -> line.matches("hit ratio +0\\.\\d{4}")), run.out());
        assertTrue(run.out().lines().anyMatch(line -> line.startsWith("latency ")), run.out());
    }

    @Test
    void shouldReplayTheFirstRequestsOnly() {
        final Map<String, Object> json = replay("--limit", "5", "--json").done().json();
        assertEquals(5L, json.get("requests"));
        assertEquals(Expected.lru(requests.subList(0, 5), Integer.MAX_VALUE).blocks(), json.get("blocks"));
    }

    @Test
    void shouldWorkWithBlocksOfAnOddSize() {
        final Expected expected = Expected.lru(requests, 40);
        final Map<String, Object> json = CommandRun.of(with(new String[] {"replay", trace.toString(),
            "--memory-blocks", "40", "--block-bytes", "4097", "--json"}, LRU)).done().json();
        assertEquals(expected.hits(), json.get("memory_hits"));
        assertEquals(expected.hits() * 4097, json.get("memory_read_bytes"));
    }

    @Test
    void shouldFailNamingKeyAndOffsetWhenAByteIsWrong() {
        final CommandRun run = CommandRun.of(config -> FaultyStore.around(Store.open(config), "get",
            (real, method, arguments) -> {
                final Object outcome = method.invoke(real, arguments);
                final MemorySegment target = ((MemorySegment[]) arguments[1])[0];
                target.set(ValueLayout.JAVA_BYTE, 77, (byte) ~target.get(ValueLayout.JAVA_BYTE, 77));
                return outcome;
            }), "replay", trace.toString(), "--json");
        assertEquals(1, run.status());
        assertTrue(run.err().startsWith("kvtier replay: wrong byte: key default/block/"), run.err());
        assertTrue(run.err().contains("offset 77 of 65536, from MEMORY"), run.err());
        assertEquals("failed", run.json().get("status"));
        assertEquals(run.err().strip(), "kvtier replay: " + run.json().get("error"));
    }

    @Test
    void shouldFailOnABadLineBeforeAStoreIsOpened() throws IOException {
        Files.writeString(trace, Files.readString(trace) + "{\"hash_ids\": [1,\n");
        final CommandRun run = CommandRun.of(config -> {
            throw new AssertionError("opened");
        }, "replay", trace.toString());
        assertEquals(1, run.status());
        assertTrue(run.err().startsWith("kvtier replay: " + trace + ", line " + (REQUESTS + 1) + ": broken JSON"),
            run.err());
        assertEquals("", run.out());
    }

    @Test
    void shouldLeaveNoTemporaryDirectoryOfItsSsdTier() throws IOException {
        final Set<Path> before = temporaryDirectories();
        replay("--memory-blocks", "20", "--disk-blocks", "400", "--limit", "20").done();
        final Set<Path> after = temporaryDirectories();
        after.removeAll(before);
        // Other processes have theirs.
        final String own = "kvtier-work-" + ProcessHandle.current().pid() + '-';
        assertFalse(after.stream().anyMatch(path -> path.toString().contains(own)), after::toString);
    }

    private static Set<Path> temporaryDirectories() throws IOException {
        try (var paths = Files.list(Path.of(System.getProperty("java.io.tmpdir")))) {
            return paths.collect(Collectors.toCollection(HashSet::new));
        }
    }
}
