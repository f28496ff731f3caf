/**
 * Files that all clients mount: what a file system has to give, its implementations
 * ({@link io.kvtier.store.storage.shared.FileSystemAdapter}), and what is made of it.
 *
 * <p>Two hosts see the same file through two caches. So whatever is written goes past the cache, whole blocks at a
 * time, and counts only when it was synced; whatever is read goes past the cache too. No file is ever cut, truncated
 * or removed here: another host may be using it.
 *
 * <p>Nothing here knows the master; who allocates room in the files says where to read and write.
 */
package io.kvtier.store.storage.shared;
