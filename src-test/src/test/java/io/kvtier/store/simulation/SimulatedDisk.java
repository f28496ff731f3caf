package io.kvtier.store.simulation;

import io.kvtier.store.ObjectKey;
import io.kvtier.store.protocol.Command.Ack;
import io.kvtier.store.protocol.DiskCommand;
import io.kvtier.store.protocol.DiskCommand.OffloadResult;
import io.kvtier.store.protocol.DiskCommand.StoredObject;
import io.kvtier.store.protocol.DiskCommand.StoredVersion;
import io.kvtier.store.protocol.OffloadTask;
import io.kvtier.store.replica.ReplicaType;
import io.kvtier.store.simulation.Tally.Kind;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * A client's own disk, which outlives its process, and the one thread that fills and empties it: drops, then tasks, one
 * after the other.
 *
 * <p>Where an answer is missing the thread assumes the worse: a value that it may have been allowed to evict is gone, a
 * value whose task's end is not known is kept until it is known, or all that is there has been offered.
 */
final class SimulatedDisk {
    private static final int MAX_VALUES = 3;
    private static final int BATCH = 3;
    private static final int FAIL_ONE_IN = 40;
    private static final long IDLE_MS = 120;

    private final World world;
    private final SimulatedClient client;
    /** What is durable, oldest first. */
    private final Map<StoredVersion, long[]> values = new LinkedHashMap<>();
    private boolean lent;
    private boolean busy;
    private boolean woken;
    private long dropsDone;

    SimulatedDisk(final World world, final SimulatedClient client) {
        this.world = world;
        this.client = client;
    }

    /** Bytes of a value; null when it is not there. */
    long[] read(final ObjectKey key, final long version) {
        final long[] units = values.get(new StoredVersion(key, version));
        return units == null ? null : units.clone();
    }

    /** What lies on it. */
    Set<StoredVersion> values() {
        return values.keySet();
    }

    /** A new life of its process. */
    void start() {
        lent = false;
        busy = false;
        woken = false;
        dropsDone = 0;
        idle();
    }

    private void idle() {
        wake();
        client.later(IDLE_MS * Timeline.MS, this::idle);
    }

    void wake() {
        if (!lent || busy || client.isMounting()) {
            woken = true;
            return;
        }
        busy = true;
        woken = false;
        fetchDrops(client.incarnation());
    }

    /** The master has values of it that others read often. */
    void promote() {
        if (lent) {
            world.network().call(client, new DiskCommand.FetchDiskPromotions(client.id(), BATCH), 1, answer -> {
                if (answer != null && answer.refusal() == null) {
                    promote(answer.reply(), 0);
                }
            });
        }
    }

    private void promote(final List<DiskCommand.DiskPromotion> tasks, final int number) {
        if (number < tasks.size()) {
            final DiskCommand.DiskPromotion task = tasks.get(number);
            world.tally().count(Kind.DISK_PROMOTIONS);
            new PromotionFlow(client, task.key(), task.version(),
                found -> found.accept(read(task.key(), task.version())), () -> promote(tasks, number + 1)).start();
        }
    }

    // ---- offered to the master

    /** The memory is lent (again): the disk is, too. What the thread was at is void. */
    void lent(final long of) {
        lent = false;
        busy = false;
        world.network().call(client, new DiskCommand.MountDisk(client.id(), "tcp://" + client.name(), 1 << 20), 1,
            answer -> {
                if (of == client.incarnation()) {
                    if (answer == null) {
                        lent(of);
                    } else {
                        adopt(of);
                    }
                }
            });
    }

    private void adopt(final long of) {
        final List<StoredVersion> offered = List.copyOf(values.keySet());
        final List<StoredObject> objects = offered.stream().map(this::object).toList();
        world.network().call(client, new DiskCommand.AdoptDisk(client.id(), objects), 1, answer -> {
            if (of != client.incarnation()) {
                return;
            }
            if (answer == null) {
                adopt(of);
                return;
            }
            for (int i = 0; i < offered.size(); i++) {
                final boolean adopted = answer.reply().get(i);
                world.tally().count(adopted ? Kind.ADOPTED : Kind.ADOPTIONS_REFUSED);
                if (!adopted) {
                    values.remove(offered.get(i));
                }
            }
            lent = true;
            wake();
        });
    }

    private StoredObject object(final StoredVersion value) {
        final long[] units = values.get(value);
        return new StoredObject(value.key(), value.version(), (long) units.length * SimulatedClient.UNIT,
            History.checksum(units));
    }

    // ---- the thread

    private boolean isVoid(final long of) {
        return of != client.incarnation();
    }

    private void fetchDrops(final long of) {
        final long done = world.keeps(Rule.ACKNOWLEDGE_DROPS) ? dropsDone : DiskCommand.FetchDrops.ALL_NAMED;
        world.network().call(client, new DiskCommand.FetchDrops(client.id(), BATCH, done), 1, answer -> {
            if (isVoid(of)) {
                return;
            }
            if (answer == null || answer.reply().values().isEmpty()) {
                fetchOffloads(of);
                return;
            }
            client.later(client.thinkUs(), () -> {
                for (final StoredVersion drop : answer.reply().values()) {
                    world.tally().count(values.remove(drop) == null ? Kind.DROPS_NAMED_AGAIN : Kind.DROPS);
                }
                if (!isVoid(of)) {
                    dropsDone = answer.reply().last();
                    fetchDrops(of);
                }
            });
        });
    }

    private void fetchOffloads(final long of) {
        world.network().call(client, new DiskCommand.FetchOffloads(client.id(),
            (long) BATCH * 4 * SimulatedClient.UNIT), 1, answer -> {
                if (isVoid(of)) {
                    return;
                }
                if (answer == null || answer.reply().isEmpty()) {
                    busy = false;
                    if (woken && answer != null) {
                        client.later(Timeline.MS, this::wake);
                    }
                } else {
                    offload(of, answer.reply());
                }
            });
    }

    /** Those for this disk, then those for the shared files. */
    private void offload(final long of, final List<OffloadTask> tasks) {
        final List<OffloadTask> shared =
            tasks.stream().filter(task -> task.target() == ReplicaType.DISTRIBUTED_DISK).toList();
        final List<OffloadTask> own =
            tasks.stream().filter(task -> task.target() != ReplicaType.DISTRIBUTED_DISK).toList();
        offload(of, own, 0, () -> {
            if (shared.isEmpty()) {
                fetchDrops(of);
            } else {
                client.pages().store(shared, () -> client.later(client.thinkUs(), () -> {
                    if (!isVoid(of)) {
                        fetchDrops(of);
                    }
                }));
            }
        });
    }

    private void offload(final long of, final List<OffloadTask> tasks, final int index, final Runnable then) {
        if (index == tasks.size()) {
            then.run();
            return;
        }
        final OffloadTask task = tasks.get(index);
        final int units = (int) (task.source().size() / SimulatedClient.UNIT);
        copy(of, task, new long[units], 0, () -> offload(of, tasks, index + 1, then));
    }

    private void copy(final long of, final OffloadTask task, final long[] units, final int place,
        final Runnable next) {
        if (place < units.length) {
            client.read(task.source(), place, unit -> {
                if (unit.there()) {
                    units[place] = unit.number();
                    client.later(client.thinkUs() / 2, () -> copy(of, task, units, place + 1, next));
                } else {
                    // A segment that is not lent any more, and that a late message has made the master believe in.
                    answer(of, task, OffloadResult.VALUE_REFUSED, next);
                }
            });
        } else if (isVoid(of)) {
            world.tally().count(Kind.OFFLOADS_VOID);
        } else if (world.timeline().oneIn(FAIL_ONE_IN) && !world.isCalm()) {
            answer(of, task, world.timeline().oneIn(2) ? OffloadResult.DISK_FAILED : OffloadResult.VALUE_REFUSED,
                next);
        } else {
            makeRoom(of, task, units, next);
        }
    }

    private void makeRoom(final long of, final OffloadTask task, final long[] units, final Runnable next) {
        if (values.size() < MAX_VALUES) {
            store(of, task, units, next);
            return;
        }
        final List<StoredVersion> oldest = List.copyOf(new ArrayList<>(values.keySet()).subList(0, 2));
        world.network().call(client, new DiskCommand.EvictDisk(client.id(), oldest.stream().map(this::object)
            .toList()), 1, answer -> {
                for (int i = 0; i < oldest.size(); i++) {
                    if (answer == null || answer.reply().get(i)) {
                        values.remove(oldest.get(i));
                        world.tally().count(Kind.DISK_EVICTIONS);
                    }
                }
                if (isVoid(of)) {
                    world.tally().count(Kind.OFFLOADS_VOID);
                } else if (values.size() < MAX_VALUES) {
                    store(of, task, units, next);
                } else {
                    answer(of, task, OffloadResult.VALUE_REFUSED, next);
                }
            });
    }

    /** Durable in one moment; a process that dies before has left nothing, one that dies after has left the value. */
    private void store(final long of, final OffloadTask task, final long[] units, final Runnable next) {
        values.put(new StoredVersion(task.key(), task.version()), units);
        world.history().onDisk(task.version());
        client.later(client.thinkUs(), () -> answer(of, task, OffloadResult.STORED, next));
    }

    /** Whether the value belongs to the disk is known when this is, or when all that is there has been offered. */
    private void unheard(final long of, final OffloadTask task, final OffloadResult result, final Runnable next) {
        if (isVoid(of) || world.timeline().oneIn(2)) {
            answer(of, task, result, next);
        } else {
            lent = false;
            busy = false;
            adopt(of);
        }
    }

    private void answer(final long of, final OffloadTask task, final OffloadResult result, final Runnable next) {
        final StoredVersion value = new StoredVersion(task.key(), task.version());
        final long[] units = values.get(value);
        world.network().call(client, new DiskCommand.OffloadDone(client.id(), task, result,
            units == null ? 0 : History.checksum(units)), 1, answer -> {
                if (answer == null) {
                    unheard(of, task, result, next);
                    return;
                }
                if (result == OffloadResult.STORED) {
                    final boolean stale = answer.reply() == Ack.STALE;
                    world.tally().count(stale ? Kind.OFFLOADS_STALE : Kind.OFFLOADS_STORED);
                    if (stale && !isVoid(of)) {
                        values.remove(value);
                    }
                } else {
                    world.tally().count(Kind.OFFLOADS_FAILED);
                }
                if (!isVoid(of)) {
                    next.run();
                }
            });
    }
}
