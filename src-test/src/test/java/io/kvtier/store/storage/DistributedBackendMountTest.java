package io.kvtier.store.storage;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.GlusterMounts;
import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.MooseMounts;
import io.kvtier.kit.SharedMounts;
import io.kvtier.store.DiskBackend;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreException;
import io.kvtier.store.config.HostName;
import io.kvtier.transport.file.FileOpener;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A host's own folder on a shared file system that is mounted twice here, as by two hosts. */
@ExtendWith(LeakCheck.class)
class DistributedBackendMountTest {
    private static final int UNITS = 256;

    @TempDir
    private Path directory;

    /** Which file system. */
    private enum Kind {
        GLUSTER, MOOSE
    }

    private static BackendRig at(final Path mount) {
        return new BackendRig.Setup(BackendRig.of(DiskBackend.DISTRIBUTED), mount.resolve("disk"), UNITS, 1, 1,
            FileOpener.POSIX, true).open();
    }

    /** As where locks are of one host only: the first one's lock file is gone, so the second one gets another. */
    @ParameterizedTest
    @EnumSource(Kind.class)
    void shouldRefuseASecondHostOfTheNameWithoutALock(final Kind kind) throws Exception {
        try (SharedMounts mounts = kind == Kind.GLUSTER ? GlusterMounts.start(directory)
            : MooseMounts.start(directory)) {
            try (BackendRig first = renewed(mounts.first())) {
                final Value value = Value.of("k", 1, 5000);
                final ModelOwner owner = new ModelOwner();
                first.storeAll(owner, List.of(value));
                Files.delete(mounts.first().resolve("disk/kv_hosts/" + HostName.local() + "/LOCK"));
                final StoreException refused =
                    assertThrows(StoreException.class, () -> renewed(mounts.second()).close());
                assertEquals(ErrorCode.FILE_LOCK_FAIL, refused.code(), refused::getMessage);
                assertTrue(refused.getMessage().contains("in use by another store"), refused::getMessage);
                first.storeAll(owner, List.of(Value.of("l", 2, 100)));
                assertArrayEquals(value.bytes(), first.read(value, true));
            }
        }
    }

    /** With a marker that is renewed, as a store has it. */
    private static BackendRig renewed(final Path mount) {
        return new BackendRig.Setup((setup, engine) -> StorageBackends.open(DiskBackend.DISTRIBUTED,
            new BackendOptions(setup.directory(), setup.capacity(), 1, 1), engine, setup.files()),
            mount.resolve("disk"), UNITS, 1, 1, FileOpener.POSIX, true).open();
    }

    /** With direct I/O; what was removed, and what was overwritten before it was read, is gone there too. */
    @ParameterizedTest
    @EnumSource(Kind.class)
    void shouldFindAtAnotherMountWhatAHostOfItsNameHasLeft(final Kind kind) throws Exception {
        try (SharedMounts mounts = kind == Kind.GLUSTER ? GlusterMounts.start(directory)
            : MooseMounts.start(directory)) {
            final List<Value> values =
                IntStream.range(0, 20).mapToObj(i -> Value.of("k" + i, i, 1 + i * 3571 % (9 * Value.UNIT))).toList();
            final Value newer = Value.of("k3", 100, 5000);
            try (BackendRig first = at(mounts.first())) {
                final ModelOwner owner = new ModelOwner();
                first.storeAll(owner, values);
                first.remove(owner, values.get(7));
                first.storeAll(owner, List.of(newer));
                assertEquals(ErrorCode.FILE_LOCK_FAIL,
                    assertThrows(StoreException.class, () -> at(mounts.second())).code());
            }
            try (BackendRig second = at(mounts.second())) {
                assertEquals(19, second.backend().recovered().size());
                for (final Value value : values) {
                    if (value.version() != 3 && value.version() != 7) {
                        assertArrayEquals(value.bytes(), second.read(value, true), value::toString);
                    }
                }
                assertArrayEquals(newer.bytes(), second.read(newer, true));
            }
        }
    }
}
