package io.kvtier.store.simulation;

import io.kvtier.store.protocol.Command.Ack;
import io.kvtier.store.protocol.DiskCommand;
import io.kvtier.store.protocol.DiskCommand.KeyFileResult;
import io.kvtier.store.protocol.DiskCommand.KeyFileTask;
import io.kvtier.store.simulation.Tally.Kind;
import java.util.List;

/**
 * A client's part in the folder of values with files of their own, and the one thread that writes and deletes there:
 * files, then what is to be deleted, then all that nobody knows where it is asked to look.
 */
final class FolderTier {
    private static final int BATCH = 3;
    private static final int FAIL_ONE_IN = 30;
    private static final long IDLE_MS = 150;

    private final World world;
    private final SimulatedClient client;
    private boolean mounted;
    private boolean busy;
    private boolean woken;
    private long done;

    FolderTier(final World world, final SimulatedClient client) {
        this.world = world;
        this.client = client;
    }

    private boolean isThere() {
        return world.folder() != null;
    }

    /** A new life of its process. */
    void start() {
        mounted = false;
        busy = false;
        woken = false;
        done = 0;
        if (isThere()) {
            idle();
        }
    }

    private void idle() {
        wake();
        client.later(IDLE_MS * Timeline.MS, this::idle);
    }

    /** The memory is lent (again): so is the folder told of. The thread goes on with what it is at. */
    void lent(final long of) {
        if (!isThere()) {
            return;
        }
        mounted = false;
        world.network().call(client, new DiskCommand.MountKeyFiles(client.id(), 0), 1, answer -> {
            if (of == client.incarnation()) {
                if (answer == null || answer.refusal() != null) {
                    client.later(client.thinkUs(), () -> lentAgain(of));
                } else {
                    mounted = true;
                    wake();
                }
            }
        });
    }

    private void lentAgain(final long of) {
        if (of == client.incarnation()) {
            lent(of);
        }
    }

    void wake() {
        if (!mounted || busy) {
            woken = true;
            return;
        }
        busy = true;
        woken = false;
        fetch();
    }

    private void fetch() {
        world.network().call(client, new DiskCommand.FetchKeyFiles(client.id(), BATCH), 1, answer -> {
            if (answer == null || answer.refusal() != null) {
                rest();
            } else {
                write(answer.reply(), 0);
            }
        });
    }

    private void rest() {
        busy = false;
        if (woken) {
            client.later(Timeline.MS, this::wake);
        }
    }

    private void write(final List<KeyFileTask> tasks, final int number) {
        if (number == tasks.size()) {
            delete(!tasks.isEmpty());
            return;
        }
        final KeyFileTask task = tasks.get(number);
        world.folder().begin(task.filePath(), isGivenUp(task));
        copy(task, new long[(int) (task.source().size() / SimulatedClient.UNIT)], 0,
            () -> write(tasks, number + 1));
    }

    private void copy(final KeyFileTask task, final long[] units, final int place, final Runnable next) {
        if (place < units.length) {
            client.read(task.source(), place, unit -> {
                if (unit.there()) {
                    units[place] = unit.number();
                    client.later(client.thinkUs() / 2, () -> copy(task, units, place + 1, next));
                } else {
                    failed(task, KeyFileResult.FAILED, next);
                }
            });
        } else if (world.timeline().oneIn(FAIL_ONE_IN) && !world.isCalm()) {
            failed(task, world.timeline().oneIn(2) ? KeyFileResult.FAILED : KeyFileResult.NO_ROOM, next);
        } else if (world.folder().publish(task.filePath(), units, isGivenUp(task))) {
            client.later(client.thinkUs(), () -> answer(task, KeyFileResult.WRITTEN, History.checksum(units), next));
        } else {
            world.tally().count(Kind.FOLDER_WRITES_SWEPT);
            failed(task, KeyFileResult.FAILED, next);
        }
    }

    private boolean isGivenUp(final KeyFileTask task) {
        return world.master().isUp() && !world.master().look(new DiskCommand.FetchKeyFiles(client.id(),
            Integer.MAX_VALUE)).contains(task);
    }

    private void failed(final KeyFileTask task, final KeyFileResult result, final Runnable next) {
        world.folder().delete(task.filePath());
        world.tally().count(Kind.FOLDER_WRITES_FAILED);
        answer(task, result, 0, next);
    }

    private void answer(final KeyFileTask task, final KeyFileResult result, final long checksum,
        final Runnable next) {
        world.network().call(client, new DiskCommand.KeyFileWritten(client.id(),
            new DiskCommand.StoredVersion(task.key(), task.version()), task.replicaId(), result, checksum),
            4, answer -> {
                if (answer == null) {
                    // It is named again, or given up.
                    next.run();
                    return;
                }
                if (result == KeyFileResult.WRITTEN) {
                    final boolean stale = answer.refusal() != null || answer.reply() == Ack.STALE;
                    world.tally().count(stale ? Kind.FOLDER_WRITES_STALE : Kind.FOLDER_WRITES);
                    if (stale) {
                        world.folder().delete(task.filePath());
                    }
                }
                client.later(client.thinkUs() / 2, next);
            });
    }

    private void delete(final boolean written) {
        world.network().call(client, new DiskCommand.FetchKeyFileDrops(client.id(), BATCH, done), 1, answer -> {
            if (answer == null || answer.refusal() != null) {
                rest();
                return;
            }
            client.later(client.thinkUs(), () -> {
                answer.reply().paths().forEach(world.folder()::delete);
                world.tally().add(Kind.FOLDER_DROPS, answer.reply().paths().size());
                done = answer.reply().last();
                if (answer.reply().sweep()) {
                    sweep(world.folder().names(), 0);
                } else if (written || !answer.reply().paths().isEmpty()) {
                    fetch();
                } else {
                    rest();
                }
            });
        });
    }

    private void sweep(final List<String> names, final int from) {
        final List<String> part = names.subList(from, Math.min(names.size(), from + BATCH));
        final boolean last = part.isEmpty();
        world.network().call(client, new DiskCommand.FindKeyFiles(client.id(), part, last), 1, answer -> {
            if (answer == null || answer.refusal() != null || last) {
                world.tally().count(last ? Kind.FOLDER_SWEEPS : Kind.FOLDER_SWEEPS_CUT);
                rest();
                return;
            }
            client.later(client.thinkUs(), () -> {
                for (int i = 0; i < part.size(); i++) {
                    if (!answer.reply().get(i)) {
                        world.tally().count(Kind.FOLDER_FILES_UNKNOWN);
                        world.folder().delete(part.get(i));
                    }
                }
                sweep(names, from + part.size());
            });
        });
    }
}
