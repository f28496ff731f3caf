package io.kvtier.store.storage.shared;

import io.kvtier.bindings.Availability;

/**
 * A file system that several hosts mount, by the operations that shared files need. Files are only ever made and grown;
 * there is no way to cut or remove one.
 *
 * <p><b>Threading:</b> thread-safe. <b>Lifetime:</b> files are closed before it; what it leaves running it says in
 * {@link #isAbandoned()}. <b>Blocking:</b> on the file system, without a time limit: a mount whose server is gone may
 * hold a call. <b>Errors:</b> {@link io.kvtier.store.StoreException}, with FILE_OPEN_FAIL, FILE_READ_FAIL or
 * FILE_WRITE_FAIL, naming the path and what to do.
 */
public interface FileSystemAdapter extends AutoCloseable {
    /** Blocks that files are written in, bytes: what direct I/O wants. */
    long BLOCK_BYTES = 4096;

    /**
     * What a path leads to.
     *
     * @param identity equal for the same file and different for another one that took its name.
     * @param size     bytes.
     */
    record Status(Object identity, long size) {
    }

    /**
     * What came of making a file large enough.
     *
     * @param before   its size before, bytes; 0 when it was not there, too.
     * @param size     its size now, at least what was asked for.
     * @param reserved whether the file system has put by room for all of it. Where it has not, it may be full when
     *                 something is written.
     */
    record Growth(long before, long size, boolean reserved) {
    }

    /**
     * Its name in the configuration, such as {@code posix}.
     *
     * @return the name.
     */
    String name();

    /**
     * Opens a file for reading and writing.
     *
     * @param path absolute; of a file that is there.
     * @return the file, to be closed.
     */
    SharedFile open(String path);

    /**
     * Looks a path up, at the file system and not in what is open.
     *
     * @param path absolute.
     * @return what is there; null when there is nothing.
     */
    Status status(String path);

    /**
     * Makes a file when there is none, and grows it to a size when it is smaller. It is never cut, and what is in it
     * stays. Other hosts may do the same at the same time. Afterwards they see its size.
     *
     * @param path  absolute; its folder is there.
     * @param bytes the least size.
     * @return what came of it.
     */
    Growth grow(String path, long bytes);

    /**
     * How much more may be written.
     *
     * @param folder absolute; one that is there.
     * @return bytes, for this user.
     */
    long freeBytes(String folder);

    /**
     * Whether files in a folder are read and written past this host's cache. Found out by trying, with a file of its
     * own, which is removed.
     *
     * @param folder absolute; one that is there and can be written to.
     * @return with reason and remedy.
     * @throws io.kvtier.store.StoreException FILE_WRITE_FAIL, when it cannot be tried because the file system is full.
     */
    Availability pastTheCache(String folder);

    /**
     * Whether a file is read past this host's cache. Found out by reading its first block; nothing is written.
     *
     * @param path absolute; of a file that is there and has a block.
     * @return with reason and remedy.
     */
    Availability readsPastTheCache(String path);

    /**
     * Most descriptors that one open file takes from the process's limit.
     *
     * @return 1 or more.
     */
    int descriptorsPerFile();

    /**
     * Whether closing has left transfers running that may still use their memory, which must then stay mapped.
     *
     * @return true after such a close.
     */
    boolean isAbandoned();

    /** Gives back what it has. A second call does nothing. */
    @Override
    void close();
}
