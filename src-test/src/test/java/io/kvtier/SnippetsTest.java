package io.kvtier;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.LeakCheck;
import io.kvtier.alloc.HostRegion;
import io.kvtier.bindings.NativeTag;
import io.kvtier.store.GetOutcome;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.Store;
import io.kvtier.store.StoreConfig;
import io.kvtier.store.StoreStats;
import io.kvtier.store.config.MasterSettings;
import io.kvtier.store.config.SecurityFiles;
import io.kvtier.store.master.MasterServer;
import io.kvtier.store.replica.ReplicaType;
import io.kvtier.transport.rpc.RpcServerConfig;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

@ExtendWith(LeakCheck.class)
final class SnippetsTest {
    private static final Path ROOT = Path.of(System.getProperty("kvtier.root"));

    /** What stands between a start and an end, each time, without the indentation. */
    private static List<String> between(final Path file, final String start, final String end) throws IOException {
        final String text = Files.readString(ROOT.resolve(file));
        final List<String> found = new ArrayList<>();
        for (int from = text.indexOf(start); from >= 0; from = text.indexOf(start, from + 1)) {
            final int first = from + start.length();
            final int last = text.indexOf(end, first);
            assertTrue(last >= 0, () -> file + " has no " + end + " after " + start);
            found.add(text.substring(first, last).stripIndent().strip());
        }
        assertFalse(found.isEmpty(), () -> file + " has no " + start);
        return found;
    }

    private static String one(final String file, final String start, final String end) throws IOException {
        return between(Path.of(file), start, end).getFirst();
    }

    @Test
    void shouldShowInTheReadmeWhatIsCompiledHere() throws IOException {
        assertEquals(between(Path.of("src-test/src/test/java/io/kvtier/Snippets.java"),
            "// @start region=\"readme\"\n", "\n    // @end"), between(Path.of("README.md"), "```java\n", "\n```"));
    }

    @Test
    void shouldNameInTheReadmeTheVersionsOfThisBuild() throws IOException {
        assertEquals(one("pom.xml", "<artifactId>kvtier-parent</artifactId>\n  <version>", "</version>"),
            one("README.md", "<artifactId>kvtier-store</artifactId>\n    <version>", "</version>"));
        final String compiler = "<artifactId>maven-compiler-plugin</artifactId>\n";
        assertEquals(one("pom.xml", compiler + "          <version>", "</version>"),
            one("README.md", compiler + "      <version>", "</version>"));
        final String release = "<maven.compiler.release>";
        assertEquals(one("pom.xml", release, "<"), one("README.md", release, "<"));
    }

    @Test
    void shouldRoundTripAsTheReadmeSays(@TempDir final Path directory) {
        assertEquals(new GetOutcome(true, 64 << 10, ReplicaType.MEMORY), Snippets.roundTrip(directory));
    }

    @Test
    void shouldLookAsTheReadmeSays() {
        try (Store store = Store.open(StoreConfig.builder().memoryBytes(1 << 20).build())) {
            final ObjectKey key = ObjectKey.of("key");
            store.put(key, MemorySegment.ofArray(new byte[5000]));
            final StoreStats stats = Snippets.look(store, key, MemorySegment.ofArray(new byte[904]));
            assertEquals(0, stats.objects());
            assertEquals(904, stats.memory().readBytes());
        }
    }

    @Test
    void shouldUseRegionsAsTheReadmeSays() {
        try (Store store = Store.open(StoreConfig.builder().memoryBytes(1 << 20).build());
            HostRegion tensor = HostRegion.allocate(NativeTag.TEST, 2 << 20)) {
            assertEquals(new GetOutcome(true, 8192, ReplicaType.MEMORY),
                Snippets.regions(store, ObjectKey.of("key"), tensor));
        }
    }

    @Test
    void shouldJoinAsTheReadmeSays(@TempDir final Path directory) throws IOException {
        final Path file = Files.writeString(directory.resolve("secret"), "a secret of a test, long enough\n");
        final RpcServerConfig open = RpcServerConfig.loopback(0);
        final RpcServerConfig guarded = new RpcServerConfig(open.address(), SecurityFiles.secret(file), null, false,
            false, open.maxConnections(), open.maxBodyBytes(), open.handshakeTimeoutMs(), open.drainTimeoutMs(),
            open.stallTimeoutMs());
        try (MasterServer master = MasterServer.start(guarded, new MasterSettings(
                new MasterSettings.Eviction(0.9, 0.05, 0.9, 0.05, true), 10_000, true, 1_000,
                new MasterSettings.Liveness(10_000, 30_000, 600_000, 3), MasterSettings.Pins.DEFAULT,
                MasterSettings.Tasks.DEFAULT, false, MasterSettings.Strategy.RANDOM));
             Store store = Snippets.join("127.0.0.1", master.address().getPort(), file, null)) {
            assertEquals(64 << 20, store.stats().memory().capacityBytes());
        }
    }
}
