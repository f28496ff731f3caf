package io.kvtier.store.protocol.wire;

import io.kvtier.store.protocol.DiskCommand.FetchKeyFileDrops;
import io.kvtier.store.protocol.DiskCommand.FetchKeyFiles;
import io.kvtier.store.protocol.DiskCommand.FindKeyFiles;
import io.kvtier.store.protocol.DiskCommand.KeyFileDrops;
import io.kvtier.store.protocol.DiskCommand.KeyFileTask;
import io.kvtier.store.protocol.DiskCommand.KeyFileWritten;
import io.kvtier.store.protocol.DiskCommand.MountKeyFiles;
import io.kvtier.store.protocol.DiskCommand.QueryKeyFolder;
import io.kvtier.store.protocol.DiskCommand.StoredVersion;
import io.kvtier.store.protocol.DiskCommand.UnmountKeyFiles;
import io.kvtier.store.protocol.wire.Method.Message;
import io.kvtier.store.replica.ReplicaDescriptor;
import java.util.List;

/** What concerns files of single values; {@code store/MESSAGES.md} has the fields. */
final class KeyFileMessages {
    private static final int MAX_PATH_BYTES = ReplicaDescriptor.DistributedDisk.MAX_PATH_BYTES;

    private KeyFileMessages() {
    }

    static List<Method<?, ?>> methods() {
        return List.of(
            Method.of(73, QueryKeyFolder.class, true, CommonMessages.empty(new QueryKeyFolder()),
                Message.of((e, folder) -> e.array(1).text(folder), d -> d.text(MAX_PATH_BYTES))),
            Method.of(74, MountKeyFiles.class, true, Message.of((e, mount) -> e.array(2).uuid(mount.clientId())
                .number(mount.capacity()), d -> new MountKeyFiles(d.uuid(), d.count())), CommonMessages.ACK),
            Method.of(75, UnmountKeyFiles.class, true, Message.of((e, gone) -> e.array(1).uuid(gone.clientId()),
                d -> new UnmountKeyFiles(d.uuid())), CommonMessages.ACK),
            Method.of(76, FetchKeyFiles.class, true, Message.of((e, fetch) -> e.array(2).uuid(fetch.clientId())
                .number(fetch.max()), d -> new FetchKeyFiles(d.uuid(), d.count(Integer.MAX_VALUE))), tasks()),
            Method.of(77, KeyFileWritten.class, true, Message.of((e, done) -> e.array(7).uuid(done.clientId())
                .key(done.value().key()).number(done.value().version()).number(done.replicaId())
                .number(Numbers.KEY_FILE_RESULT.number(done.result())).number(done.checksum()),
                d -> new KeyFileWritten(d.uuid(), new StoredVersion(d.key(), d.number()), d.number(),
                    Numbers.KEY_FILE_RESULT.constant(d.number()), d.number())), CommonMessages.ACK),
            Method.of(78, FetchKeyFileDrops.class, true, Message.of((e, fetch) -> e.array(3).uuid(fetch.clientId())
                .number(fetch.max()).number(fetch.done()), d -> new FetchKeyFileDrops(d.uuid(),
                    d.count(Integer.MAX_VALUE), d.number())), Message.of((e, drops) -> e.array(3)
                .texts(drops.paths()).number(drops.last()).flag(drops.sweep()),
                d -> new KeyFileDrops(d.paths(), d.number(), d.flag()))),
            Method.of(79, FindKeyFiles.class, true, Message.of((e, find) -> e.array(3).uuid(find.clientId())
                .texts(find.paths()).flag(find.last()), d -> new FindKeyFiles(d.uuid(), d.paths(), d.flag())),
                CommonMessages.FLAGS));
    }

    private static Message<List<KeyFileTask>> tasks() {
        return Message.of((e, tasks) -> {
            e.array(1).array(tasks.size());
            tasks.forEach(task -> e.array(6).number(task.replicaId()).key(task.key()).number(task.version())
                .memory(task.source()).text(task.filePath()));
        }, d -> d.records(Integer.MAX_VALUE, t -> new KeyFileTask(t.number(), t.key(), t.number(), t.memory(),
            t.text(MAX_PATH_BYTES))));
    }
}
