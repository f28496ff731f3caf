package io.kvtier.store.client.owner;

import io.kvtier.store.ObjectKey;
import io.kvtier.store.protocol.ObjectCommand.GdsExtent;
import io.kvtier.store.replica.SegmentAddress;
import io.kvtier.transport.AccessToken;
import io.kvtier.transport.rpc.MessageReader;
import io.kvtier.transport.rpc.MessageWriter;
import java.util.ArrayList;
import java.util.List;

/**
 * What clients ask the owner of a disk or of a file for GDS replicas, over {@code transport.rpc}. Arrays of fields,
 * appended to by later versions.
 *
 * <pre>
 * READ    1  [[[tenant, key, version, size, replicaId, place], ...]]
 *            [batch, leaseMs, [segmentId, endpoint, token], [[status, offset], ...]]
 * RELEASE 2  [batch]
 *            []
 * </pre>
 *
 * <p>A value on the owner's disk has no place; one in its file for GDS replicas has {@code [storageId, generation,
 * offset, allocatedSize]}. READ copies values into memory that the owner exports, where they stay for the lease, which
 * the reader counts from before it asked and looks at when it has the bytes, or until it releases them.
 */
public final class OwnerProtocol {
    static final int READ = 1;
    static final int RELEASE = 2;
    /** Most values of one READ. */
    static final int MAX_ITEMS = 64;

    /** The value is at the offset. */
    static final int OK = 0;
    /** The owner does not have it any more, and has told the master. */
    static final int GONE = 1;
    /** There is no room for it now; ask again when others have been released. */
    static final int BUSY = 2;
    /** It is larger than the memory for this purpose. */
    static final int TOO_LARGE = 3;

    private OwnerProtocol() {
    }

    /**
     * A value to be read.
     *
     * @param key       its name.
     * @param version   its version.
     * @param size      its bytes.
     * @param replicaId the replica, for the report to the master when it cannot be read.
     * @param place     where it is in the owner's file; null for one on its disk.
     */
    public record Wanted(ObjectKey key, long version, long size, long replicaId, GdsExtent place) {
    }

    /**
     * One value of an answer.
     *
     * @param status what became of it.
     * @param offset where it is in the exported memory.
     */
    record Placed(int status, long offset) {
    }

    /**
     * An answer.
     *
     * @param batch   to release it by.
     * @param leaseMs milliseconds for which the values stay.
     * @param memory  where they are.
     * @param values  one a value asked for, in order.
     */
    record Reply(long batch, long leaseMs, SegmentAddress memory, List<Placed> values) {
    }

    static byte[] request(final List<Wanted> wanted) {
        final MessageWriter out = new MessageWriter().array(1).array(wanted.size());
        for (final Wanted one : wanted) {
            out.array(one.place() == null ? 5 : 6).text(one.key().tenant()).text(one.key().key())
                .number(one.version()).number(one.size()).number(one.replicaId());
            if (one.place() != null) {
                out.array(4).uuid(one.place().storageId()).number(one.place().generation())
                    .number(one.place().offset()).number(one.place().bytes());
            }
        }
        return out.toBytes();
    }

    static List<Wanted> readRequest(final byte[] body) {
        final MessageReader in = new MessageReader(body);
        in.begin();
        final int count = in.begin(MAX_ITEMS);
        final List<Wanted> wanted = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            in.begin();
            final ObjectKey key = ObjectKey.of(in.text(ObjectKey.MAX_TENANT_BYTES), in.text(ObjectKey.MAX_KEY_BYTES));
            wanted.add(new Wanted(key, in.number(), in.number(0, Long.MAX_VALUE), in.number(),
                in.has() ? place(in) : null));
            in.end();
        }
        in.end();
        in.end();
        return wanted;
    }

    private static GdsExtent place(final MessageReader in) {
        in.begin();
        final GdsExtent place = new GdsExtent(in.uuid(), in.number(), in.number(), in.number());
        in.end();
        return place;
    }

    static byte[] reply(final Reply reply) {
        final MessageWriter out = new MessageWriter().array(4).number(reply.batch()).number(reply.leaseMs());
        out.array(3).uuid(reply.memory().segmentId()).text(reply.memory().endpoint())
            .bytes(reply.memory().accessToken().bytes());
        out.array(reply.values().size());
        for (final Placed one : reply.values()) {
            out.array(2).number(one.status()).number(one.offset());
        }
        return out.toBytes();
    }

    static Reply readReply(final byte[] body) {
        final MessageReader in = new MessageReader(body);
        in.begin();
        final long batch = in.number();
        final long leaseMs = in.number(0, Integer.MAX_VALUE);
        in.begin();
        final SegmentAddress memory = new SegmentAddress(in.uuid(), in.text(SegmentAddress.MAX_ENDPOINT_BYTES),
            AccessToken.of(in.bytes(AccessToken.BYTES)));
        in.end();
        final int count = in.begin(MAX_ITEMS);
        final List<Placed> values = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            in.begin();
            values.add(new Placed((int) in.number(0, Integer.MAX_VALUE), in.number(0, Long.MAX_VALUE)));
            in.end();
        }
        in.end();
        in.end();
        return new Reply(batch, leaseMs, memory, values);
    }

    static byte[] release(final long batch) {
        return new MessageWriter().array(1).number(batch).toBytes();
    }

    static long readRelease(final byte[] body) {
        final MessageReader in = new MessageReader(body);
        in.begin();
        final long batch = in.number();
        in.end();
        return batch;
    }
}
