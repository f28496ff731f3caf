package io.kvtier.store.client.owner;

import io.kvtier.store.client.call.Counters;
import io.kvtier.store.client.request.ObjectRead;
import io.kvtier.store.client.request.ReadRequest;
import io.kvtier.store.client.transfer.Move;
import io.kvtier.store.client.transfer.RemoteSegments;
import io.kvtier.store.client.transfer.RemoteTransfer;
import io.kvtier.store.client.transfer.Staging;
import io.kvtier.store.protocol.ObjectCommand.GdsExtent;
import io.kvtier.store.replica.Replica;
import io.kvtier.store.replica.ReplicaDescriptor;
import io.kvtier.store.replica.ReplicaType;
import io.kvtier.transport.Direction;
import io.kvtier.transport.HostPort;
import io.kvtier.transport.TransferEngine;
import io.kvtier.transport.rpc.MalformedMessageException;
import io.kvtier.transport.rpc.RpcClient;
import io.kvtier.transport.rpc.RpcClientConfig;
import io.kvtier.transport.rpc.RpcException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import org.agrona.CloseHelper;

/**
 * Reads values on other clients' disks and in their files through their owners, see {@link OwnerProtocol}.
 *
 * <p><b>Threading:</b> thread-safe. <b>Blocking:</b> on the owner and the network.
 */
public final class OwnerReads implements AutoCloseable {
    private static final System.Logger LOG = System.getLogger(OwnerReads.class.getName());
    /** Owners come and go, each at an address of its own: who is not read from any more is forgotten. */
    private static final long IDLE_NANOS = TimeUnit.SECONDS.toNanos(30);
    /** How often a value is asked for whose owner has no room: it waited for some each time. */
    private static final int MOST_BUSY = 2;

    private final Function<HostPort, RpcClientConfig> configs;
    private final Reach reach;
    private final Map<String, Owner> owners = new ConcurrentHashMap<>();
    private final ExecutorService releases =
        Executors.newThreadPerTaskExecutor(Thread.ofVirtual().name("kvtier-release-", 0).factory());

    /**
     * How values are brought here.
     *
     * @param engine    moves the bytes.
     * @param segments  of other processes.
     * @param staging   for memory of callers that a transfer cannot use.
     * @param counters  of the store.
     * @param files     where the owners of files answer.
     * @param rpcMs     milliseconds for a call.
     * @param transferMs milliseconds for a transfer.
     */
    public record Reach(TransferEngine engine, RemoteSegments segments, Staging staging, Counters counters,
                 GdsOwners files, long rpcMs, long transferMs) {
    }

    /**
     * A value that a get wants.
     *
     * @param read      the get.
     * @param replica   the replica that the owner has.
     * @param length    bytes of it that the get wants.
     */
    public record Wanted(ObjectRead read, Replica replica, long length) {
        OwnerProtocol.Wanted asked() {
            return new OwnerProtocol.Wanted(read.request().key(), read.object().version(), read.object().size(),
                replica.id(), replica.descriptor() instanceof ReplicaDescriptor.Gds gds ? new GdsExtent(
                    gds.storageId(), gds.storageGeneration(), gds.valueOffset(), gds.allocatedSize()) : null);
        }
    }

    /** A connection to an owner; what changes is changed in the map, one at a time. */
    private static final class Owner {
        private final String endpoint;
        private final RpcClient client;
        private int users;
        private long usedNanos;

        Owner(final String endpoint, final RpcClient client) {
            this.endpoint = endpoint;
            this.client = client;
        }
    }

    /** Values in an owner's memory, until the last of them has been read. */
    private record Batch(Owner owner, OwnerProtocol.Reply reply, long askedNanos, AtomicInteger left) {
        boolean isOver() {
            return spentMs() >= ObjectRead.reliableMs(reply.leaseMs());
        }

        long leftMs() {
            return Math.max(1, ObjectRead.reliableMs(reply.leaseMs()) - spentMs());
        }

        private long spentMs() {
            return TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - askedNanos);
        }
    }

    /** No owner is connected yet; {@code configs} says how one is reached. */
    public OwnerReads(final Function<HostPort, RpcClientConfig> configs, final Reach reach) {
        this.configs = configs;
        this.reach = reach;
    }

    /**
     * Starts to read values of one owner.
     *
     * @param endpoint where it answers.
     * @param wanted   at most {@link OwnerProtocol#MAX_ITEMS}.
     * @return one read a value, in order.
     */
    public List<Move> read(final String endpoint, final List<Wanted> wanted) {
        return read(endpoint, wanted, 1);
    }

    private List<Move> read(final String endpoint, final List<Wanted> wanted, final int attempt) {
        wanted.forEach(one -> RemoteTransfer.check(one.read().request().target(one.length()), Direction.READ));
        final Batch batch;
        try {
            batch = ask(endpoint, wanted);
        } catch (final RpcException | MalformedMessageException | IllegalArgumentException e) {
            reach.files().forget();
            final Move failed = Move.failed("its owner at " + endpoint + " could not be asked: " + e.getMessage());
            return wanted.stream().map(one -> failed).toList();
        }
        final List<Move> moves = new ArrayList<>(wanted.size());
        for (int i = 0; i < wanted.size(); i++) {
            final Wanted one = wanted.get(i);
            final OwnerProtocol.Placed placed = batch.reply().values().get(i);
            moves.add(switch (placed.status()) {
                case OwnerProtocol.OK -> transfer(batch, one, placed.offset());
                case OwnerProtocol.BUSY -> attempt < MOST_BUSY
                    // When it is waited for, those before it have been read and released.
                    ? () -> read(endpoint, List.of(one), attempt + 1).getFirst().finish()
                    : Move.failed("its owner has no room for readers now");
                case OwnerProtocol.TOO_LARGE -> Move.failed("it is larger than the memory that its owner has for "
                    + "readers; raise stagingBytes there");
                default -> {
                    // The owner has told the master, which may know of another replica.
                    one.read().again();
                    yield Move.failed("its owner does not have it any more");
                }
            });
        }
        return moves;
    }

    private Batch ask(final String endpoint, final List<Wanted> wanted) {
        final Owner owner = enter(endpoint);
        Batch batch = null;
        try {
            batch = ask(owner, wanted);
            return batch;
        } finally {
            if (batch == null || batch.left().get() == 0) {
                leave(owner);
            }
        }
    }

    private Owner enter(final String endpoint) {
        return owners.compute(endpoint, (address, known) -> {
            final Owner owner = known != null ? known
                : new Owner(address, new RpcClient(configs.apply(HostPort.parse(address))));
            owner.users++;
            return owner;
        });
    }

    private void leave(final Owner owner) {
        owners.computeIfPresent(owner.endpoint, (address, same) -> {
            same.users--;
            same.usedNanos = System.nanoTime();
            return same;
        });
    }

    /** Ends connections to owners that nobody has read from for a while. */
    public void sweep(final long nowNanos) {
        final List<RpcClient> idle = new ArrayList<>();
        for (final String endpoint : owners.keySet()) {
            owners.computeIfPresent(endpoint, (address, owner) -> {
                if (owner.users > 0 || nowNanos - owner.usedNanos < IDLE_NANOS) {
                    return owner;
                }
                idle.add(owner.client);
                return null;
            });
        }
        idle.forEach(CloseHelper::quietClose);
    }

    /** Where the owners of files answer. */
    public GdsOwners files() {
        return reach.files();
    }

    /** How many owners there are connections to. */
    int size() {
        return owners.size();
    }

    private Batch ask(final Owner owner, final List<Wanted> wanted) {
        final long asked = System.nanoTime();
        final OwnerProtocol.Reply reply = OwnerProtocol.readReply(owner.client.call(OwnerProtocol.READ,
            OwnerProtocol.request(wanted.stream().map(Wanted::asked).toList()), reach.rpcMs()));
        if (reply.values().size() != wanted.size()) {
            throw new MalformedMessageException("the answer has " + reply.values().size() + " values; asked was for "
                + wanted.size());
        }
        final int placed =
            (int) reply.values().stream().filter(one -> one.status() == OwnerProtocol.OK).count();
        return new Batch(owner, reply, asked, new AtomicInteger(placed));
    }

    private Move transfer(final Batch batch, final Wanted wanted, final long place) {
        final ReadRequest request = wanted.read().request();
        final RemoteTransfer transfer =
            new RemoteTransfer(reach.engine(), reach.segments(), reach.staging(), Direction.READ);
        transfer.add(reach.segments().enter(batch.reply().memory()), place + request.offset(), wanted.length(),
            request.target(wanted.length()));
        if (wanted.length() > 0) {
            transfer.start(Math.min(reach.transferMs(), batch.leftMs()), false);
        }
        return () -> {
            final String problem;
            final boolean over;
            try {
                problem = transfer.finish();
                over = batch.isOver();
            } finally {
                // The memory of a caller may be gone as well.
                if (batch.left().decrementAndGet() == 0) {
                    release(batch);
                }
            }
            if (problem == null && !over) {
                counted(wanted);
            }
            return problem != null || !over ? problem : "it took longer to read than its owner kept it, "
                + batch.reply().leaseMs() + " ms";
        };
    }

    /** What came out of another's file is counted by that one. */
    private void counted(final Wanted wanted) {
        if (wanted.replica().type() == ReplicaType.LOCAL_DISK) {
            reach.counters().diskHits().increment();
            reach.counters().diskReadBytes().add(wanted.length());
        }
    }

    /** What is not released goes by itself when its lease is over. */
    private void release(final Batch batch) {
        try {
            releases.execute(() -> {
                try {
                    batch.owner().client.call(OwnerProtocol.RELEASE, OwnerProtocol.release(batch.reply().batch()),
                        reach.rpcMs());
                } catch (final RpcException e) {
                    LOG.log(System.Logger.Level.DEBUG, "memory of an owner could not be released: {0}",
                        e.getMessage());
                } finally {
                    leave(batch.owner());
                }
            });
        } catch (final java.util.concurrent.RejectedExecutionException e) {
            // The store is being closed.
        }
    }

    @Override
    public void close() {
        owners.values().forEach(owner -> CloseHelper.quietClose(owner.client));
        releases.close();
    }
}
