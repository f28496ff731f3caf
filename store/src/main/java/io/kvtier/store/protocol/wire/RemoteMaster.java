package io.kvtier.store.protocol.wire;

import io.kvtier.store.BatchResult;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreException;
import io.kvtier.store.protocol.Batch;
import io.kvtier.store.protocol.Command;
import io.kvtier.store.protocol.Command.Ack;
import io.kvtier.store.protocol.Master;
import io.kvtier.store.protocol.ObjectCommand.PutStart;
import io.kvtier.store.protocol.PutStartReply;
import io.kvtier.transport.rpc.MalformedMessageException;
import io.kvtier.transport.rpc.MessageWriter;
import io.kvtier.transport.rpc.RpcClient;
import io.kvtier.transport.rpc.RpcClientConfig;
import io.kvtier.transport.rpc.RpcException;
import io.kvtier.transport.rpc.RpcStatus;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;

/**
 * A master in another process.
 *
 * <p>Every call has a deadline. Within it a call that was certainly not carried out (no connection, a master that is
 * busy or closing) is made again, after pauses that grow; so is one of which nobody knows, as long as twice is as good
 * as once ({@link WireCodec#isRepeatable}). For any other the caller is told that it may or may not have been
 * carried out.
 *
 * <p>There are two connections: one for calls that are answered at once, and one for calls that wait at the master,
 * made when the first of them is. So that nobody's answer is read by a thread that really waits for something else.
 *
 * <p><b>Threading:</b> thread-safe. <b>Blocking:</b> until the answer or the deadline; a virtual thread parks.
 * <b>Lifetime:</b> closing ends the connections; calls under way fail. <b>Errors:</b> {@link StoreException}: what the
 * master refuses with its code; RPC_TIMEOUT and RPC_FAIL for everything between.
 */
public final class RemoteMaster implements Master, AutoCloseable {
    /** Milliseconds of a call, unless said otherwise. */
    public static final long DEFAULT_TIMEOUT_MS = 10_000;

    /** A batch that is larger is cut, however few commands it has: servers take messages of 16 MiB. */
    private static final int CUT_BYTES = 8 << 20;

    private final RpcClientConfig config;
    private final long timeoutMs;
    private final RpcClient calls;
    private final RpcClient waits;
    private final WireCodec codec = new WireCodec();
    private final WriterPool writers = new WriterPool(Integer.MAX_VALUE);
    private volatile boolean closed;

    /**
     * A client that has not connected yet.
     *
     * @param config    where to, and limits.
     * @param timeoutMs milliseconds of a call, connecting and repeating included; more than 0.
     */
    public RemoteMaster(final RpcClientConfig config, final long timeoutMs) {
        if (timeoutMs < 1) {
            throw new IllegalArgumentException("timeoutMs is " + timeoutMs + "; a call has a limit of at least 1");
        }
        this.config = config;
        this.timeoutMs = timeoutMs;
        this.calls = new RpcClient(config);
        this.waits = new RpcClient(config);
    }

    /**
     * A client with the default deadline.
     *
     * @param config where to, and limits.
     */
    public RemoteMaster(final RpcClientConfig config) {
        this(config, DEFAULT_TIMEOUT_MS);
    }

    @Override
    @SuppressWarnings("unchecked") // What a batch is answered with is what its parts are answered with.
    public <R> R apply(final Command<R> command) {
        if (command instanceof Batch<?> batch) {
            final List<BatchResult<Object>> results = new ArrayList<>(batch.items().size());
            applyParts((Batch<Object>) batch, results);
            return (R) results;
        }
        final MessageWriter request = writers.take();
        codec.writeRequest(command, 0, request);
        return exchange(calls, command, request, timeoutMs);
    }

    /**
     * Starts a put, and waits at the master for room when there is none and some may come free.
     *
     * @param put    the command.
     * @param waitMs milliseconds, beyond the deadline of a call; 0 for not at all.
     * @return the answer; NoSpace when there was none in time.
     */
    public PutStartReply putStart(final PutStart put, final long waitMs) {
        final PutStartReply first = apply(put);
        if (waitMs <= 0 || !(first instanceof PutStartReply.NoSpace none) || !none.mayComeFree()) {
            return first;
        }
        final MessageWriter request = writers.take();
        codec.writeRequest(put, waitMs, request);
        return exchange(waits, put, request, timeoutMs + waitMs);
    }

    /**
     * Waits until there is work for a client. Work that was announced before counts. When this fails, the announcement
     * may have been lost with the connection: look for all kinds of work then.
     *
     * @param clientId  for whom.
     * @param waitMs milliseconds at most; the master ends it after a minute.
     * @return bits of {@link io.kvtier.store.protocol.WorkKind}; 0 when none came in time.
     */
    public int awaitWork(final UUID clientId, final long waitMs) {
        final MessageWriter request = writers.take();
        WireCodec.writeAwaitWork(new WireCodec.AwaitWork(clientId, waitMs), request);
        final Call call = new Call(waits, WireCodec.AWAIT_WORK, "AwaitWork", false, timeoutMs + waitMs);
        final byte[] reply = call.run(request);
        writers.give(request);
        try {
            return codec.readWork(reply);
        } catch (final MalformedMessageException e) {
            throw notUnderstood("AwaitWork", e);
        }
    }

    /** Ends the connections: calls under way fail, and so do later ones. A second call does nothing. */
    @Override
    public void close() {
        closed = true;
        calls.close();
        waits.close();
    }

    private void applyParts(final Batch<Object> batch, final List<BatchResult<Object>> results) {
        final List<? extends Command<Object>> items = batch.items();
        for (int from = 0; from < items.size(); from += Batch.MAX_ITEMS) {
            applyPart(items.subList(from, Math.min(items.size(), from + Batch.MAX_ITEMS)), results);
        }
    }

    private void applyPart(final List<? extends Command<Object>> items, final List<BatchResult<Object>> results) {
        final Batch<Object> part = new Batch<>(items);
        final MessageWriter request = writers.take();
        codec.writeRequest(part, 0, request);
        if (request.length() > CUT_BYTES && items.size() > 1) {
            applyPart(items.subList(0, items.size() / 2), results);
            applyPart(items.subList(items.size() / 2, items.size()), results);
        } else {
            results.addAll(exchange(calls, part, request, timeoutMs));
        }
    }

    @SuppressWarnings("unchecked") // Only commands that are answered with an Ack have an answer of the first copy.
    private <R> R exchange(final RpcClient client, final Command<R> command, final MessageWriter request,
        final long limitMs) {
        final Call call = new Call(client, WireCodec.method(command), WireCodec.name(command),
            WireCodec.isRepeatable(command), limitMs);
        final byte[] reply;
        try {
            reply = call.run(request);
        } catch (final StoreException e) {
            if (call.mayBeDone && WireCodec.isDoneBefore(command, e.code())) {
                return (R) Ack.OK;
            }
            throw e;
        }
        writers.give(request);
        try {
            return codec.readReply(command, reply);
        } catch (final MalformedMessageException e) {
            throw notUnderstood(call.name, e);
        }
    }

    private StoreException notUnderstood(final String name, final MalformedMessageException why) {
        return new StoreException(ErrorCode.DESERIALIZE_FAIL, "the answer of " + peer() + " to " + name
            + " is not understood; is it another version? " + why.getMessage(), why);
    }

    private String peer() {
        return config.host() + ':' + config.port();
    }

    /** One call with all its attempts. */
    private final class Call {
        private final RpcClient client;
        private final int method;
        private final String name;
        private final boolean repeatable;
        private final RetryTimes times;
        private boolean mayBeDone;

        Call(final RpcClient client, final int method, final String name, final boolean repeatable,
            final long limitMs) {
            this.client = client;
            this.method = method;
            this.name = name;
            this.repeatable = repeatable;
            this.times = new RetryTimes(limitMs);
        }

        byte[] run(final MessageWriter request) {
            while (true) {
                try {
                    return client.call(method, request, times.leftMs());
                } catch (final RpcException e) {
                    if (e.status() == RpcStatus.APPLICATION) {
                        throw Failures.received(e.applicationCode(), e.getMessage());
                    }
                    mayBeDone |= e.status().isUncertain();
                    if (!mayGoOn(e.status()) || closed || !times.pause()) {
                        throw failure(e);
                    }
                }
            }
        }

        /** After an attempt of which nobody knows only what is repeatable goes on, so the last one counts alone. */
        private boolean mayGoOn(final RpcStatus status) {
            return switch (status) {
                case UNREACHABLE, BUSY, SHUTTING_DOWN -> true;
                case DISCONNECTED -> repeatable;
                default -> false;
            };
        }

        private StoreException failure(final RpcException why) {
            final boolean late = why.status() == RpcStatus.TIMEOUT || why.status() == RpcStatus.LATE;
            final String outcome = !mayBeDone ? "it was not carried out"
                : repeatable ? "it may have been carried out, and may be repeated" : "it may have been carried out";
            final String end = late ? " was not answered within " + times.limitMs() + " ms"
                : " failed after " + times.spentMs() + " of " + times.limitMs() + " ms";
            return new StoreException(code(why.status()), name + " at " + peer() + end + "; " + outcome + " ("
                + why.getMessage() + ')', why);
        }

        private static ErrorCode code(final RpcStatus status) {
            return switch (status) {
                case TIMEOUT, LATE -> ErrorCode.RPC_TIMEOUT;
                case INTERNAL -> ErrorCode.INTERNAL_ERROR;
                case TOO_LARGE -> ErrorCode.INVALID_PARAMS;
                case UNKNOWN_METHOD -> ErrorCode.UNAVAILABLE_IN_CURRENT_MODE;
                default -> ErrorCode.RPC_FAIL;
            };
        }
    }
}
