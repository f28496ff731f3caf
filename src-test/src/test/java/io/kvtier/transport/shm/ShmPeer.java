package io.kvtier.transport.shm;

import io.kvtier.alloc.HostRegion;
import io.kvtier.alloc.SharedRegion;
import io.kvtier.bindings.NativeTag;
import io.kvtier.bindings.posix.ErrnoException;
import io.kvtier.bindings.posix.OpenMode;
import io.kvtier.bindings.posix.PosixFile;
import io.kvtier.kit.Commands;
import io.kvtier.kit.PatternBytes;
import io.kvtier.transport.AccessToken;
import io.kvtier.transport.Segment;
import io.kvtier.transport.TransferConfig;
import io.kvtier.transport.TransferEngine;
import io.kvtier.transport.TransferException;
import io.kvtier.transport.TransferRequest;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Another process that shares memory with the test, and does what it is told by lines. */
final class ShmPeer implements AutoCloseable {
    private static final List<String> FLAGS = List.of("-XX:TieredStopAtLevel=1", "-Xmx128m",
        "--enable-native-access=ALL-UNNAMED", "--add-exports=java.base/jdk.internal.misc=ALL-UNNAMED",
        "-XX:+IgnoreUnrecognizedVMOptions", "--sun-misc-unsafe-memory-access=allow");

    private final Process process;
    private final PrintStream in;
    private final BufferedReader out;

    private ShmPeer(final Process process) {
        this.process = process;
        this.in = new PrintStream(process.getOutputStream(), true, StandardCharsets.US_ASCII);
        this.out = new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.US_ASCII));
    }

    /** Owns memory; see {@link #address()}. */
    static ShmPeer owner(final Path directory, final int bytes, final AccessToken token) throws IOException {
        return start(List.of(), "own", directory.toString(), Integer.toString(bytes), token.hex());
    }

    /** Uses the memory of the test. */
    static ShmPeer user(final List<String> prefix, final String address, final int bytes) throws IOException {
        return start(prefix, "use", address, Integer.toString(bytes));
    }

    private static ShmPeer start(final List<String> prefix, final String... arguments) throws IOException {
        final List<String> command = new ArrayList<>(prefix);
        command.addAll(Commands.javaCommand(FLAGS, ShmPeer.class, arguments));
        return new ShmPeer(new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start());
    }

    /** Tells it one thing and waits for its answer; null when it has died. */
    String ask(final String line) throws IOException {
        in.println(line);
        return out.readLine();
    }

    /** Tells it something that it does until it is killed; returns once it has begun. */
    void begin(final String line) throws IOException {
        ask(line);
    }

    String address() throws IOException {
        return ask("address");
    }

    long pid() {
        return process.pid();
    }

    /** Sends SIGKILL and waits until it is gone. */
    void kill() {
        process.destroyForcibly();
        awaitEnd();
    }

    /** Lets it end by itself, with everything closed. */
    void end() throws IOException {
        in.close();
        // Ends with the process; nothing more is expected.
        final String rest = out.readLine();
        if (rest != null) {
            throw new AssertionError("not asked for: " + rest);
        }
        awaitEnd();
    }

    private void awaitEnd() {
        try {
            process.waitFor();
        } catch (final InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError("process " + process.pid() + " may still run", e);
        }
    }

    /** Ends it, if that was not done yet. */
    @Override
    public void close() throws IOException {
        if (process.isAlive()) {
            end();
        }
        out.close();
    }

    /** The process itself. */
    public static void main(final String[] arguments) throws IOException {
        final int bytes = Integer.parseInt(arguments[2]);
        if (arguments[0].equals("own")) {
            try (SharedRegion region = SharedRegion.create(Path.of(arguments[1]), bytes,
                AccessToken.of(arguments[3]).bytes())) {
                answer(line -> own(region, line));
            }
            return;
        }
        try (HostRegion local = HostRegion.allocate(NativeTag.TEST, bytes);
            TransferEngine engine = TransferEngine.open(TransferConfig.DEFAULT, List.of(new ShmTransport()))) {
            final Segment[] segment = new Segment[1];
            answer(line -> {
                if (line.equals("open")) {
                    segment[0] = engine.openSegment(arguments[1]);
                    return "open";
                }
                return use(engine, segment[0], local, line);
            });
        }
    }

    private interface Answer {
        String to(String line);
    }

    private static void answer(final Answer answer) throws IOException {
        final BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String said;
            try {
                said = answer.to(line);
            } catch (final ErrnoException e) {
                said = "errno " + e.errno();
            } catch (final TransferException e) {
                said = e.failure().kind() + " " + e.failure().message();
            }
            System.out.println(said.replace('\n', ' '));
        }
    }

    private static String own(final SharedRegion region, final String line) {
        final String[] words = line.split(" ");
        switch (words[0]) {
            case "address" -> {
                return ShmTransport.addressOf(region);
            }
            case "fill" -> PatternBytes.fill(region.segment(), Long.parseLong(words[1]));
            case "check" -> {
                return Boolean.toString(Arrays.equals(
                    PatternBytes.of(Long.parseLong(words[1]), (int) region.byteSize()),
                    PatternBytes.copyOf(region.segment())));
            }
            case "cut" -> {
                try (PosixFile file = PosixFile.open(region.path().toString(), OpenMode.READ_WRITE)) {
                    file.resize(Long.parseLong(words[1]));
                }
            }
            default -> throw new AssertionError(line);
        }
        return words[0];
    }

    private static String use(final TransferEngine engine, final Segment segment, final HostRegion local,
        final String line) {
        final String[] words = line.split(" ");
        final List<TransferRequest> read =
            List.of(TransferRequest.read(local.slice(0, local.byteSize()), segment, 0));
        final List<TransferRequest> write =
            List.of(TransferRequest.write(local.slice(0, local.byteSize()), segment, 0));
        switch (words[0]) {
            case "write" -> {
                PatternBytes.fill(local.segment(), Long.parseLong(words[1]));
                engine.submit(write).await();
            }
            case "read" -> {
                local.segment().fill((byte) 0);
                engine.submit(read).await();
                return Boolean.toString(Arrays.equals(PatternBytes.of(Long.parseLong(words[1]),
                    (int) local.byteSize()), PatternBytes.copyOf(local.segment())));
            }
            case "hammer" -> {
                PatternBytes.fill(local.segment(), Long.parseLong(words[1]));
                System.out.println("begun");
                while (true) {
                    engine.submit(write).await();
                }
            }
            default -> throw new AssertionError(line);
        }
        return words[0];
    }
}
