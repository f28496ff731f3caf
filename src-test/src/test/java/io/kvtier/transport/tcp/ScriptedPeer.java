package io.kvtier.transport.tcp;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;

/**
 * A server that does as a test says, with frames of its own making. Each connection runs the next script, the last one
 * again and again; a connection is closed when its script ends.
 */
final class ScriptedPeer implements AutoCloseable {
    static final long CONNECTION = 0x1122334455667788L;
    static final int HELLO = 1;
    static final int CHALLENGE = 2;
    static final int PROOF = 3;
    static final int WELCOME = 4;
    static final int OPEN = 16;
    static final int READ = 17;
    static final int WRITE = 18;
    static final int RELEASE = 19;
    static final int FENCE = 20;
    static final int ABORT = 21;
    static final int OPENED = 32;
    static final int DATA = 33;
    static final int STATUS = 34;

    private static final int HEADER = 40;

    /** What one connection does. */
    @FunctionalInterface
    interface Script {
        void run(Peer peer) throws IOException, InterruptedException;
    }

    /** A frame as it came. */
    record Frame(byte[] header, int type, int code, long id, long offset, long length, byte[] body) {
    }

    private final ServerSocket server;
    private final List<Script> scripts;
    private final Set<Socket> sockets = ConcurrentHashMap.newKeySet();
    private final LinkedBlockingQueue<Integer> connections = new LinkedBlockingQueue<>();
    private final LinkedBlockingQueue<Throwable> faults = new LinkedBlockingQueue<>();
    private volatile boolean closed;

    ScriptedPeer(final Script... scripts) throws IOException {
        this.scripts = List.of(scripts);
        server = new ServerSocket(0, 50, InetAddress.getByName("127.0.0.1"));
        Thread.ofPlatform().daemon().start(this::accept);
    }

    String address(final String name) {
        return "tcp://127.0.0.1:" + server.getLocalPort() + "/" + name;
    }

    /** Waits until one more connection has come; its number, from 0. */
    int awaitConnection() throws InterruptedException {
        return connections.take();
    }

    /** What scripts have thrown, but for the end of their connections. */
    List<Throwable> faults() {
        return List.copyOf(faults);
    }

    private void accept() {
        for (int number = 0; !closed; number++) {
            try {
                final Socket socket = server.accept();
                sockets.add(socket);
                final Script script = scripts.get(Math.min(number, scripts.size() - 1));
                final int its = number;
                Thread.ofPlatform().daemon().start(() -> run(its, script, socket));
            } catch (final IOException e) {
                return;
            }
        }
    }

    private void run(final int number, final Script script, final Socket socket) {
        try (socket) {
            connections.add(number);
            script.run(new Peer(socket));
        } catch (final IOException | InterruptedException e) {
            // The client went away, or the test is over.
            sockets.remove(socket);
        } catch (final RuntimeException | Error e) {
            faults.add(e);
        }
    }

    @Override
    public void close() {
        closed = true;
        try {
            server.close();
            for (final Socket socket : sockets) {
                socket.close();
            }
        } catch (final IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** One end of a connection, for a script or for a client of a real server. */
    static final class Peer implements AutoCloseable {
        private final Socket socket;
        private final DataInputStream in;
        private final DataOutputStream out;

        Peer(final Socket socket) throws IOException {
            this.socket = socket;
            in = new DataInputStream(socket.getInputStream());
            final OutputStream raw = socket.getOutputStream();
            out = new DataOutputStream(raw);
        }

        static Peer to(final int port) throws IOException {
            return new Peer(new Socket(InetAddress.getByName("127.0.0.1"), port));
        }

        Frame next() throws IOException {
            final Frame head = nextHeader();
            final byte[] body = new byte[Math.toIntExact(ByteBuffer.wrap(head.header()).getLong(32))];
            in.readFully(body);
            return new Frame(head.header(), head.type(), head.code(), head.id(), head.offset(), head.length(), body);
        }

        /** The next header alone; its body is still to be read. */
        Frame nextHeader() throws IOException {
            final byte[] header = new byte[HEADER];
            in.readFully(header);
            final ByteBuffer numbers = ByteBuffer.wrap(header);
            return new Frame(header, header[3], numbers.getInt(4), numbers.getLong(8), numbers.getLong(16),
                numbers.getLong(24), new byte[0]);
        }

        /** The next frame, which must be of a type. */
        Frame expect(final int type) throws IOException {
            final Frame frame = next();
            if (frame.type() != type) {
                throw new AssertionError("a frame of type " + frame.type() + " where " + type + " was due");
            }
            return frame;
        }

        void raw(final byte[] bytes) throws IOException {
            out.write(bytes);
            out.flush();
        }

        byte[] rawBytes(final int count) throws IOException {
            final byte[] bytes = new byte[count];
            in.readFully(bytes);
            return bytes;
        }

        /** -1 at the end. */
        int read() throws IOException {
            return in.read();
        }

        void header(final int type, final int code, final long id, final long offset, final long length,
            final long body) throws IOException {
            raw(bytes(type, code, id, offset, length, body));
        }

        private static byte[] bytes(final int type, final int code, final long id, final long offset,
            final long length, final long body) {
            return ByteBuffer.allocate(HEADER).put((byte) 'K').put((byte) 'V').put((byte) 1).put((byte) type)
                .putInt(code).putLong(id).putLong(offset).putLong(length).putLong(body).array();
        }

        /** A frame in one piece: nobody waits for the rest of it, however slow this thread is. */
        void frame(final int type, final int code, final long id, final long offset, final long length,
            final byte... body) throws IOException {
            raw(ByteBuffer.allocate(HEADER + body.length).put(bytes(type, code, id, offset, length, body.length))
                .put(body).array());
        }

        /** A write and its first bytes, in one piece. */
        void write(final int handle, final long id, final long length, final byte... first) throws IOException {
            raw(ByteBuffer.allocate(2 * HEADER + first.length).put(bytes(WRITE, handle, id, 0, length, 0))
                .put(bytes(DATA, 0, id, 0, 0, first.length)).put(first).array());
        }

        /** The server's part of a handshake without a secret. */
        void welcome(final long connection) throws IOException {
            expect(HELLO);
            final byte[] challenge = new byte[36];
            challenge[0] = 1;
            frame(CHALLENGE, 0, 0, 0, 0, challenge);
            expect(PROOF);
            frame(WELCOME, 0, 0, 0, 0, ByteBuffer.allocate(32).putLong(connection).putLong(1L << 30)
                .putInt(1 << 20).putInt(64).putInt(1024).putInt(0).array());
        }

        /** Handshake, and the answer to one OPEN of a segment that can be written. */
        void serve(final long connection, final long size) throws IOException {
            welcome(connection);
            open(size);
        }

        void open(final long size) throws IOException {
            final Frame open = expect(OPEN);
            frame(OPENED, 2, open.id(), 0, size);
        }

        /** The client's part of a handshake without a secret. */
        long join() throws IOException {
            final byte[] hello = new byte[36];
            hello[0] = 1;
            hello[1] = 1;
            frame(HELLO, 0, 0, 0, 0, hello);
            expect(CHALLENGE);
            frame(PROOF, 0, 0, 0, 0);
            return ByteBuffer.wrap(expect(WELCOME).body()).getLong();
        }

        /** Opens a segment under a handle, with a token. */
        Frame open(final int handle, final long id, final byte[] token, final String name) throws IOException {
            final byte[] text = name.getBytes(StandardCharsets.UTF_8);
            final byte[] body = Arrays.copyOf(token, token.length + text.length);
            System.arraycopy(text, 0, body, token.length, text.length);
            frame(OPEN, handle, id, 0, 0, body);
            return next();
        }

        /** Waits until the other side ends the connection. */
        void awaitEnd() throws IOException {
            try {
                while (in.read() >= 0) {
                    Thread.onSpinWait();
                }
            } catch (final SocketException e) {
                // Reset: as good an end.
                socket.close();
            }
        }

        @Override
        public void close() throws IOException {
            socket.close();
        }
    }
}
