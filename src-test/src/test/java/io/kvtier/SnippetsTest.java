package io.kvtier;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.LeakCheck;
import io.kvtier.store.GetOutcome;
import io.kvtier.store.replica.ReplicaType;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

@ExtendWith(LeakCheck.class)
final class SnippetsTest {
    private static final Path ROOT = Path.of(System.getProperty("kvtier.root"));

    private static String between(final Path file, final String start, final String end) throws IOException {
        final String text = Files.readString(file);
        final int from = text.indexOf(start);
        assertTrue(from >= 0, () -> file + " has no " + start);
        final int first = from + start.length();
        final int last = text.indexOf(end, first);
        assertTrue(last >= 0, () -> file + " has no " + end + " after " + start);
        return text.substring(first, last).stripIndent().strip();
    }

    @Test
    void shouldShowInTheReadmeWhatIsCompiledHere() throws IOException {
        final Path source = ROOT.resolve("src-test/src/test/java/io/kvtier/Snippets.java");
        assertEquals(between(source, "// @start region=\"readme\"\n", "\n    // @end"),
            between(ROOT.resolve("README.md"), "```java\n", "\n```"));
    }

    @Test
    void shouldRoundTripAsTheReadmeSays(@TempDir final Path directory) {
        assertEquals(new GetOutcome(true, 64 << 10, ReplicaType.MEMORY), Snippets.roundTrip(directory));
    }
}
