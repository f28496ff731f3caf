package io.kvtier.store.simulation;

import io.kvtier.store.ErrorCode;
import io.kvtier.store.protocol.SegmentCommand;
import io.kvtier.store.protocol.SegmentCommand.ClientStatus;
import io.kvtier.store.protocol.SegmentCommand.Medium;
import io.kvtier.store.protocol.SegmentCommand.PingReply;
import io.kvtier.store.protocol.SegmentCommand.SegmentSpec;
import io.kvtier.store.replica.Locality;
import io.kvtier.store.replica.ReplicaDescriptor;
import io.kvtier.store.replica.SegmentAddress;
import io.kvtier.store.simulation.SimulatedMaster.Answer;
import io.kvtier.store.simulation.Tally.Kind;
import io.kvtier.transport.AccessToken;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.UUID;
import java.util.function.Consumer;
import java.util.function.Function;

/**
 * A client's process: it lives, is stopped and goes on, dies, and is started again with another id and empty memory.
 * What it lends it lends under ids that are never used twice.
 */
final class SimulatedClient {
    /** Bytes of one unit of memory, which is one number here. */
    static final int UNIT = 4096;
    /** Memory of one segment, in units. */
    static final int SEGMENT_UNITS = 24;
    private static final int WORKERS = 3;
    private static final int LEAVES_ONE_IN = 6;

    private final World world;
    private final String name;
    private final int host;
    private final Clock clock;
    private final SimulatedDisk disk;
    private final FileOwner files;
    private final PageTier pages;
    private final FolderTier folder;
    private final List<Late> backlog = new ArrayList<>();
    private final List<long[]> memory = new ArrayList<>();
    /** What others reach, by the segment's id; own writers and readers come this way too. */
    private final Map<UUID, long[]> exports = new HashMap<>();
    /** Ids under which it is lent now. */
    private final Set<UUID> lent = new HashSet<>();
    /** In the order of the memory. */
    private final List<SegmentAddress> addresses = new ArrayList<>();
    /** What it was lent as when a master may have known values in it, until they are back. */
    private ReturningValues returning;
    private UUID id;
    private long life;
    private boolean alive;
    private boolean paused;
    private long attempts;
    private int writing;
    private long incarnation;
    private boolean mounting;
    private long mountedUs;
    private long mountingSinceUs;
    private long knownTerm;

    private record Late(long born, Runnable action) {
    }

    SimulatedClient(final World world, final String name, final int host) {
        this.world = world;
        this.name = name;
        this.host = host;
        clock = new Clock(world.timeline());
        disk = new SimulatedDisk(world, this);
        files = new FileOwner(world, this);
        pages = new PageTier(world, this, world.hasPages() && !world.timeline().oneIn(4));
        folder = new FolderTier(world, this);
    }

    World world() {
        return world;
    }

    String name() {
        return name;
    }

    UUID id() {
        return id;
    }

    Clock clock() {
        return clock;
    }

    SimulatedDisk disk() {
        return disk;
    }

    /** Its part in a file for GDS replicas. */
    FileOwner files() {
        return files;
    }

    /** Its part in the files that all clients mount. */
    PageTier pages() {
        return pages;
    }

    /** Its part in the folder of values with files of their own. */
    FolderTier folder() {
        return folder;
    }

    /** Which life of the process this is. */
    long life() {
        return life;
    }

    boolean isAlive() {
        return alive;
    }

    boolean isPaused() {
        return paused;
    }

    /** Changes when the memory is lent again. */
    long incarnation() {
        return incarnation;
    }

    boolean isMounting() {
        return mounting;
    }

    long nextAttempt() {
        return ++attempts;
    }

    void writing(final int change) {
        writing += change;
    }

    /** Does something in this process later: when it runs then, or when it goes on, or never if it has died. */
    void later(final long delayUs, final Runnable action) {
        later(life, delayUs, action);
    }

    void later(final long born, final long delayUs, final Runnable action) {
        world.timeline().in(delayUs, () -> run(new Late(born, action)));
    }

    private void run(final Late late) {
        if (late.born() != life || !alive) {
            return;
        }
        if (paused) {
            backlog.add(late);
        } else {
            late.action().run();
        }
    }

    void start() {
        alive = true;
        id = world.id();
        world.trace(() -> name + ": started as " + id);
        memory.clear();
        exports.clear();
        lent.clear();
        addresses.clear();
        returning = null;
        for (long i = world.timeline().between(1, 2); i > 0; i--) {
            memory.add(new long[SEGMENT_UNITS]);
        }
        writing = 0;
        lend(true);
        ping();
        lookAfter();
        for (int i = 0; i < WORKERS; i++) {
            later(world.timeline().between(0, 50 * Timeline.MS), new Worker(this)::next);
        }
        disk.start();
        files.start();
        pages.start();
        folder.start();
    }

    void kill() {
        world.tally().count(Kind.KILLS);
        if (writing > 0) {
            world.tally().count(Kind.KILLS_WHILE_WRITING);
        }
        world.trace(() -> name + ": killed");
        final boolean leaves = world.timeline().oneIn(LEAVES_ONE_IN);
        files.stop(leaves);
        pages.stop(leaves);
        alive = false;
        paused = false;
        life++;
        backlog.clear();
        exports.clear();
    }

    void pause() {
        world.tally().count(Kind.PAUSES);
        world.trace(() -> name + ": stopped");
        paused = true;
    }

    /** Goes on where it was; what has come in meanwhile is dealt with in any order. */
    void resume() {
        if (!paused) {
            return;
        }
        world.trace(() -> name + ": goes on");
        paused = false;
        final List<Late> missed = new ArrayList<>(backlog);
        backlog.clear();
        Collections.shuffle(missed, new Random(world.timeline().between(0, Long.MAX_VALUE - 1)));
        missed.forEach(late -> later(late.born(), world.timeline().between(0, Timeline.MS / 2), late.action()));
    }

    // ---- lending

    private void lend(final boolean fresh) {
        incarnation++;
        mounting = true;
        mountingSinceUs = clock.us();
        if (fresh || world.snapshots() == null) {
            lendAnew(fresh);
            return;
        }
        if (returning == null) {
            returning = new ReturningValues(this);
            for (int i = 0; i < addresses.size(); i++) {
                returning.add(addresses.get(i), memory.get(i));
            }
        }
        returning.fetch(incarnation, () -> lendAnew(false));
    }

    private void lendAnew(final boolean fresh) {
        // Left alone they would be allocated in, though nobody reaches them.
        List.copyOf(lent).forEach(this::takeBack);
        lent.clear();
        addresses.clear();
        if (world.keeps(Rule.CLOSE_EXPORTS)) {
            exports.clear();
        }
        if (!fresh && hasNeighbours() && world.keeps(Rule.RENEW_SHARED_MEMORY)) {
            // They have the old memory mapped; there is no way to take that from them.
            memory.replaceAll(old -> new long[SEGMENT_UNITS]);
        }
        mount(0, incarnation, fresh);
    }

    /** Looks now and then whether the master still knows what is lent: a ping may be answered OK though it does not. */
    private void lookAfter() {
        later(Times.LOOK * Timeline.MS, this::lookAfter);
        final long sentUs = clock.us();
        world.network().call(this, new SegmentCommand.Segments(), 1, answer -> {
            if (answer != null && !mounting && sentUs >= mountedUs && !answer.reply().stream()
                .map(SegmentCommand.SegmentInfo::segmentId).toList().containsAll(lent)) {
                world.tally().count(Kind.LENDINGS_MISSED);
                lend(false);
            }
        });
    }

    private boolean hasNeighbours() {
        return world.clients().stream().anyMatch(other -> other != this && other.host == host);
    }

    private void takeBack(final UUID segmentId) {
        world.network().call(this, new SegmentCommand.Unmount(id, segmentId, 0), 1, answer -> {
            if (answer == null) {
                takeBack(segmentId);
            }
        });
    }

    private void mount(final int index, final long of, final boolean fresh) {
        if (index == memory.size()) {
            lent(of);
            return;
        }
        final UUID segmentId = world.id();
        exports.put(segmentId, memory.get(index));
        lent.add(segmentId);
        world.lends(this, segmentId, memory.get(index));
        final SegmentSpec spec = new SegmentSpec(name + "-" + index, Medium.MEMORY, (long) SEGMENT_UNITS * UNIT, UNIT,
            new SegmentAddress(segmentId, "tcp://" + name, AccessToken.NONE), fresh);
        addresses.add(spec.address());
        mount(spec, index, of);
    }

    private void mount(final SegmentSpec spec, final int index, final long of) {
        final SegmentAddress former = returning == null ? null : returning.former(index);
        world.network().call(this, new SegmentCommand.Mount(id, spec, former), 1, answer -> {
            if (of != incarnation) {
                return;
            }
            if (answer == null) {
                mount(spec, index, of);
            } else if (answer.refusal() == null
                || answer.refusal().code() == ErrorCode.SEGMENT_ALREADY_EXISTS) {
                mount(index + 1, of, spec.fresh());
            } else {
                lend(false);
            }
        });
    }

    private void lent(final long of) {
        if (clock.us() - mountingSinceUs > Times.reliable(Times.TTL) * Timeline.MS) {
            // It may have been taken for dead in between, and the first ones are gone.
            lend(false);
            return;
        }
        disk.lent(of);
        files.lent(of);
        pages.lent(of);
        folder.lent(of);
        if (returning == null) {
            returned();
        } else {
            returning.bringBack(addresses.stream().map(SegmentAddress::segmentId).toList(), of, this::returned);
        }
    }

    private void returned() {
        returning = null;
        mounting = false;
        mountedUs = clock.us();
        disk.wake();
    }

    /** Memory that is lent as that. */
    long[] exported(final UUID segmentId) {
        return exports.get(segmentId);
    }

    private void ping() {
        final long sentUs = clock.us();
        world.network().call(this, new SegmentCommand.Ping(id, name, "host" + host, "tcp://" + name), 1,
            answer -> pinged(answer, sentUs));
        later(Times.PING * Timeline.MS, this::ping);
    }

    private void pinged(final Answer<PingReply> answer, final long sentUs) {
        if (answer == null || mounting || sentUs < mountedUs) {
            return;
        }
        final PingReply reply = answer.reply();
        if (knownTerm == 0) {
            knownTerm = reply.term();
        }
        if (reply.status() == ClientStatus.NEED_REMOUNT || reply.term() != knownTerm) {
            world.tally().count(Kind.REMOUNTS);
            world.trace(() -> name + ": lends its memory again");
            knownTerm = reply.term();
            lend(false);
        }
    }

    Locality locality() {
        return new Locality(id, Set.copyOf(lent), Set.of(), files.place(), true);
    }

    // ---- memory

    /** Answer to whoever wants a unit of memory; not there when that segment is not lent (any more). */
    record Unit(boolean there, long number) {
        private static final Unit NOT_THERE = new Unit(false, 0);
    }

    /** Reads one unit, wherever it is; null when nobody answered. */
    void read(final ReplicaDescriptor.Memory range, final int place, final Consumer<Unit> then) {
        final int at = (int) (range.offset() / UNIT) + place;
        reach(range, units -> new Unit(true, units[at]), Unit.NOT_THERE, world.network()::ask, then);
    }

    /** Writes one unit, wherever it is; null when nobody answered, and it may yet be written. */
    void write(final ReplicaDescriptor.Memory range, final int place, final long unit, final Consumer<Boolean> then) {
        final int at = (int) (range.offset() / UNIT) + place;
        reach(range, units -> {
            units[at] = unit;
            return true;
        }, false, world.network()::askToWrite, then);
    }

    /**
     * Its own memory is reached while it is lent; a neighbour's, which is mapped, whatever has become of the neighbour;
     * any other through its owner, which must be alive, awake and still lending it.
     */
    private <R> void reach(final ReplicaDescriptor.Memory range, final Function<long[], R> what, final R refused,
        final Asking<R> asking, final Consumer<R> then) {
        final UUID segmentId = range.segment().segmentId();
        final World.Lent lent = world.lent(segmentId);
        final SimulatedClient owner = lent.lender();
        final Function<SimulatedClient, R> atOwner = asked -> {
            final long[] units = asked.exports.get(segmentId);
            return units == null ? refused : what.apply(units);
        };
        final long soonUs = world.timeline().between(10, Timeline.MS);
        if (owner == this) {
            later(soonUs, () -> then.accept(atOwner.apply(this)));
        } else if (owner.host == host) {
            world.tally().count(Kind.MAPPED_ACCESSES);
            later(soonUs, () -> then.accept(what.apply(lent.units())));
        } else if (!owner.isAlive()) {
            later(soonUs, () -> then.accept(refused));
        } else {
            asking.ask(this, owner, atOwner, then);
        }
    }

    /** How another process is asked. */
    private interface Asking<R> {
        void ask(SimulatedClient asking, SimulatedClient asked, Function<SimulatedClient, R> what, Consumer<R> then);
    }

    /** How long it takes until a process does the next thing. */
    long thinkUs() {
        return world.timeline().oneIn(40) ? world.timeline().between(50, 300) * Timeline.MS
            : world.timeline().between(50, 6 * Timeline.MS);
    }
}
