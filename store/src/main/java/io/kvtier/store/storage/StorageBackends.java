package io.kvtier.store.storage;

import io.kvtier.bindings.NativeException;
import io.kvtier.store.DiskBackend;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreException;
import io.kvtier.transport.Closings;
import io.kvtier.transport.TransferEngine;
import io.kvtier.transport.file.FileOpener;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import java.util.regex.Pattern;
import net.openhft.hashing.LongHashFunction;
import org.agrona.CloseHelper;

/** Opens the backend of a directory. <b>Threading:</b> stateless. <b>Blocking:</b> on the disk. */
public final class StorageBackends {
    /** Where the hosts' own folders are. */
    static final String HOSTS = "kv_hosts";
    private static final Pattern FOLDER_NAME = Pattern.compile("[A-Za-z0-9_-][A-Za-z0-9._-]{0,199}");

    private StorageBackends() {
    }

    /**
     * Opens the backend of a directory, or makes it.
     *
     * @param kind    which.
     * @param options settings.
     * @param engine  moves the bytes; stays the caller's, who closes it after this.
     * @param opener  opens the files that the engine does not.
     * @return the backend.
     * @throws io.kvtier.store.StoreException when the directory is in use, cannot be written, has files of another
     *                                        backend, of another version or damaged ones, or the disk is full; nothing
     *                                        new is left then.
     */
    public static StorageBackend open(final DiskBackend kind, final BackendOptions options,
        final TransferEngine engine, final FileOpener opener) {
        return open(kind, options, engine, opener, folder -> FolderOwner.take(folder,
            FolderMarker.Self.of(options.host(), folder), opener, FolderOwner.Pace.SYSTEM).keep());
    }

    /** With what keeps the folder of a host on a file system that others share. */
    static StorageBackend open(final DiskBackend kind, final BackendOptions options, final TransferEngine engine,
        final FileOpener opener, final Function<Path, FolderOwner> taking) {
        try (Closings open = new Closings()) {
            if (kind == DiskBackend.DISTRIBUTED) {
                DirectoryHeader.refuseOthers(options.directory(), kind);
            }
            final BackendOptions own = kind == DiskBackend.DISTRIBUTED ? options.in(ownFolder(options)) : options;
            DurableNames.of(opener).createDurably(own.directory());
            final StoreLock lock = open.keep(lock(own, kind), StoreLock::close);
            final DiskBackend files = kind == DiskBackend.DISTRIBUTED ? DiskBackend.FILE_PER_KEY : kind;
            DirectoryHeader.refuseOthers(own.directory(), files);
            final FolderOwner owner = kind == DiskBackend.DISTRIBUTED
                ? open.keep(taking.apply(own.directory()), FolderOwner::close) : null;
            final StorageBackend backend = switch (files) {
                case OFFSET_ALLOCATOR -> extents(own, lock, engine, opener);
                case BUCKET -> files(FileLayout.BUCKET, own, new Keeping(lock, null), engine, opener);
                case FILE_PER_KEY, DISTRIBUTED ->
                    files(FileLayout.FILE_PER_KEY, own, new Keeping(lock, owner), engine, opener);
            };
            open.stayOpen();
            return backend;
        } catch (final NativeException e) {
            throw new StoreException(ErrorCode.FILE_OPEN_FAIL, "cannot open or make the files in "
                + options.directory() + "; where the disk is full, free space or configure a smaller capacity", e);
        }
    }

    /**
     * The folder of one host. Nobody else reads or writes there, whatever hosts share the directory: others get values
     * through their owner. So no host sees what another one's cache has, and a file is made, synced and renamed by the
     * same mount that reads it.
     */
    private static Path ownFolder(final BackendOptions options) {
        final String host = options.host();
        return options.directory().resolve(HOSTS).resolve(FOLDER_NAME.matcher(host).matches() ? host
            : String.format("%016x", LongHashFunction.xx().hashBytes(host.getBytes(StandardCharsets.UTF_8))));
    }

    private static StoreLock lock(final BackendOptions own, final DiskBackend kind) {
        try {
            return StoreLock.take(own.directory());
        } catch (final StoreException e) {
            if (kind != DiskBackend.DISTRIBUTED || e.code() != ErrorCode.FILE_LOCK_FAIL) {
                throw e;
            }
            throw new StoreException(e.code(), e.getMessage() + "; with " + kind.configName() + " a host has one, and "
                + "two of one name (" + own.host() + ") must be told apart by --host-id or ConnectConfig's hostId", e);
        }
    }

    /**
     * Which backend has made a directory.
     *
     * @param directory which need not exist.
     * @return the backend; empty when none has.
     */
    public static Optional<DiskBackend> maker(final Path directory) {
        return Arrays.stream(DiskBackend.values()).filter(one -> DirectoryHeader.made(directory, one)).findFirst();
    }

    /** Who has a host's folder in a directory that hosts share. */
    public enum Kept {
        /** Nobody. */
        FREE,
        /** Somebody on this host, or nobody any more: the lock tells. */
        BY_THE_LOCK,
        /** Somebody elsewhere, or before this host was started or the file system mounted here. */
        ELSEWHERE
    }

    /**
     * What is said of a host's folder by the file in it.
     *
     * @param kept by whom it is kept.
     * @param told in words.
     */
    public record Keeper(Kept kept, String told) {
    }

    /**
     * Who has the folder of this host in a directory that hosts share.
     *
     * @param options settings.
     * @return what the folder says.
     * @throws StoreException FILE_OPEN_FAIL, when it says what is not understood, or cannot be read.
     */
    public static Keeper keeper(final BackendOptions options) {
        final Path folder = ownFolder(options);
        final FolderMarker marker;
        try {
            marker = Files.isDirectory(folder) ? FolderOwner.read(folder, FileOpener.POSIX) : null;
        } catch (final NativeException e) {
            throw new StoreException(ErrorCode.FILE_OPEN_FAIL, "it cannot be read who has " + folder + ": "
                + e.getMessage(), e);
        }
        if (marker == null) {
            return new Keeper(Kept.FREE, folder + " is open nowhere");
        }
        final boolean here = marker.self().isOfOneLock(FolderMarker.Self.of(options.host(), folder));
        return new Keeper(here ? Kept.BY_THE_LOCK : Kept.ELSEWHERE, folder + " was opened by host " + marker.inWords()
            + " and not given back yet");
    }

    private static StorageBackend extents(final BackendOptions options, final StoreLock lock,
        final TransferEngine engine, final FileOpener opener) {
        final ExtentMedium.Opened opened = ExtentMedium.open(options, engine, opener);
        // Extents lie within the file, or the index names none.
        return over(opened.medium(), opened.found(), opened.medium().capacityBytes(), options, lock);
    }

    private static StorageBackend files(final FileLayout layout, final BackendOptions options, final Keeping keeping,
        final TransferEngine engine, final FileOpener opener) {
        final FileMedium.Opened opened = FileMedium.open(layout, options, engine, opener);
        final Medium medium = keeping.owner() == null ? opened.medium()
            : new OwnedMedium(opened.medium(), keeping.owner());
        return over(medium, opened.found(), Long.MAX_VALUE, options, keeping);
    }

    /** What keeps a directory for one backend: a lock, and an owner where others share it, or null. */
    private record Keeping(StoreLock lock, FolderOwner owner) implements AutoCloseable {
        @Override
        public void close() {
            CloseHelper.closeAll(owner, lock);
        }
    }

    private static StorageBackend over(final Medium medium, final List<StoredValue> found, final long space,
        final BackendOptions options, final AutoCloseable lock) {
        try (Closings open = new Closings()) {
            open.keep(medium, Medium::close);
            final StoredIndex index = new StoredIndex(medium, options.eviction());
            final StorageBackend backend =
                new IndexedBackend(options, lock, medium, index, index.restore(found, space));
            open.stayOpen();
            return backend;
        }
    }
}
