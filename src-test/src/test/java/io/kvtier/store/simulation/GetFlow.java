package io.kvtier.store.simulation;

import io.kvtier.store.ObjectKey;
import io.kvtier.store.protocol.ObjectCommand;
import io.kvtier.store.protocol.ReadReply;
import io.kvtier.store.replica.Replica;
import io.kvtier.store.replica.ReplicaDescriptor;
import io.kvtier.store.replica.ReplicaSelection;
import io.kvtier.store.simulation.SimulatedMaster.Answer;
import io.kvtier.store.simulation.Tally.Kind;
import java.util.HashSet;
import java.util.Set;

/** A get: asks for the replicas, reads the best one in steps, checks that its lease still runs. */
final class GetFlow {
    private static final int TRIES = 4;
    private static final int PROMOTE_ONE_IN = 2;

    private final SimulatedClient client;
    private final World world;
    private final ObjectKey key;
    private final Runnable then;
    private final Set<Long> failed = new HashSet<>();
    private int triesLeft = TRIES;
    private long askedUs;
    private long beginUs;
    private ReadReply object;
    private long term;
    private Replica replica;
    private long[] units;

    GetFlow(final SimulatedClient client, final ObjectKey key, final Runnable then) {
        this.client = client;
        this.world = client.world();
        this.key = key;
        this.then = then;
    }

    void start() {
        if (triesLeft-- == 0) {
            missed();
            return;
        }
        failed.clear();
        // From before it asks: the master cannot have begun to count earlier.
        askedUs = client.clock().us();
        beginUs = world.timeline().nowUs();
        world.network().call(client, new ObjectCommand.ReadStart(key, false), 2, this::found);
    }

    private void found(final Answer<ReadReply> answer) {
        if (answer == null || !answer.reply().found()) {
            missed();
            return;
        }
        object = answer.reply();
        term = answer.term();
        choose();
    }

    private void choose() {
        replica = ReplicaSelection.best(object.replicas(), client.locality(), failed);
        if (replica == null) {
            missed();
            return;
        }
        units = new long[(int) (object.size() / SimulatedClient.UNIT)];
        switch (replica.descriptor()) {
            case ReplicaDescriptor.Memory range -> read(range, 0);
            case ReplicaDescriptor.LocalDisk disk -> readDisk(disk);
            case ReplicaDescriptor.Gds place when place.ownerClientId().equals(client.id()) -> readOwnFile(place);
            case ReplicaDescriptor.Gds place -> readOthersFile(place);
            case ReplicaDescriptor.DistributedDisk place when client.pages().isReadable() -> readShared(place);
            case ReplicaDescriptor.Disk place -> client.later(client.thinkUs(), () -> readFolder(place));
            default -> failOver();
        }
    }

    /** Nobody else would find better bytes there than those that are gone or wrong. */
    private void readFolder(final ReplicaDescriptor.Disk place) {
        final long[] read = world.folder().read(place.filePath());
        if (read == null || History.checksum(read) != object.checksum()) {
            world.tally().count(Kind.FOLDER_READS_FOUND_WRONG);
            world.network().call(client, new ObjectCommand.ReplicaUnreadable(key, object.version(), replica.id()), 2,
                answer -> failOver());
        } else {
            units = read;
            accept(Kind.READS_OF_FOLDER);
        }
    }

    private void failOver() {
        world.tally().count(Kind.READS_FAILED_OVER);
        failed.add(replica.id());
        choose();
    }

    private void read(final ReplicaDescriptor.Memory range, final int place) {
        if (place == units.length) {
            check(range);
            return;
        }
        client.read(range, place, unit -> {
            if (unit == null || !unit.there()) {
                failOver();
            } else {
                units[place] = unit.number();
                client.later(client.thinkUs() / 2, () -> read(range, place + 1));
            }
        });
    }

    private boolean isLeaseOver() {
        final long reliableMs = world.keeps(Rule.ALLOW_FOR_DRIFT) ? Times.reliable(object.leaseMs()) : object.leaseMs();
        return client.clock().us() - askedUs > reliableMs * Timeline.MS;
    }

    private void check(final ReplicaDescriptor.Memory range) {
        if (world.keeps(Rule.CHECK_THE_LEASE) && isLeaseOver()) {
            world.tally().count(Kind.READS_OUT_OF_LEASE);
            if (History.isTorn(units)) {
                world.tally().count(Kind.READS_TORN_AND_VOID);
            }
            start();
            return;
        }
        accept(client.locality().segments().contains(range.segment().segmentId()) ? Kind.READS_OF_OWN_MEMORY
            : Kind.READS_OF_OTHERS_MEMORY);
    }

    private void readShared(final ReplicaDescriptor.DistributedDisk place) {
        client.pages().read(place, read -> {
            units = read;
            if (world.keeps(Rule.CHECK_THE_LEASE) && isLeaseOver()) {
                world.tally().count(Kind.READS_OUT_OF_LEASE);
                start();
            } else if (client.pages().isRight(units, object.checksum())) {
                accept(Kind.READS_OF_SHARED_FILES);
            } else {
                wrong(place);
            }
        });
    }

    /** The master hears of it, since nobody else would find better bytes there, and is asked again. */
    private void wrong(final ReplicaDescriptor.DistributedDisk place) {
        world.tally().count(Kind.SHARED_READS_FOUND_WRONG);
        if (!isLeaseOver()) {
            client.pages().foundWrong(object.version(), place, client.name() + " has a lease on " + replica);
        }
        world.network().call(client, new ObjectCommand.ReplicaUnreadable(key, object.version(), replica.id()), 2,
            answer -> start());
    }

    private void readDisk(final ReplicaDescriptor.LocalDisk disk) {
        final SimulatedClient owner = world.client(disk.clientId());
        if (owner == client) {
            client.later(client.thinkUs(), () -> gotFromDisk(client.disk().read(key, object.version()), true));
        } else if (owner == null || !owner.isAlive()) {
            client.later(client.thinkUs(), this::failOver);
        } else {
            world.network().ask(client, owner, asked -> new Found(asked.disk().read(key, object.version())), found -> {
                if (found == null) {
                    failOver();
                } else {
                    gotFromDisk(found.units(), false);
                }
            });
        }
    }

    private record Found(long[] units) {
    }

    private void gotFromDisk(final long[] read, final boolean own) {
        if (read == null) {
            world.network().call(client, new ObjectCommand.ReplicaUnreadable(key, object.version(), replica.id()), 2,
                answer -> failOver());
            return;
        }
        units = read;
        accept(own ? Kind.READS_OF_OWN_DISK : Kind.READS_OF_OTHERS_DISK);
        if (own && world.timeline().oneIn(PROMOTE_ONE_IN)) {
            new PromotionFlow(client, key, object.version(), found -> found.accept(read), () -> { }).start();
        }
    }

    private void readOwnFile(final ReplicaDescriptor.Gds place) {
        final FileOwner.Room room = client.files().acquire(key, object.version(), place);
        if (room == null) {
            client.files().gone(key, object.version(), replica.id());
            failOver();
        } else {
            readOwnFile(room, 0);
        }
    }

    private void readOwnFile(final FileOwner.Room room, final int place) {
        if (place < units.length) {
            units[place] = client.files().unit(room, place);
            client.later(client.thinkUs() / 2, () -> readOwnFile(room, place + 1));
        } else if (client.files().release(room)) {
            accept(Kind.READS_OF_OWN_FILE);
        } else {
            // Dropped meanwhile.
            failOver();
        }
    }

    private void readOthersFile(final ReplicaDescriptor.Gds place) {
        final SimulatedClient owner = world.client(place.ownerClientId());
        if (owner == null || !owner.isAlive()) {
            client.later(client.thinkUs(), this::failOver);
            return;
        }
        final long version = object.version();
        final long id = replica.id();
        world.network().ask(client, owner, asked -> new Found(asked.files().copy(key, version, id, place)), found -> {
            if (found == null || found.units() == null) {
                failOver();
            } else {
                units = found.units();
                accept(Kind.READS_OF_OTHERS_FILE);
            }
        });
    }

    private void accept(final Kind kind) {
        world.tally().count(kind);
        world.trace(() -> client.name() + ": read " + key + " version " + object.version() + ", " + kind);
        world.history().accepted(new History.Read(key, object.version(), term, beginUs, world.timeline().nowUs(),
            units, kind + " by " + client.name() + " of replica " + replica));
        then.run();
    }

    private void missed() {
        world.tally().count(Kind.READS_MISSED);
        then.run();
    }
}
