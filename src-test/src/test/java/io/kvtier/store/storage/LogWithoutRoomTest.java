package io.kvtier.store.storage;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.bindings.posix.BlockFile;
import io.kvtier.bindings.posix.Errno;
import io.kvtier.bindings.posix.OpenMode;
import io.kvtier.bindings.posix.PosixFile;
import io.kvtier.kit.Faults;
import io.kvtier.kit.Faults.Call;
import io.kvtier.kit.FaultyFiles;
import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.MemoryDirectory;
import io.kvtier.store.DiskBackend;
import io.kvtier.transport.file.FileOpener;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.NavigableMap;
import java.util.TreeMap;
import java.util.UUID;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * A disk without room for a second index log beside the one that there is: what is removed makes room all the same.
 * What hosts have below a common directory is what FILE_PER_KEY has in its own.
 */
@ExtendWith(LeakCheck.class)
@ParameterizedClass
@EnumSource(value = DiskBackend.class, mode = EnumSource.Mode.EXCLUDE, names = "DISTRIBUTED")
class LogWithoutRoomTest {
    private static final int UNIT = Value.UNIT;
    private static final int CAPACITY_UNITS = 4;
    /** See the layout that {@link IndexLog} tells. */
    private static final int OFFSET_ID = 16;
    private static final int ROUNDS = 5_000;
    private static final Value OLD = Value.of("old", 1, UNIT);
    private static final Value KEPT = Value.of("kept", 1, UNIT);
    private static final Value LAST = Value.of("last", 1, 2 * UNIT);

    @Parameter
    private DiskBackend kind;
    @TempDir(factory = MemoryDirectory.class)
    private Path directory;
    private final ModelOwner owner = new ModelOwner();

    /** Files of which those alone are faulty that a log is written to which is to replace another. */
    private record FullForLogs(FaultyFiles logs) implements FileOpener {
        @Override
        public BlockFile open(final String path, final OpenMode mode) {
            return (path.endsWith(".log.tmp") ? logs : FileOpener.POSIX).open(path, mode);
        }

        @Override
        public PosixFile descriptor(final BlockFile file) {
            return FileOpener.POSIX.descriptor(file);
        }
    }

    private BackendRig open(final Path where, final FileOpener files) {
        return new BackendRig.Setup(BackendRig.of(kind), where, CAPACITY_UNITS, 1, 1, files, false).open();
    }

    @ParameterizedTest
    @EnumSource(value = Call.class, names = {"OPEN", "WRITE"})
    void shouldStartRemoveAndStoreWithoutRoomToRewriteTheLog(final Call call) throws IOException {
        final Path first = Files.createDirectory(directory.resolve("first"));
        final List<StoredValue> there;
        try (BackendRig rig = open(first, FileOpener.POSIX)) {
            rig.storeAll(owner, List.of(OLD, KEPT));
            there = rig.backend().stored();
        }
        makeWorthRewriting(first, there);
        final Value beside = Value.of("beside", 1, UNIT);
        final Path second = inFullDisk(call, first, List.of(OLD, KEPT), rig -> {
            rig.remove(owner, OLD);
            // There is room for this in what was removed and rests, and for the next in what it makes free.
            rig.storeAll(owner, List.of(LAST, beside));
            rig.remove(owner, beside);
            rig.storeAll(owner, List.of(Value.of("again", 1, UNIT)));
            assertEquals(CAPACITY_UNITS * UNIT, rig.backend().usedBytes());
        });
        final Path third = inFullDisk(call, second, List.of(KEPT, LAST, Value.of("again", 1, UNIT)),
            rig -> rig.remove(owner, Value.of("again", 1, UNIT)));
        final Path fourth = inFullDisk(call, third, List.of(KEPT, LAST), rig -> { });
        // Its file is gone, and the log still says that it was removed: that is not said of what comes after it.
        final Path fifth = inFullDisk(call, fourth, List.of(KEPT, LAST),
            rig -> rig.storeAll(owner, List.of(Value.of("anew", 1, UNIT))));
        inFullDisk(call, fifth, List.of(KEPT, LAST, Value.of("anew", 1, UNIT)), rig -> { });
    }

    /** Does something, after a look at what is there; returns a copy of what its process would leave if it died. */
    private Path inFullDisk(final Call call, final Path where, final List<Value> expected,
        final Consumer<BackendRig> body) throws IOException {
        final Faults faults = new Faults().failAlways(call, Errno.ENOSPC);
        try (BackendRig rig = open(where, new FullForLogs(new FaultyFiles(faults)))) {
            assertEquals(expected.stream().map(Value::key).toList(),
                rig.backend().recovered().stream().map(StoredValue::key).toList());
            expected.forEach(rig::assertReadable);
            body.accept(rig);
            assertTrue(faults.count(call) > 0, "nothing was to be rewritten");
            final Path image = directory.resolve(where.getFileName() + "-died");
            try (Stream<Path> files = Files.walk(where)) {
                for (final Path file : files.filter(path -> !path.endsWith("LOCK")).toList()) {
                    Files.copy(file, image.resolve(where.relativize(file).toString()));
                }
            }
            faults.heal();
            return image;
        }
    }

    /** Says the same again and again. */
    private void makeWorthRewriting(final Path where, final List<StoredValue> there) throws IOException {
        if (kind == DiskBackend.OFFSET_ALLOCATOR) {
            final Path path = where.resolve(IndexLog.FILE_NAME);
            final List<IndexRecord> records = there.stream().map(IndexRecord::stored).toList();
            append(IndexLog.open(where, storageId(path), FileOpener.POSIX).log(), records);
        } else {
            final Path path = where.resolve(FileMedium.NOTES_NAME);
            final NavigableMap<Long, StoredValue> known = new TreeMap<>();
            there.forEach(value -> known.put(value.offset(), value));
            final List<FileNote> notes = there.stream().map(value -> FileNote.used(value.offset())).toList();
            append(IndexLog.open(path, new FileNote.Format(known), storageId(path), 0, FileOpener.POSIX).log(), notes);
        }
    }

    private static <R> void append(final IndexLog<R, ?> log, final List<R> records) {
        final List<R> many = new ArrayList<>();
        for (int i = 0; i < ROUNDS; i++) {
            many.addAll(records);
        }
        try (log) {
            while (!log.isWorthRewriting()) {
                log.append(many);
            }
        }
    }

    private static UUID storageId(final Path log) throws IOException {
        final ByteBuffer header = ByteBuffer.wrap(Files.readAllBytes(log)).order(ByteOrder.LITTLE_ENDIAN);
        return new UUID(header.getLong(OFFSET_ID), header.getLong(OFFSET_ID + Long.BYTES));
    }
}
