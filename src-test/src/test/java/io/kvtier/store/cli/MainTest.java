package io.kvtier.store.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.store.Store;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

final class MainTest {
    private static final StoreOpener NONE = config -> {
        throw new AssertionError("no store should be opened");
    };

    @TempDir
    private Path dir;

    @ParameterizedTest
    @ValueSource(strings = {"--help", "--version", "master --help", "demo --help", "replay --help", "doctor --help",
        "bench --help", "bench transfer --help", "bench rpc --help", "bench kv --help",
        "bench gds --help", "bench shared-disk --help"})
    void shouldAnswerQuestionsOnStandardOutput(final String line) {
        final CommandRun run = CommandRun.of(NONE, line.split(" "));
        assertEquals(0, run.status());
        assertEquals("", run.err());
        assertTrue(run.out().contains("kvtier"), run.out());
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "nonsense                           | nonsense",
        "--nonsense                         | --nonsense",
        "master --nonsense                  | --nonsense",
        "master --enable_snapshot           | enable_snapshot is true and there is no snapshot_backup_dir",
        "master --rpc_port                  | --rpc_port",
        "master --rpc-port x                | option --rpc_port is 'x'; it must be a whole number from 0 to 65535",
        "master --insecure=perhaps          | option --insecure is 'perhaps'; it must be true or false",
        "master --rpc_interface none0       | rpc_interface is none0: there is no such interface; there are",
        "master --metrics_host 0.0.0.0      | metrics_host is 0.0.0.0, which is beyond loopback: give admin_token_file",
        "master --rpc_address no.such.invalid | rpc_address is no.such.invalid: that host is not known",
        "master --secret_file /no/such/file | secret_file: /no/such/file cannot be read",
        "master --config_path /no/such.yaml | config_path is /no/such.yaml: that file cannot be read",
        "put                                | kvtier put: Missing required parameters: 'KEY', 'FILE'",
        "put                                | 'kvtier put --help'",
        "ls --master http://localhost:50051 | --master: 'http://localhost:50051' is not host:port",
        "ls --master :50051                 | --master: ':50051' is not host:port",
        "ls --tls-truststore x              | --tls-truststore needs --tls-password-file",
        "replay                             | TRACE",
        "replay t --lease-ms soon           | --lease-ms",
        "replay t --limit 0                 | --limit is 0; allowed is 1 or more",
        "replay t --block-bytes 64Q         | '64Q' is not a number of bytes",
        "replay t --block-bytes 0           | --block-bytes is 0; allowed is 1 to 1073741824",
        "replay t --memory-blocks 0         | --memory-blocks is 0; allowed is 1 to",
        "replay t --memory-blocks 268435457 | --memory-blocks is 268435457; allowed is 1 to 268435456",
        "replay t --disk-blocks -1          | --disk-blocks is -1; allowed is 0 to",
        "replay t --dir x                   | --dir needs an SSD tier; add --disk-blocks",
        "replay t --high-watermark 1.5      | option --high-watermark is 1.5; allowed is more than 0 and at most 1",
        "replay t --eviction-ratio 1        | option --eviction-ratio is 1.0; allowed is at least 0 and below 1",
        "replay t --lease-ms -1             | option --lease-ms is -1; allowed is 0 for none",
        "replay t --disk-low-watermark 0    | option --disk-low-watermark is 0.0; allowed is more than 0",
        "demo --memory-bytes 1K             | option --memory-bytes is 1024; allowed is one page to 16 TiB",
        "demo --disk-bytes 0                | --disk-bytes is 0",
        "demo --threads 0                   | --threads is 0; allowed is 1 to 256",
        "demo --rounds 0                    | --rounds is 0; allowed is 1 to 1000",
        "demo --sizes 64K                   | '64K' is not SIZExCOUNT",
        "demo --sizes 0x5                   | --sizes has values of 0 bytes",
        "demo --sizes 4Kx0                  | --sizes has no values",
        "demo --sizes 200Mx1                | --sizes has values of 209715200 bytes",
        "demo --sizes 1Mx2000               | more than 85 % of --disk-bytes",
        "bench                              | name a bench",
        "bench nonsense                     | nonsense",
        "bench transfer --runs 0            | --runs is 0; allowed is 1 to 99",
        "bench rpc --objects 0              | --objects is 0; allowed is 1 to 100000000",
        "bench transfer --seconds 0         | --seconds is 0.0; allowed is more than 0, at most 3600",
        "bench transfer --size 65M          | --size is 68157440; allowed is 67108864 or more, a multiple of 16777216",
        "bench transfer --rows [            | '[' is not a regular expression: Unclosed character class",
    })
    void shouldRefuseWrongUseNamingWhatIsWrong(final String line, final String message) {
        final CommandRun run = CommandRun.of(NONE, line.split(" "));
        assertEquals(2, run.status(), run.err());
        assertEquals("", run.out());
        assertTrue(run.err().contains(message), run.err());
        assertTrue(run.err().lines().count() <= 3, () -> "the whole help hides what is wrong: " + run.err());
    }

    @Test
    void shouldAskForACommandWhenThereIsNone() {
        final CommandRun run = CommandRun.of(NONE);
        assertEquals(2, run.status());
        assertTrue(run.err().startsWith("kvtier: name a command"), run.err());
        assertTrue(run.err().contains("replay"), run.err());
    }

    @Test
    void shouldFailInOneLineForAFileThatIsNotThere() {
        final CommandRun run = CommandRun.of(NONE, "replay", dir.resolve("no.jsonl").toString());
        assertEquals(1, run.status());
        assertEquals("kvtier replay: " + dir.resolve("no.jsonl")
            + ": no such file; name a trace with one JSON object a line\n", run.err());
    }

    @Test
    void shouldFailInOneLineForADirectoryAndAnEmptyFile() throws IOException {
        assertEquals("kvtier replay: " + dir + " is a directory; name a file with one JSON object a line\n",
            CommandRun.of(NONE, "replay", dir.toString()).err());
        final Path empty = Files.createFile(dir.resolve("empty"));
        final CommandRun run = CommandRun.of(NONE, "replay", empty.toString(), "--json");
        assertEquals(1, run.status());
        assertEquals(empty + " is empty; a trace has one JSON object a line", run.json().get("error"));
    }

    @Test
    void shouldNameADirectoryOfTheDemoThatIsNotThere() {
        final CommandRun run = CommandRun.of(NONE, "demo", "--dir", dir.resolve("no").toString());
        assertEquals(1, run.status());
        assertEquals("kvtier demo: --dir " + dir.resolve("no") + " is not a directory; make it or name another one\n",
            run.err());
    }

    @Test
    void shouldPrintTheStackOnlyWhenAsked() throws IOException {
        final Path trace = Files.writeString(dir.resolve("t"), "{\"hash_ids\": [1]}");
        final StoreOpener broken = config -> {
            throw new IllegalArgumentException("odd");
        };
        final CommandRun plain = CommandRun.of(broken, "replay", trace.toString());
        assertEquals(1, plain.status());
        assertEquals("kvtier replay: unexpected java.lang.IllegalArgumentException: odd; --stacktrace shows where\n",
            plain.err());
        final CommandRun traced = CommandRun.of(broken, "replay", trace.toString(), "--stacktrace");
        assertTrue(traced.err().contains("\tat io.kvtier.store.cli.Replayer"), traced.err());
    }

    @Test
    void shouldNotOpenAStoreToShowHelp() {
        assertFalse(CommandRun.of(Store::open, "demo", "--help").out().contains("${DEFAULT-VALUE}"));
    }
}
