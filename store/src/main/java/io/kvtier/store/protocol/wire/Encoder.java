package io.kvtier.store.protocol.wire;

import io.kvtier.store.ObjectKey;
import io.kvtier.store.replica.Replica;
import io.kvtier.store.replica.ReplicaDescriptor;
import io.kvtier.store.replica.SegmentAddress;
import io.kvtier.transport.rpc.MessageWriter;
import java.util.List;
import java.util.UUID;

/** Writes what messages are made of. <b>Threading:</b> for one thread. */
final class Encoder {
    static final int REPLICA_FIELDS = 4;
    static final int GDS_FIELDS = 6;

    private final MessageWriter out;
    private final AddressBook addresses;

    Encoder(final MessageWriter out, final AddressBook addresses) {
        this.out = out;
        this.addresses = addresses;
    }

    MessageWriter out() {
        return out;
    }

    Encoder array(final int fields) {
        out.array(fields);
        return this;
    }

    Encoder number(final long value) {
        out.number(value);
        return this;
    }

    Encoder flag(final boolean value) {
        out.flag(value);
        return this;
    }

    Encoder text(final String value) {
        out.text(value);
        return this;
    }

    Encoder nothing() {
        out.nothing();
        return this;
    }

    Encoder uuid(final UUID value) {
        out.uuid(value);
        return this;
    }

    /** Two fields; the default tenant has no bytes. */
    Encoder key(final ObjectKey key) {
        out.text(key.tenant().equals(ObjectKey.DEFAULT_TENANT) ? "" : key.tenant());
        out.text(key.key());
        return this;
    }

    Encoder texts(final List<String> values) {
        out.array(values.size());
        for (int i = 0; i < values.size(); i++) {
            out.text(values.get(i));
        }
        return this;
    }

    /** Keys as arrays of their two fields. */
    Encoder keys(final List<ObjectKey> keys) {
        out.array(keys.size());
        for (int i = 0; i < keys.size(); i++) {
            array(2).key(keys.get(i));
        }
        return this;
    }

    Encoder flags(final List<Boolean> values) {
        out.array(values.size());
        for (int i = 0; i < values.size(); i++) {
            out.flag(values.get(i));
        }
        return this;
    }

    Encoder replicas(final List<Replica> replicas) {
        out.array(replicas.size());
        for (int i = 0; i < replicas.size(); i++) {
            replica(replicas.get(i));
        }
        return this;
    }

    Encoder replica(final Replica replica) {
        out.array(REPLICA_FIELDS).number(replica.id()).number(Numbers.REPLICA_STATUS.number(replica.status()));
        switch (replica.descriptor()) {
            case ReplicaDescriptor.Memory memory -> {
                number(memory.type().number());
                memory(memory);
            }
            case ReplicaDescriptor.LocalDisk disk -> number(disk.type().number()).array(3).uuid(disk.clientId())
                .number(disk.objectSize()).text(disk.transportEndpoint());
            case ReplicaDescriptor.Nof nof -> number(nof.type().number()).array(3).text(nof.namespace())
                .number(nof.offset()).number(nof.objectSize());
            case ReplicaDescriptor.Gds gds -> number(gds.type().number()).array(GDS_FIELDS).uuid(gds.ownerClientId())
                .uuid(gds.storageId()).number(gds.storageGeneration()).number(gds.valueOffset())
                .number(gds.valueSize()).number(gds.allocatedSize());
            case ReplicaDescriptor.DistributedDisk disk -> number(disk.type().number()).array(3).text(disk.filePath())
                .number(disk.offset()).number(disk.objectSize());
            case ReplicaDescriptor.Disk disk -> number(disk.type().number()).array(2).text(disk.filePath())
                .number(disk.objectSize());
            case ReplicaDescriptor.Unknown unknown -> out.number(unknown.number()).raw(unknown.fields());
        }
        return this;
    }

    /** The descriptor's array. */
    Encoder memory(final ReplicaDescriptor.Memory memory) {
        final AddressBook.Entry segment = addresses.of(memory.segment());
        out.array(5).raw(segment.id()).raw(segment.endpoint()).number(memory.offset()).number(memory.size())
            .raw(segment.token());
        return this;
    }

    /** Three fields. */
    Encoder address(final SegmentAddress address) {
        out.uuid(address.segmentId()).text(address.endpoint()).bytes(address.accessToken().bytes());
        return this;
    }
}
