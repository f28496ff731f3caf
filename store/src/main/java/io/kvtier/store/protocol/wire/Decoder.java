package io.kvtier.store.protocol.wire;

import io.kvtier.store.ObjectKey;
import io.kvtier.store.PutOptions;
import io.kvtier.store.replica.Replica;
import io.kvtier.store.replica.ReplicaDescriptor;
import io.kvtier.store.replica.ReplicaStatus;
import io.kvtier.store.replica.ReplicaType;
import io.kvtier.store.replica.SegmentAddress;
import io.kvtier.transport.AccessToken;
import io.kvtier.transport.rpc.MalformedMessageException;
import io.kvtier.transport.rpc.MessageReader;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.function.Function;

/**
 * Reads what messages are made of. Whatever the bytes are, what is thrown is a {@link MalformedMessageException}, or a
 * {@link io.kvtier.store.StoreException} for what is well-formed and not allowed, such as an empty key.
 *
 * <p><b>Threading:</b> for one thread. May be {@linkplain #reset reset} and used again.
 */
final class Decoder {
    /** Most bytes of a text that is for people. */
    static final int MAX_MESSAGE = 64 << 10;
    /** Most bytes of a name of a client, host, segment, group or device. */
    static final int MAX_NAME = 4 * PutOptions.MAX_NAME;
    /** Most bytes of a regular expression. */
    static final int MAX_PATTERN = 64 << 10;
    /** Most bytes of a descriptor that this version does not know. */
    static final int MAX_UNKNOWN = 16 << 10;
    /** Most replicas of one object. */
    static final int MAX_REPLICAS = 1024;
    /** A list takes room for this many before any of them was read. */
    private static final int FIRST_ROOM = 4096;

    private final MessageReader in = new MessageReader();
    private final AddressBook addresses;
    private UUID lastId = new UUID(0, 0);
    private long waitMs;

    /** Over no message yet. */
    Decoder(final AddressBook addresses) {
        this.addresses = addresses;
    }

    /** Begins a message; not to be changed while it is read. */
    Decoder reset(final byte[] message) {
        in.reset(message);
        waitMs = 0;
        return this;
    }

    /** Lets go of the message. */
    void clear() {
        in.clear();
    }

    MessageReader in() {
        return in;
    }

    boolean has() {
        return in.has();
    }

    long number() {
        return in.number();
    }

    /** A number that is not negative. */
    long count() {
        return in.number(0, Long.MAX_VALUE);
    }

    int count(final int max) {
        return (int) in.number(0, max);
    }

    boolean flag() {
        return in.flag();
    }

    String text(final int maxBytes) {
        return in.text(maxBytes);
    }

    String name() {
        return in.text(MAX_NAME);
    }

    String endpoint() {
        return in.text(SegmentAddress.MAX_ENDPOINT_BYTES);
    }

    /** Messages name the same client or segment again and again: one object for all that follow each other. */
    UUID uuid() {
        in.begin();
        final long high = in.number();
        final long low = in.number();
        in.end();
        if (lastId.getMostSignificantBits() != high || lastId.getLeastSignificantBits() != low) {
            lastId = new UUID(high, low);
        }
        return lastId;
    }

    /** Two fields. */
    ObjectKey key() {
        return new ObjectKey(tenant(), in.text(ObjectKey.MAX_KEY_BYTES));
    }

    String tenant() {
        return in.text(ObjectKey.MAX_TENANT_BYTES);
    }

    /** Reads an array of values. */
    <T> List<T> list(final int max, final Function<Decoder, T> item) {
        final int count = in.begin(max);
        final List<T> list = new ArrayList<>(Math.min(count, FIRST_ROOM));
        for (int i = 0; i < count; i++) {
            list.add(item.apply(this));
        }
        in.end();
        return list;
    }

    /** Reads an array of arrays. */
    <T> List<T> records(final int max, final Function<Decoder, T> fields) {
        return list(max, decoder -> decoder.record(fields));
    }

    <T> T record(final Function<Decoder, T> fields) {
        in.begin();
        final T value = fields.apply(this);
        in.end();
        return value;
    }

    List<String> names() {
        return list(Integer.MAX_VALUE, Decoder::name);
    }

    List<String> paths() {
        return list(Integer.MAX_VALUE, d -> d.text(ReplicaDescriptor.DistributedDisk.MAX_PATH_BYTES));
    }

    List<ObjectKey> keys() {
        return records(Integer.MAX_VALUE, Decoder::key);
    }

    List<Boolean> flags() {
        return list(Integer.MAX_VALUE, Decoder::flag);
    }

    List<Replica> replicas() {
        final int count = in.begin(MAX_REPLICAS);
        final List<Replica> replicas;
        if (count == 1) {
            replicas = List.of(replica());
        } else {
            replicas = new ArrayList<>(count);
            for (int i = 0; i < count; i++) {
                replicas.add(replica());
            }
        }
        in.end();
        return replicas;
    }

    Replica replica() {
        in.begin();
        final long id = in.number();
        final ReplicaStatus status = Numbers.REPLICA_STATUS.constant(in.number());
        final int type = (int) in.number(Integer.MIN_VALUE, Integer.MAX_VALUE);
        final ReplicaDescriptor descriptor;
        if (type == ReplicaType.MEMORY.number()) {
            descriptor = memory();
        } else if (type == ReplicaType.DISK.number()) {
            descriptor = record(Decoder::disk);
        } else if (type == ReplicaType.LOCAL_DISK.number()) {
            descriptor = record(d -> new ReplicaDescriptor.LocalDisk(d.uuid(), d.count(), d.endpoint()));
        } else if (type == ReplicaType.NOF.number()) {
            descriptor = record(d -> new ReplicaDescriptor.Nof(d.name(), d.count(), d.count()));
        } else if (type == ReplicaType.GDS.number()) {
            descriptor = gds();
        } else if (type == ReplicaType.DISTRIBUTED_DISK.number()) {
            descriptor = record(Decoder::distributedDisk);
        } else {
            descriptor = new ReplicaDescriptor.Unknown(type, in.raw(MAX_UNKNOWN));
        }
        in.end();
        return new Replica(id, status, descriptor);
    }

    /** The descriptor's array. */
    ReplicaDescriptor.Memory memory() {
        in.begin();
        in.begin();
        final long high = in.number();
        final long low = in.number();
        in.end();
        final AddressBook.Entry known = addresses.find(high, low);
        if (known == null || !in.passIf(known.endpoint(), 1)) {
            return firstOfSegment(high, low);
        }
        final long offset = count();
        final long size = count();
        final SegmentAddress address = in.passIf(known.token(), 1) ? known.address()
            : new SegmentAddress(known.address().segmentId(), known.address().endpoint(), token());
        in.end();
        return new ReplicaDescriptor.Memory(address, offset, size);
    }

    private ReplicaDescriptor.Memory firstOfSegment(final long high, final long low) {
        final String endpoint = endpoint();
        final long offset = count();
        final long size = count();
        final SegmentAddress address = new SegmentAddress(new UUID(high, low), endpoint, token());
        in.end();
        return new ReplicaDescriptor.Memory(addresses.of(address).address(), offset, size);
    }

    /**
     * Exactly six fields: where somebody's bytes lie in a file is not guessed from a message that has others.
     */
    private ReplicaDescriptor.Gds gds() {
        final int fields = in.begin();
        if (fields != Encoder.GDS_FIELDS) {
            throw new MalformedMessageException("the descriptor of a GDS replica has " + fields + " fields; it has "
                + Encoder.GDS_FIELDS);
        }
        try {
            return new ReplicaDescriptor.Gds(uuid(), uuid(), number(), number(), number(), number());
        } catch (final IllegalArgumentException e) {
            throw new MalformedMessageException("the descriptor of a GDS replica cannot be one: " + e.getMessage());
        } finally {
            in.end();
        }
    }

    /** Two fields. */
    private ReplicaDescriptor.Disk disk() {
        try {
            return new ReplicaDescriptor.Disk(text(ReplicaDescriptor.DistributedDisk.MAX_PATH_BYTES), number());
        } catch (final IllegalArgumentException e) {
            throw new MalformedMessageException("the descriptor of a DISK replica cannot be one: " + e.getMessage());
        }
    }

    /** Three fields. */
    ReplicaDescriptor.DistributedDisk distributedDisk() {
        try {
            return new ReplicaDescriptor.DistributedDisk(text(ReplicaDescriptor.DistributedDisk.MAX_PATH_BYTES),
                number(), number());
        } catch (final IllegalArgumentException e) {
            throw new MalformedMessageException("the descriptor of a DISTRIBUTED_DISK replica cannot be one: "
                + e.getMessage());
        }
    }

    /** Three fields. */
    SegmentAddress address() {
        return new SegmentAddress(uuid(), endpoint(), token());
    }

    private AccessToken token() {
        final byte[] bits = in.bytes(AccessToken.BYTES);
        if (bits.length != AccessToken.BYTES) {
            throw new MalformedMessageException("an access token has " + bits.length + " bytes, not "
                + AccessToken.BYTES);
        }
        return AccessToken.of(bits);
    }

    /** What stood behind the last PutStart that was read. */
    long waitMs() {
        return waitMs;
    }

    void waitMs(final long value) {
        waitMs = value;
    }
}
