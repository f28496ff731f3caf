package io.kvtier.store.cli;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.StringReader;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class TraceReaderTest {
    private static final String GOOD = "{\"timestamp\": 3, \"input_length\": 700, \"output_length\": 9, "
        + "\"hash_ids\": [4, 5]}\n";

    @TempDir
    private Path dir;

    private static List<TraceRequest> read(final Path file) throws IOException {
        return TraceReader.readAll(file, Long.MAX_VALUE);
    }

    private Path file(final String text) throws IOException {
        return Files.writeString(dir.resolve("trace.jsonl"), text);
    }

    @Test
    void shouldReadEveryField() throws IOException {
        final TraceRequest request = read(file(GOOD)).getFirst();
        assertEquals(3, request.timestamp());
        assertEquals(700, request.inputTokens());
        assertEquals(9, request.outputTokens());
        assertArrayEquals(new long[] {4, 5}, request.hashIds());
    }

    @Test
    void shouldIgnoreUnknownFieldsAndDoWithoutTheOnesThatAreNotNeeded() throws IOException {
        final List<TraceRequest> requests = read(file(
            "{\"model\": {\"name\": [1, {\"hash_ids\": [9]}]}, \"hash_ids\": [9223372036854775807], \"user\": null}\n"
                + "{\"timestamp\": 0.25, \"hash_ids\": []}"));
        assertArrayEquals(new long[] {Long.MAX_VALUE}, requests.get(0).hashIds());
        assertEquals(0.25, requests.get(1).timestamp());
        assertArrayEquals(new long[0], requests.get(1).hashIds());
    }

    @Test
    void shouldKeepRequestsApartWhenOneHasMoreBlocksThanTheNext() throws IOException {
        final StringBuilder ids = new StringBuilder("0");
        for (int i = 1; i < 1000; i++) {
            ids.append(',').append(i);
        }
        final List<TraceRequest> requests = read(file("{\"hash_ids\": [" + ids + "]}\n" + GOOD));
        assertEquals(1000, requests.get(0).hashIds().length);
        assertEquals(999, requests.get(0).hashIds()[999]);
        assertEquals(2, requests.get(1).hashIds().length);
    }

    @Test
    void shouldAllowBlankLinesAtTheEndAndWindowsLineEnds() throws IOException {
        assertEquals(2, read(file(GOOD + GOOD.replace("\n", "\r\n") + "  \r\n\n")).size());
    }

    @Test
    void shouldStopAtTheLimitWithoutLookingFurther() throws IOException {
        assertEquals(1, TraceReader.readAll(file(GOOD + "rubbish"), 1).size());
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '~', value = {
        "[1, 2]                                | not a JSON object",
        "7                                     | not a JSON object",
        "{\"timestamp\": 1}                    | no field hash_ids",
        "{\"hash_ids\": 5}                     | hash_ids is 5; it has to be an array",
        "{\"hash_ids\": null}                  | hash_ids is null; it has to be an array",
        "{\"hash_ids\": [1, 2.5]}              | hash_ids[1] is 2.5; it has to be an integer",
        "{\"hash_ids\": [1, 2.0]}              | hash_ids[1] is 2.0; it has to be an integer",
        "{\"hash_ids\": [\"1\"]}               | hash_ids[0] is the text \"1\"; it has to be an integer",
        "{\"hash_ids\": [[1]]}                 | hash_ids[0] is an array; it has to be an integer",
        "{\"hash_ids\": [null]}                | hash_ids[0] is null; it has to be an integer",
        "{\"hash_ids\": [0, 1, -4]}            | hash_ids[2] is -4; it has to be 0 or more",
        "{\"hash_ids\": [9223372036854775808]} | hash_ids[0] is 9223372036854775808; the largest integer is",
        "{\"hash_ids\": [1], \"input_length\": -1}     | input_length is -1; it has to be 0 or more",
        "{\"hash_ids\": [1], \"output_length\": \"x\"} | output_length is the text \"x\"",
        "{\"hash_ids\": [1], \"timestamp\": true}      | timestamp is true; it has to be a number",
        "{\"hash_ids\": [1, 2                  | broken JSON at column",
        "{\"hash_ids\": [1]                    | broken JSON at column",
        "{\"hash_ids\": [1]} {\"hash_ids\": []}| more than one JSON value",
        "{\"hash_ids\": [1]} x                 | broken JSON at column",
        "{\"hash_ids\": [1], \"hash_ids\": [2]}| broken JSON at column 29: Duplicate field 'hash_ids'",
        "requests: 5                           | broken JSON at column",
    })
    void shouldNameFileLineAndCauseOfABadLine(final String line, final String cause) throws IOException {
        final Path file = file(GOOD + GOOD + line + '\n' + GOOD);
        final TraceFormatException failure = assertThrows(TraceFormatException.class, () -> read(file));
        final String start = file + ", line 3: " + cause;
        assertTrue(failure.getMessage().startsWith(start), () -> failure.getMessage() + "\n, not\n" + start);
        assertEquals(1, failure.getMessage().lines().count());
    }

    @Test
    void shouldNameTheBlankLineWhenMoreFollows() throws IOException {
        final Path file = file(GOOD + "\n\n" + GOOD);
        assertEquals(file + ", line 2: blank, but not the last; remove it",
            assertThrows(TraceFormatException.class, () -> read(file)).getMessage());
    }

    @Test
    void shouldRefuseALineThatDoesNotEnd() throws IOException {
        try (TraceReader reader = new TraceReader("pipe", new BufferedReader(new StringReader(GOOD + "x".repeat(99))),
            90)) {
            assertEquals(2, reader.next().hashIds().length);
            assertEquals("pipe, line 2: longer than 90 characters; a trace has one JSON object a line",
                assertThrows(TraceFormatException.class, reader::next).getMessage());
        }
    }

    @Test
    void shouldReadNothingAfterTheEnd() throws IOException {
        try (TraceReader reader = TraceReader.open(file(GOOD))) {
            assertEquals(2, reader.next().hashIds().length);
            assertNull(reader.next());
            assertNull(reader.next());
        }
    }

    @Test
    void shouldTellAnEmptyFileAMissingOneAndADirectoryApart() throws IOException {
        final Path empty = file("");
        assertEquals(empty + " is empty; a trace has one JSON object a line",
            assertThrows(TraceFormatException.class, () -> read(empty)).getMessage());
        final Path missing = dir.resolve("missing.jsonl");
        assertEquals("no such file; name a trace with one JSON object a line",
            assertThrows(NoSuchFileException.class, () -> read(missing)).getReason());
        assertEquals(dir + " is a directory; name a file with one JSON object a line",
            assertThrows(IOException.class, () -> read(dir)).getMessage());
    }
}
