package io.kvtier.store.master.state;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.LeakCheck;
import io.kvtier.store.config.MasterSettings;
import io.kvtier.store.protocol.AdminCommand;
import io.kvtier.store.protocol.ObjectCommand.Find;
import io.kvtier.store.protocol.ObjectCommand.FindReply;
import io.kvtier.store.protocol.ObjectCommand.Found;
import io.kvtier.store.snapshot.SavedObject;
import io.kvtier.store.snapshot.Snapshot;
import io.kvtier.store.snapshot.SnapshotHead;
import io.kvtier.store.snapshot.SnapshotSource;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.TreeMap;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;

/** Snapshots of random states, with random commands while they are taken. */
class SnapshotProperties {
    private static final long WAIT_MS = 100_000;

    static MasterSettings settings(final boolean strict) {
        final MasterSettings plain = MasterRig.settings();
        return new MasterSettings(new MasterSettings.Eviction(0.8, 0.1, 0.8, 0.1, true), plain.leaseMs(), true,
            plain.diskRetryMs(), plain.liveness(), plain.pins(), plain.tasks(), strict, plain.strategy());
    }

    /** What anybody can see of all objects, by key. */
    static TreeMap<String, String> seen(final MasterRig rig) {
        final TreeMap<String, String> all = new TreeMap<>();
        long cursor = 0;
        while (cursor != FindReply.END) {
            final FindReply part = rig.apply(new Find("", "", false, cursor));
            for (final Found one : part.found()) {
                all.put(one.key().toString(), one.object().version() + " " + one.object().size() + " "
                    + one.object().checksummed() + " " + one.object().dataType() + " "
                    + (one.object().checksummed() ? one.object().checksum() : 0) + " "
                    + new ArrayList<>(one.object().replicas()));
            }
            cursor = part.cursor();
        }
        return all;
    }

    private static TreeMap<String, String> saved(final List<SavedObject> objects) {
        final TreeMap<String, String> all = new TreeMap<>();
        for (final SavedObject one : objects) {
            final String twice = all.put(one.key().toString(), one.version() + " " + one.size() + " "
                + one.checksummed() + " " + one.dataType() + " " + one.checksum() + " "
                + new ArrayList<>(one.replicas()));
            assertEquals(null, twice, "an object is there twice: " + one.key());
        }
        return all;
    }

    @Property(tries = 120)
    void aSnapshotIsTheStateAtItsBeginningWhateverHappensMeanwhile(@ForAll final long seed,
        @ForAll final boolean strict) {
        LeakCheck.around(() -> {
            try (MasterRig rig = new MasterRig(settings(strict))) {
                final Random random = new Random(seed);
                final SnapshotCommands commands = new SnapshotCommands(rig, seed);
                if (strict) {
                    rig.apply(new AdminCommand.SetQuota("default", 1 << 20));
                }
                for (int round = 0; round < 3; round++) {
                    steps(commands, 100);
                    final TreeMap<String, String> before = seen(rig);
                    final TreeMap<String, String> attributes = attributes(rig.snapshot());
                    final String quotas = rig.apply(new AdminCommand.Quotas()).toString();
                    final SnapshotHead head = rig.snapshots().begin();
                    final List<SavedObject> objects = new ArrayList<>();
                    SnapshotSource.Slice slice;
                    do {
                        steps(commands, random.nextInt(12));
                        slice = rig.snapshots().next(1 + random.nextInt(600));
                        objects.addAll(slice.objects());
                    } while (!slice.last());
                    rig.snapshots().end();
                    assertEquals(before, saved(objects));
                    assertEquals(attributes, attributes(Snapshot.of(head, objects)));
                    assertEquals(strict, !head.tenants().isEmpty(), quotas);
                }
            }
        });
    }

    private static void steps(final SnapshotCommands commands, final int count) {
        for (int i = 0; i < count; i++) {
            commands.step();
        }
    }

    @Property(tries = 50)
    void aSnapshotThatWasGivenUpLeavesNothingBehind(@ForAll final long seed) {
        try (MasterRig rig = new MasterRig(settings(false))) {
            final SnapshotCommands commands = new SnapshotCommands(rig, seed);
            steps(commands, 100);
            rig.snapshots().begin();
            rig.snapshots().next(500);
            steps(commands, 50);
            rig.snapshots().end();
            rig.snapshots().end();
            assertEquals(seen(rig), saved(rig.snapshot().objects()));
        }
    }

    /** Nobody has come back: nothing is seen, and nothing of what is known is lost. */
    @Property(tries = 80)
    void aRestoredStateSavesWhatItWasRestoredFrom(@ForAll final long seed, @ForAll final boolean strict) {
        try (MasterRig rig = new MasterRig(settings(strict))) {
            final SnapshotCommands commands = new SnapshotCommands(rig, seed);
            if (strict) {
                rig.apply(new AdminCommand.SetQuota("default", 1 << 20));
            }
            steps(commands, 200);
            final Snapshot first = rig.snapshot();
            try (MasterRig after = MasterRig.restored(settings(strict), first, WAIT_MS)) {
                assertEquals(new TreeMap<>(), seen(after));
                assertEquals(0, after.stats().memoryUsed());
                final Snapshot second = after.snapshot();
                assertEquals(saved(first.objects()), saved(second.objects()));
                assertEquals(attributes(first), attributes(second));
                assertEquals(first.head().tenants(), second.head().tenants());
                assertEquals(pages(first), pages(second));
                assertTrue(second.head().lastVersion() >= first.head().lastVersion());
                assertTrue(second.head().lastReplicaId() >= first.head().lastReplicaId());
                assertEquals(first.head().tasks().tasks().size(), second.head().tasks().tasks().size());
                assertEquals(first.head().tasks().lastTask(), second.head().tasks().lastTask());
                after.pass(WAIT_MS);
                after.settle();
                assertEquals(List.of(), after.snapshot().objects());
            }
        }
    }

    /** All owners have come back with all that they had, and nobody has touched it. */
    @Property(tries = 80)
    void whatItsOwnersBringBackIsThereAgain(@ForAll final long seed, @ForAll final boolean strict) {
        LeakCheck.around(() -> {
            try (MasterRig rig = new MasterRig(settings(strict))) {
                final SnapshotCommands commands = new SnapshotCommands(rig, seed);
                if (strict) {
                    rig.apply(new AdminCommand.SetQuota("default", 1 << 20));
                }
                steps(commands, 200);
                final Snapshot snapshot = rig.snapshot();
                try (MasterRig after = MasterRig.restored(settings(strict), snapshot, WAIT_MS)) {
                    final SnapshotOwners owners = new SnapshotOwners(after, snapshot);
                    SnapshotCommands.CLIENTS.forEach(client -> owners.comeBack(client, commands.address(client)));
                    assertEquals(owners.expected(commands), owners.found());
                    final TreeMap<String, String> attributes = attributes(after.snapshot());
                    attributes.keySet().retainAll(owners.found().keySet());
                    assertEquals(owners.expectedAttributes(), attributes);
                    assertEquals(owners.expectedBytes(), after.stats().memoryUsed());
                }
            }
        });
    }

    static TreeMap<String, String> attributes(final Snapshot snapshot) {
        final TreeMap<String, String> all = new TreeMap<>();
        snapshot.objects().forEach(one -> all.put(one.key().toString(), one.writer() + " " + one.hardPinned() + " "
            + one.group() + " " + one.softPinMs()));
        return all;
    }

    static List<String> pages(final Snapshot snapshot) {
        final List<String> pages = new ArrayList<>(snapshot.head().removals().pages().stream()
            .map(page -> page.index() + Arrays.toString(page.versions())).toList());
        snapshot.head().removals().patterns().forEach(one -> pages.add(one.toString()));
        return pages;
    }
}
