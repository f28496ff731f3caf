package io.kvtier.store.client;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kvtier.kit.Jvm;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.protocol.ObjectCommand.Exists;
import io.kvtier.store.protocol.wire.WireCodec;
import io.kvtier.transport.rpc.MessageWriter;
import java.io.DataInputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A master with little memory does not keep what a client once said, nor make room for what it only announces. */
@Timeout(value = 2, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class MasterMemoryTest {
    private static final int MIB = 1 << 20;
    private static final int LARGE = 8 * MIB;
    /** Together they want more than twice what the master has. */
    private static final int GREEDY = 20;
    private static final int CALL = 16;
    private static final int REPLY = 17;
    private static final int EXISTS = 21;

    private final Jvm master =
        Jvm.start(List.of("-Xmx64m", "-XX:+UseSerialGC"), ProcessBuilder.Redirect.INHERIT, MasterMain.class, "0");
    private final List<Client> clients = new ArrayList<>();

    /** A connection. */
    private final class Client {
        private final Socket socket = new Socket(InetAddress.getLoopbackAddress(), port());
        private final DataInputStream in = new DataInputStream(socket.getInputStream());

        Client() throws IOException {
            send(frame(1, 0, 0, new MessageWriter().array(4).number(1).number(1).bytes(new byte[32]).text("greedy")
                .toBytes()));
            send(frame(3, 0, 0, new MessageWriter().array(1).bytes(new byte[0]).toBytes()));
            assertEquals(2, next());
            assertEquals(4, next());
            clients.add(this);
        }

        void send(final byte... bytes) throws IOException {
            socket.getOutputStream().write(bytes);
        }

        /** The type of the next frame. */
        int next() throws IOException {
            final byte[] header = new byte[24];
            in.readFully(header);
            in.skipNBytes(ByteBuffer.wrap(header).getInt(20));
            return header[3];
        }
    }

    private int port() {
        return Integer.parseInt(master.ready().substring("port ".length()));
    }

    private static byte[] frame(final int type, final int code, final long id, final byte[] body) {
        return ByteBuffer.allocate(24 + body.length).put(header(type, code, id, body.length)).put(body).array();
    }

    private static byte[] header(final int type, final int code, final long id, final int body) {
        return ByteBuffer.allocate(24).putShort((short) 0x4b52).put((byte) 1).put((byte) type).putInt(code).putLong(id)
            .putInt(0).putInt(body).array();
    }

    /** A request with a field more than this version knows. */
    private static byte[] padded(final MessageWriter request, final int bytes) {
        final byte[] known = request.toBytes();
        final byte[] body = Arrays.copyOf(known, known.length + 5 + bytes);
        body[0]++;
        ByteBuffer.wrap(body).position(known.length).put((byte) 0xc6).putInt(bytes);
        return body;
    }

    private static MessageWriter exists() {
        final MessageWriter request = new MessageWriter();
        new WireCodec().writeRequest(new Exists(ObjectKey.of("key")), 0, request);
        return request;
    }

    private void assertServes() throws IOException {
        final Client honest = new Client();
        honest.send(frame(CALL, EXISTS, 1, padded(exists(), LARGE)));
        assertEquals(REPLY, honest.next());
    }

    @AfterEach
    void close() throws IOException {
        for (final Client client : clients) {
            client.socket.close();
        }
        master.close();
    }

    @Test
    void shouldNotKeepTheRequestsOfThoseWhoWaitForWork() throws IOException {
        for (int i = 0; i < GREEDY; i++) {
            final MessageWriter wait = new MessageWriter();
            WireCodec.writeAwaitWork(new WireCodec.AwaitWork(new UUID(1, i), 60_000), wait);
            final Client client = new Client();
            client.send(frame(CALL, WireCodec.AWAIT_WORK, 1, padded(wait, LARGE)));
            client.send(frame(CALL, EXISTS, 2, exists().toBytes()));
            assertEquals(REPLY, client.next(), "waiting, and served");
        }
        assertServes();
    }

    @Test
    void shouldNotKeepTheLastRequestsOfThoseWhoAreIdle() throws IOException {
        for (int i = 0; i < GREEDY; i++) {
            assertServes();
        }
    }

    @Test
    void shouldNotMakeRoomForWhatIsOnlyAnnounced() throws IOException {
        for (int i = 0; i < GREEDY; i++) {
            final Client client = new Client();
            final byte[] first = frame(CALL, EXISTS, 1, exists().toBytes());
            client.send(ByteBuffer.allocate(first.length + 24).put(first).put(header(CALL, EXISTS, 2, LARGE)).array());
            assertEquals(REPLY, client.next());
        }
        assertServes();
    }
}
