package io.kvtier.store.client;

import io.kvtier.kit.Steps;
import io.kvtier.kit.Steps.Kind;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreException;
import io.kvtier.store.client.master.MasterLink;
import io.kvtier.store.protocol.Command;
import io.kvtier.store.protocol.Master;
import io.kvtier.store.protocol.ObjectCommand.PutStart;
import io.kvtier.store.protocol.PutStartReply;
import io.kvtier.store.protocol.SegmentCommand.Ping;
import io.kvtier.store.protocol.wire.WireCodec;
import io.kvtier.transport.rpc.MessageWriter;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;

/**
 * A client's way to a master in this process, in the bytes of the wire; each call but the pings is a
 * {@linkplain Steps step}, and one that fails does so as if no answer had come.
 *
 * <p>Work is not announced, as if the announcements were lost: a client looks for it when it needs room.
 */
final class SteppedLink implements MasterLink {
    private final WireCodec codec = new WireCodec();
    private final WireCodec codecOfMaster = new WireCodec();
    private final Master master;
    private final Steps steps;
    private final CountDownLatch ended = new CountDownLatch(1);
    private volatile Ping ping;

    SteppedLink(final Master master, final Steps steps) {
        this.master = master;
        this.steps = steps;
    }

    /** What it said last to be alive; null when it said nothing yet. */
    Ping ping() {
        return ping;
    }

    private static StoreException lost(final String why) {
        return new StoreException(ErrorCode.RPC_FAIL, why);
    }

    @Override
    public <R> R apply(final Command<R> command) {
        if (command instanceof Ping alive) {
            if (steps.isDead()) {
                throw lost("the client is dead");
            }
            ping = alive;
            return overTheWire(command);
        }
        return steps.take(Kind.CALL, WireCodec.name(command), null, () -> overTheWire(command), SteppedLink::lost);
    }

    @SuppressWarnings("unchecked") // A command is read as what was written.
    private <R> R overTheWire(final Command<R> command) {
        final MessageWriter request = new MessageWriter();
        codec.writeRequest(command, 0, request);
        final Command<R> read =
            (Command<R>) codecOfMaster.readRequest(WireCodec.method(command), request.toBytes()).command();
        final R answer = master.apply(read);
        final MessageWriter reply = new MessageWriter();
        codecOfMaster.writeReply(read, answer, reply);
        return codec.readReply(command, reply.toBytes());
    }

    @Override
    public PutStartReply putStart(final PutStart command, final long waitMs) {
        return apply(command);
    }

    @Override
    public int awaitWork(final UUID clientId, final long timeoutMs) {
        try {
            ended.await();
        } catch (final InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        return 0;
    }

    @Override
    public void endWaits() {
        ended.countDown();
    }

    @Override
    public void close() {
        ended.countDown();
    }
}
