package io.kvtier.store.simulation;

import io.kvtier.store.protocol.Command.Ack;
import io.kvtier.store.protocol.DiskCommand;
import io.kvtier.store.protocol.DiskCommand.OffloadResult;
import io.kvtier.store.protocol.OffloadTask;
import io.kvtier.store.protocol.PageCommand.BatchAllocateDistributedPage;
import io.kvtier.store.protocol.PageCommand.BatchFreeDistributedPage;
import io.kvtier.store.protocol.PageCommand.NotifyDistributedDiskSuccess;
import io.kvtier.store.protocol.PageCommand.PageAllocation;
import io.kvtier.store.protocol.PageCommand.PageRelease;
import io.kvtier.store.protocol.PageCommand.PageRequest;
import io.kvtier.store.protocol.PageCommand.StoredPages;
import io.kvtier.store.simulation.SimulatedMaster.Answer;
import io.kvtier.store.simulation.Tally.Kind;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;

/**
 * Values on their way from a client's memory to pages that all clients read: pages are asked for, all values written,
 * each file synced once, the master told of those that are there, and the pages of the others given back; then it hears
 * what has become of the tasks that have not ended by that.
 */
final class PageBatch {
    private final SimulatedClient client;
    private final World world;
    private final PageTier tier;
    private final List<Item> items;
    private final Runnable then;
    private long startUs;
    private long limitMs;
    /** All that could be begun was. */
    private boolean awaiting;
    private int syncing;

    /** How far a value is. */
    private enum Step {
        ASKED_FOR, GIVEN, BEGUN, WRITTEN, FAILED, DONE
    }

    private static final class Item {
        private final OffloadTask task;
        private final long[] units;
        private Step step = Step.ASKED_FOR;
        private PageAllocation pages;
        private SharedFiles.Grant grant;
        private int left;
        /** What was sent may arrive whatever becomes of it. */
        private boolean begun;
        /** What is still to be told of its task; null for nothing. */
        private OffloadResult told;

        Item(final OffloadTask task) {
            this.task = task;
            this.units = new long[(int) (task.source().size() / SimulatedClient.UNIT)];
        }

        private void done(final OffloadResult result) {
            step = Step.DONE;
            told = result;
        }
    }

    PageBatch(final SimulatedClient client, final PageTier tier, final List<OffloadTask> tasks, final Runnable then) {
        this.client = client;
        this.world = client.world();
        this.tier = tier;
        this.items = tasks.stream().map(Item::new).toList();
        this.then = then;
    }

    private List<Item> in(final Step step) {
        return items.stream().filter(item -> item.step == step).toList();
    }

    void start() {
        limitMs = tier.writeMs();
        if (limitMs == 0) {
            // The files were not looked at for this master yet; it names the tasks again.
            then.run();
            return;
        }
        // From before they are asked for: the master cannot have begun to count earlier.
        startUs = client.clock().us();
        world.network().call(client, new BatchAllocateDistributedPage(client.id(), items.stream().map(item ->
            new PageRequest(item.task.key(), item.task.version(), item.task.source().size(), item.task.replicaId()))
            .toList()), 2, this::given);
    }

    private void given(final Answer<List<PageAllocation>> answer) {
        if (answer == null || answer.refusal() != null) {
            then.run();
            return;
        }
        for (int i = 0; i < items.size(); i++) {
            given(items.get(i), answer.reply().get(i), answer.term());
        }
        if (tier.writeMs() == 0) {
            // Another master may have given them, of other files.
            in(Step.GIVEN).forEach(this::fail);
            giveBack(then);
        } else {
            write(0);
        }
    }

    private void given(final Item item, final PageAllocation pages, final long term) {
        switch (pages.outcome()) {
            case ALLOCATED -> {
                item.step = Step.GIVEN;
                item.pages = pages;
                item.left = item.units.length;
                item.grant = world.shared().adopt(term, client, pages);
                tier.holds(item.grant);
            }
            case STORED, TAKEN, STALE -> {
                world.tally().count(Kind.PAGES_NOT_NEEDED);
                item.done(OffloadResult.OBSOLETE);
            }
            default -> {
                // NO_SPACE.
                world.tally().count(Kind.PAGES_WITHOUT_ROOM);
                item.done(OffloadResult.VALUE_REFUSED);
            }
        }
    }

    private long leftUs() {
        return Times.reliable(limitMs) * Timeline.MS - (client.clock().us() - startUs);
    }

    private void write(final int index) {
        if (index == items.size()) {
            await();
            return;
        }
        final Item item = items.get(index);
        if (item.step != Step.GIVEN) {
            write(index + 1);
        } else {
            copy(index, item, 0);
        }
    }

    /** What lies in memory by now is sent, and summed. */
    private void copy(final int index, final Item item, final int place) {
        if (place < item.units.length) {
            client.read(item.task.source(), place, unit -> {
                if (unit.there()) {
                    item.units[place] = unit.number();
                    client.later(client.thinkUs() / 4, () -> copy(index, item, place + 1));
                } else {
                    // Lent anew; nobody wants it from there any more.
                    fail(item);
                    write(index + 1);
                }
            });
            return;
        }
        if (world.keeps(Rule.LIMIT_WRITES) && leftUs() <= 0) {
            fail(item);
        } else {
            item.step = Step.BEGUN;
            item.begun = true;
            for (int at = 0; at < item.units.length; at++) {
                world.shared().write(item.grant, at, item.units[at], well -> written(item, well));
            }
        }
        client.later(client.thinkUs() / 4, () -> write(index + 1));
    }

    private void await() {
        awaiting = true;
        client.later(Math.max(0, leftUs()), () -> {
            // What has not ended in time has failed, and may arrive yet.
            in(Step.BEGUN).forEach(this::fail);
            syncWhenWritten();
        });
        syncWhenWritten();
    }

    private void written(final Item item, final boolean well) {
        item.left--;
        if (item.step == Step.BEGUN && !well) {
            fail(item);
        } else if (item.step == Step.BEGUN && item.left == 0) {
            item.step = Step.WRITTEN;
        }
        syncWhenWritten();
    }

    /** Nothing is begun for it any more. */
    private void fail(final Item item) {
        world.tally().count(Kind.PAGES_FAILED);
        item.step = Step.FAILED;
        item.told = OffloadResult.DISK_FAILED;
        item.grant.close();
    }

    private void syncWhenWritten() {
        if (!awaiting || !in(Step.BEGUN).isEmpty()) {
            return;
        }
        awaiting = false;
        final Set<String> paths = in(Step.WRITTEN).stream().map(item -> item.pages.place().filePath())
            .collect(Collectors.toCollection(TreeSet::new));
        if (paths.isEmpty() || !world.keeps(Rule.SYNC_WHAT_IS_WRITTEN)) {
            say();
            return;
        }
        syncing = paths.size();
        for (final String path : paths) {
            world.shared().sync(client, path, well -> synced(path, well));
        }
    }

    private void synced(final String path, final boolean well) {
        if (!well) {
            in(Step.WRITTEN).stream().filter(item -> item.pages.place().filePath().equals(path)).forEach(this::fail);
        }
        if (--syncing == 0) {
            say();
        }
    }

    private void say() {
        final List<Item> written = in(Step.WRITTEN);
        if (written.isEmpty()) {
            giveBack(() -> tell(0));
            return;
        }
        written.forEach(item -> item.grant.close());
        world.network().call(client, new NotifyDistributedDiskSuccess(client.id(), written.stream().map(item ->
            new StoredPages(item.task.key(), item.task.version(), item.pages.replicaId(),
                History.checksum(item.units))).toList()), 1, answer -> {
                for (int i = 0; i < written.size(); i++) {
                    said(written.get(i), answer == null || answer.refusal() != null ? null : answer.reply().get(i));
                }
                giveBack(() -> tell(0));
            });
    }

    private void said(final Item item, final Ack ack) {
        world.tally().count(ack == null ? Kind.PAGES_UNKNOWN : ack == Ack.OK ? Kind.PAGES_STORED : Kind.PAGES_STALE);
        // A master that does not answer may have heard of it: the task is named again if it has not.
        item.done(ack == Ack.STALE ? OffloadResult.OBSOLETE : null);
    }

    private void giveBack(final Runnable afterwards) {
        final List<Item> failed = in(Step.FAILED);
        if (failed.isEmpty()) {
            afterwards.run();
            return;
        }
        world.network().call(client, new BatchFreeDistributedPage(client.id(), failed.stream().map(item ->
            new PageRelease(item.task.key(), item.task.version(), item.pages.replicaId(),
                !item.begun || !world.keeps(Rule.SAY_WHAT_MAY_ARRIVE))).toList()), 1, answer -> afterwards.run());
    }

    private void tell(final int index) {
        if (index == items.size()) {
            then.run();
            return;
        }
        final Item item = items.get(index);
        if (item.told == null) {
            tell(index + 1);
            return;
        }
        world.network().call(client, new DiskCommand.OffloadDone(client.id(), item.task, item.told, 0), 1, answer -> {
            if (answer == null) {
                // It is named again.
                then.run();
            } else {
                tell(index + 1);
            }
        });
    }
}
