package io.kvtier.store.protocol;

import io.kvtier.store.replica.SegmentAddress;
import java.util.List;
import java.util.UUID;

/**
 * What concerns segments and the clients that lend them.
 *
 * @param <R> what the master answers.
 */
public sealed interface SegmentCommand<R> extends Command<R> {
    /** What a segment is made of. */
    enum Medium {
        /** Memory of the client. */
        MEMORY,
        /** A block device; the segment's name is the id of its namespace. */
        NOF,
        /** A client's own file, in which the client allocates; see {@link GdsCommand}. Never mounted or listed. */
        GDS,
        /** A file that all clients mount; see {@link PageCommand}. Never mounted or listed. */
        DISTRIBUTED_DISK
    }

    /** What a segment is good for. */
    enum Status {
        /** Read and allocated in. */
        OK,
        /** Being emptied: read, not allocated in. */
        DRAINING,
        /** Empty, and kept so. */
        DRAINED,
        /** Its client takes it back soon: read until then, not allocated in. */
        GRACEFULLY_UNMOUNTING,
        /** Being swept: neither. */
        UNMOUNTING
    }

    /**
     * Says that a client is alive. The first one makes it known.
     *
     * @param clientId the client.
     * @param name     what it calls itself, for people.
     * @param host     the host it runs on.
     * @param endpoint host and port where it answers calls; empty when it does not.
     */
    record Ping(UUID clientId, String name, String host, String endpoint) implements SegmentCommand<PingReply> {
    }

    /**
     * Answer to {@link Ping}.
     *
     * @param status  whether the master still knows what the client lent.
     * @param term    a number that each start of a master has for itself.
     * @param leaseMs milliseconds of a read lease.
     * @param ttlMs   milliseconds without a ping after which a client is taken for dead.
     */
    record PingReply(ClientStatus status, long term, long leaseMs, long ttlMs) {
    }

    /** Whether the master knows what a client lent. */
    enum ClientStatus {
        /** It does. */
        OK,
        /**
         * It does not (any more): it has been started anew, or took the client for dead. What the client lent before
         * is gone from the metadata; it may be lent again, under new ids. Told until the client lends something; to one
         * that never does, it means nothing.
         */
        NEED_REMOUNT
    }

    /**
     * Lends a segment to the store. An id that is mounted already is refused with SEGMENT_ALREADY_EXISTS; one that was
     * unmounted, and any of a client that was taken for dead and has not pinged since, with
     * UNAVAILABLE_IN_CURRENT_STATUS.
     *
     * @param clientId its owner; known from here on, as by a ping.
     * @param spec     what it lends.
     * @param former   for memory that was lent before under another identity, and in which values may lie that shall
     *                 come back: that identity. Nothing is allocated in the segment until {@link ReturnReplicas} says
     *                 that it is the last one, however long that takes. Refused with UNAVAILABLE_IN_CURRENT_STATUS when
     *                 {@link FetchReturning} would find nothing there (any more). Null for none.
     */
    record Mount(UUID clientId, SegmentSpec spec, SegmentAddress former) implements SegmentCommand<Ack> {
        /**
         * Memory in which nothing of before shall come back.
         *
         * @param clientId its owner; known from here on, as by a ping.
         * @param spec     what it lends.
         */
        public Mount(final UUID clientId, final SegmentSpec spec) {
            this(clientId, spec, null);
        }
    }

    /**
     * Asks what lay in memory that this client lent to a master from whose snapshot this one has been restored. Nothing
     * when it was not this client's, or too much time has passed.
     *
     * @param clientId who asks.
     * @param former   the memory's identity at that time; its token shows that who asks is who lent it.
     * @param cursor   0, and then what the answer before gave.
     * @param max      most replicas.
     */
    record FetchReturning(UUID clientId, SegmentAddress former, long cursor, int max)
        implements SegmentCommand<Returning> {
    }

    /**
     * Answer to {@link FetchReturning}.
     *
     * @param replicas some of them, perhaps none.
     * @param cursor   where to go on; {@link #END} at the end.
     */
    record Returning(List<ReturningReplica> replicas, long cursor) {
        /** There are no more. */
        public static final long END = -1;
        /** There is nothing. */
        public static final Returning NONE = new Returning(List.of(), END);
    }

    /**
     * A value that lay in memory.
     *
     * @param replicaId its replica's number at that time.
     * @param offset    first byte.
     * @param size      bytes of the value.
     * @param checksum  XXH64 of it: it is there when the bytes have it.
     */
    record ReturningReplica(long replicaId, long offset, long size, long checksum) {
    }

    /**
     * Gives values back that were found at their places in memory that nobody else can write to any more. True for
     * each that can be read again; others were removed or replaced meanwhile, or are not known, or come too late.
     *
     * @param clientId  who lends the memory.
     * @param segmentId the segment that it is mounted as now, with its former identity.
     * @param replicas  their numbers of before.
     * @param last      whether no more follow and nothing of before is copied there any more, so that the rest of the
     *                  segment can be used: to be repeated until it is heard.
     */
    record ReturnReplicas(UUID clientId, UUID segmentId, List<Long> replicas, boolean last)
        implements SegmentCommand<List<Boolean>> {
    }

    /**
     * A segment to be lent.
     *
     * @param name     what it is called, for preferences and drains; several segments may share a name.
     * @param medium   what it is made of.
     * @param capacity bytes.
     * @param unit     bytes; every allocation is a multiple of it. A power of two.
     * @param address  how it is reached.
     * @param fresh    whether nobody can know old addresses of it; otherwise memory rests for the time of a read lease
     *                 before anything is allocated in it, and a block device until no writer that was sent there before
     *                 can still be at it.
     */
    record SegmentSpec(String name, Medium medium, long capacity, long unit, SegmentAddress address, boolean fresh) {
    }

    /**
     * Takes a segment back.
     *
     * @param clientId  its owner; SEGMENT_NOT_FOUND for anybody else.
     * @param segmentId the segment.
     * @param graceMs   milliseconds for which it is still read, but not allocated in; 0 for none. The shortest time
     *                  that was given counts.
     */
    record Unmount(UUID clientId, UUID segmentId, long graceMs) implements SegmentCommand<Ack> {
    }

    /** Lists segments. */
    record Segments() implements SegmentCommand<List<SegmentInfo>> {
    }

    /**
     * What is known of a segment.
     *
     * @param segmentId the segment.
     * @param clientId  its owner.
     * @param name      its name.
     * @param host      its owner's host.
     * @param medium    what it is made of.
     * @param endpoint  its addresses.
     * @param status    what it is good for.
     * @param capacity  bytes.
     * @param used      bytes allocated.
     * @param replicas  replicas in it.
     * @param returning whether nothing is allocated in it because its owner is still bringing values back, or has not
     *                  said that it is done.
     */
    record SegmentInfo(UUID segmentId, UUID clientId, String name, String host, Medium medium, String endpoint,
                       Status status, long capacity, long used, long replicas, boolean returning) {
    }

    /**
     * Reports how the probe of a block device went. After several failures in a row it is unmounted.
     *
     * @param segmentId the segment.
     * @param healthy   whether it could be read.
     * @param timedOut  whether it could not because it did not answer in time.
     */
    record Probed(UUID segmentId, boolean healthy, boolean timedOut) implements SegmentCommand<Ack> {
        /**
         * A probe that was answered, well or not.
         *
         * @param segmentId the segment.
         * @param healthy   whether it could be read.
         */
        public Probed(final UUID segmentId, final boolean healthy) {
            this(segmentId, healthy, false);
        }
    }

    /** Lists clients. */
    record Clients() implements SegmentCommand<List<ClientInfo>> {
    }

    /**
     * What is known of a client.
     *
     * @param clientId   the client.
     * @param name       what it calls itself.
     * @param host       the host it runs on.
     * @param endpoint   where it answers calls.
     * @param silentMs   milliseconds since its last ping.
     */
    record ClientInfo(UUID clientId, String name, String host, String endpoint, long silentMs) {
    }
}
