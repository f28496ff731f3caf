package io.kvtier.store.cli.bench;

import java.io.EOFException;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;

/**
 * Redis, the usual store in memory: a server as Debian has it, without files, which drops the values that were used
 * longest ago when its memory is full; and a client with one connection, which waits for each answer (no pipelining)
 * and moves the bytes of a value between the caller's memory and the socket, without a copy of its own.
 *
 * <p>What is spoken is RESP, of which this has the two commands it needs. A request is an array of strings with their
 * lengths, {@code *3 $3 SET $1 k $5 value}, an answer a line ({@code +OK}, {@code -ERR why}, {@code $-1} for nothing)
 * or {@code $5}, the five bytes, and the end of the line.
 *
 * <p><b>Threading:</b> one thread. <b>Blocking:</b> until the answer is there. <b>Lifetime:</b> holds a connection.
 */
final class Redis implements KeyValues, AutoCloseable {
    private static final String END = "\r\n";
    private static final int LINE_BYTES = 512;

    private final SocketChannel channel;
    private final ByteBuffer request = ByteBuffer.allocateDirect(LINE_BYTES);
    private final ByteBuffer line = ByteBuffer.allocateDirect(LINE_BYTES);
    private final ByteBuffer end = ByteBuffer.allocateDirect(END.length());

    private Redis(final SocketChannel channel) {
        this.channel = channel;
    }

    static Peer peer() throws InterruptedException {
        return Peer.program("redis-server", "redis-server");
    }

    /** Starts a server, which ends with the rig; its port. */
    static int start(final Rig rig, final Path directory, final long bytes) throws IOException {
        final int port = Programs.freePort();
        final Programs.Background server = rig.keep(Programs.start(List.of("redis-server", "--bind", "127.0.0.1",
            "--port", Integer.toString(port), "--save", "", "--appendonly", "no", "--maxmemory", Long.toString(bytes),
            "--maxmemory-policy", "allkeys-lru", "--daemonize", "no", "--dir", directory.toString())),
            Programs.Background::close);
        server.lineWith("Ready to accept connections");
        return port;
    }

    static Redis connect(final int port) throws IOException {
        final SocketChannel channel =
            SocketChannel.open(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
        channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
        return new Redis(channel);
    }

    @Override
    public void put(final String name, final MemorySegment value) throws IOException {
        ask("*3" + END + "$3" + END + "SET" + END + '$' + name.length() + END + name + END + '$' + value.byteSize()
            + END);
        end.clear().put(END.getBytes(StandardCharsets.US_ASCII)).flip();
        final ByteBuffer[] parts = {request, value.asByteBuffer(), end};
        while (end.hasRemaining()) {
            channel.write(parts);
        }
        line.clear();
        final String answer = answer(new ByteBuffer[] {line});
        if (!answer.equals("+OK")) {
            throw new IOException("Redis does not take " + name + ": " + answer);
        }
    }

    /** Its clock counts seconds: of what came within one any may be the least recently used. */
    @Override
    public boolean evictsWhatIsNew() {
        return true;
    }

    @Override
    public void get(final String name, final MemorySegment into) throws IOException {
        ask("*2" + END + "$3" + END + "GET" + END + '$' + name.length() + END + name + END);
        while (request.hasRemaining()) {
            channel.write(request);
        }
        final String expected = "$" + into.byteSize();
        // Of a value that is there the first line ends just here, and the rest comes to where it belongs.
        line.clear().limit(expected.length() + END.length());
        end.clear();
        final ByteBuffer value = into.asByteBuffer();
        final ByteBuffer[] parts = {line, value, end};
        final String answer = answer(parts);
        if (!answer.equals(expected)) {
            throw new IOException("Redis has no " + name + " of " + into.byteSize() + " bytes: " + answer);
        }
        while (end.hasRemaining()) {
            read(parts);
        }
    }

    private void ask(final String text) {
        request.clear().put(text.getBytes(StandardCharsets.US_ASCII)).flip();
    }

    /** Reads until the first buffer, {@code line}, has the end of a line, or is full; the line without its end. */
    private String answer(final ByteBuffer[] parts) throws IOException {
        while (line.hasRemaining() && (line.position() == 0 || line.get(line.position() - 1) != '\n')) {
            read(parts);
        }
        final byte[] text = new byte[line.position()];
        line.get(0, text);
        return new String(text, StandardCharsets.US_ASCII).stripTrailing();
    }

    private void read(final ByteBuffer[] parts) throws IOException {
        if (channel.read(parts) < 0) {
            throw new EOFException("Redis has ended the connection");
        }
    }

    @Override
    public void close() {
        try {
            channel.close();
        } catch (final IOException e) {
            throw new IllegalStateException("a connection could not be closed", e);
        }
    }
}
