package io.kvtier.store.storage;

import io.kvtier.store.ObjectKey;

/**
 * A value on the disk. Immutable.
 *
 * @param key       its name.
 * @param version   distinguishes it from earlier and later values of that name.
 * @param offset    first byte in the extent space; its address in the directory where there are many files.
 * @param size      bytes of the value.
 * @param checksum  XXH64 of the value.
 */
public record StoredValue(ObjectKey key, long version, long offset, long size, long checksum) {
}
