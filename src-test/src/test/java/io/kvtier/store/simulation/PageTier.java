package io.kvtier.store.simulation;

import io.kvtier.store.ObjectKey;
import io.kvtier.store.protocol.OffloadTask;
import io.kvtier.store.protocol.PageCommand.BatchGetDistributedPageMapping;
import io.kvtier.store.protocol.PageCommand.FetchPromotions;
import io.kvtier.store.protocol.PageCommand.MountDistributedDisk;
import io.kvtier.store.protocol.PageCommand.PageMapping;
import io.kvtier.store.protocol.PageCommand.PromotionTask;
import io.kvtier.store.protocol.PageCommand.UnmountDistributedDisk;
import io.kvtier.store.replica.ReplicaDescriptor.DistributedDisk;
import io.kvtier.store.simulation.Tally.Kind;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/**
 * A process's part in the files that all clients mount: it says to the master that it has them, puts values there, one
 * batch after the other, reads there by itself, by what the master has just said or by what it has remembered, and
 * copies to memory what is read often.
 */
final class PageTier {
    private static final int PROMOTIONS = 2;
    private static final int KNOWN_ONE_IN = 2;
    private static final long IDLE_MS = 150;
    private static final long AGAIN_MS = 20;

    private final World world;
    private final SimulatedClient client;
    private final boolean used;
    /** Where values were when it asked last, for readers who do not ask again. */
    private final Map<ObjectKey, Known> known = new HashMap<>();
    private final ArrayDeque<Runnable> batches = new ArrayDeque<>();
    private final List<SharedFiles.Grant> grants = new ArrayList<>();
    /** What a reader sees who does not read past caches. */
    private final Map<DistributedDisk, long[]> stale = new HashMap<>();
    private boolean batching;
    private boolean promoting;
    private boolean woken;
    /** Whether the files were looked at; then they are read whatever has become of the master. */
    private boolean readable;
    private long writeMs;

    /** What the master said, and when it was asked. */
    record Known(PageMapping mapping, long term, long askedUs, long clockUs) {
    }

    PageTier(final World world, final SimulatedClient client, final boolean used) {
        this.world = world;
        this.client = client;
        this.used = used;
    }

    /** A new life of its process. */
    void start() {
        known.clear();
        batches.clear();
        grants.clear();
        stale.clear();
        batching = false;
        promoting = false;
        woken = false;
        readable = false;
        writeMs = 0;
        if (used) {
            idle();
        }
    }

    /** The process dies, or leaves: then the master is told. What it has sent to the files may arrive yet. */
    void stop(final boolean leaves) {
        if (used && leaves) {
            world.network().call(client, new UnmountDistributedDisk(client.id()), 1, answer -> { });
        }
        grants.forEach(SharedFiles.Grant::close);
    }

    private void idle() {
        wake();
        client.later(IDLE_MS * Timeline.MS, this::idle);
    }

    // ---- mounted

    /** What the client lends is lent (again): until the master has taken the files as well nothing is put there. */
    void lent(final long of) {
        writeMs = 0;
        if (!used) {
            return;
        }
        final MountDistributedDisk mount =
            new MountDistributedDisk(client.id(), SharedFiles.LAYOUT, SharedFiles.VOLUME, false);
        world.network().call(client, mount, 1, answer -> {
            if (of != client.incarnation()) {
                return;
            }
            if (answer == null) {
                client.later(AGAIN_MS * Timeline.MS, () -> again(of));
            } else if (answer.refusal() == null) {
                writeMs = answer.reply().writeMs();
                readable = true;
                wake();
            } else if (world.hasPages()) {
                client.later(AGAIN_MS * Timeline.MS, () -> again(of));
            }
        });
    }

    private void again(final long of) {
        if (of == client.incarnation()) {
            lent(of);
        }
    }

    /** Milliseconds for a write, counted from before pages are asked for; 0 while nothing may be put there. */
    long writeMs() {
        return writeMs;
    }

    /** Whether this client reads there. */
    boolean isReadable() {
        return readable;
    }

    // ---- values that come

    /** Puts values of offload tasks there; {@code then} is run when their tasks are answered, or named again. */
    void store(final List<OffloadTask> tasks, final Runnable then) {
        batches.add(new PageBatch(client, this, tasks, () -> {
            batching = false;
            nextBatch();
            then.run();
        })::start);
        nextBatch();
    }

    private void nextBatch() {
        if (!batching && !batches.isEmpty()) {
            batching = true;
            batches.remove().run();
        }
    }

    /** Writes there from now on, until it closes it. */
    void holds(final SharedFiles.Grant grant) {
        grants.removeIf(SharedFiles.Grant::isClosed);
        grants.add(grant);
    }

    // ---- readers

    /** Reads a value, a unit after the other. */
    void read(final DistributedDisk place, final Consumer<long[]> then) {
        if (!world.keeps(Rule.READ_PAST_CACHES) && stale.containsKey(place)) {
            client.later(client.thinkUs(), () -> then.accept(stale.get(place).clone()));
            return;
        }
        read(place, new long[(int) (place.objectSize() / SimulatedClient.UNIT)], 0, then);
    }

    private void read(final DistributedDisk place, final long[] units, final int at, final Consumer<long[]> then) {
        if (at < units.length) {
            units[at] = world.shared().unit(place, at);
            client.later(client.thinkUs() / 4, () -> read(place, units, at + 1, then));
        } else {
            if (!world.keeps(Rule.READ_PAST_CACHES)) {
                stale.put(place, units.clone());
            }
            then.accept(units);
        }
    }

    /** Whether what was read is the value with that checksum. */
    boolean isRight(final long[] units, final long checksum) {
        return !world.keeps(Rule.CHECK_THE_SUM) || History.checksum(units) == checksum;
    }

    /** Reads a value by what is known of its place, or by what the master says of it. */
    void readByMapping(final ObjectKey key, final Runnable then) {
        final Known last = known.get(key);
        if (!readable) {
            then.run();
        } else if (last != null && world.timeline().oneIn(KNOWN_ONE_IN)) {
            read(key, last, then);
        } else {
            ask(key, then);
        }
    }

    private void ask(final ObjectKey key, final Runnable then) {
        final long askedUs = world.timeline().nowUs();
        final long clockUs = client.clock().us();
        final List<ObjectKey> keys = List.of(key, world.anyKey());
        world.network().call(client, new BatchGetDistributedPageMapping(keys), 1, answer -> {
            if (answer == null || answer.refusal() != null) {
                then.run();
                return;
            }
            for (int i = 0; i < keys.size(); i++) {
                if (answer.reply().get(i).place() != null) {
                    known.put(keys.get(i), new Known(answer.reply().get(i), answer.term(), askedUs, clockUs));
                }
            }
            final Known found = known.get(key);
            if (answer.reply().getFirst().place() == null) {
                then.run();
            } else {
                read(key, found, then);
            }
        });
    }

    private void read(final ObjectKey key, final Known by, final Runnable then) {
        read(by.mapping().place(), units -> {
            final boolean leased = client.clock().us() - by.clockUs()
                <= Times.reliable(by.mapping().leaseMs()) * Timeline.MS;
            if (isRight(units, by.mapping().checksum())) {
                final Kind kind = leased ? Kind.READS_BY_MAPPING : Kind.READS_BY_OLD_MAPPING;
                world.tally().count(kind);
                world.history().accepted(new History.Read(key, by.mapping().version(), by.term(), by.askedUs(),
                    world.timeline().nowUs(), units, kind + " by " + client.name() + " of " + by));
            } else {
                world.tally().count(Kind.OLD_MAPPINGS_FOUND_OUT);
                if (leased) {
                    foundWrong(by.mapping().version(), by.mapping().place(), client.name() + " has a lease by " + by);
                }
                known.remove(key);
            }
            then.run();
        });
    }

    /** Bytes are not what they should be, though a lease goes on. */
    void foundWrong(final long version, final DistributedDisk place, final String who) {
        if (!world.shared().isInDoubt(version, place)) {
            throw new Violation("bytes of version " + version + " were found to be wrong at " + place + " while "
                + who);
        }
    }

    // ---- values that are read often

    void wake() {
        if (promoting || writeMs == 0) {
            woken = true;
            return;
        }
        promoting = true;
        woken = false;
        fetchPromotions();
    }

    private void fetchPromotions() {
        world.network().call(client, new FetchPromotions(client.id(), PROMOTIONS), 1, answer -> {
            if (answer == null || answer.refusal() != null || answer.reply().isEmpty()) {
                promoting = false;
                if (woken && answer != null) {
                    client.later(Timeline.MS, this::wake);
                }
            } else {
                promote(answer.reply(), 0);
            }
        });
    }

    private void promote(final List<PromotionTask> tasks, final int index) {
        if (index == tasks.size()) {
            fetchPromotions();
            return;
        }
        final PromotionTask task = tasks.get(index);
        new PromotionFlow(client, task.key(), task.version(), found -> read(task.place(), units -> {
            final boolean right = isRight(units, task.checksum());
            world.tally().count(right ? Kind.PROMOTIONS_OF_PAGES : Kind.PROMOTIONS_FOUND_WRONG);
            found.accept(right ? units : null);
        }), () -> promote(tasks, index + 1)).start();
    }
}
