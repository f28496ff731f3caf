/**
 * A client's own disk: backends that keep values under (key, version) and find them again after a restart.
 *
 * <p>A backend moves bytes through the transfer engine, decides where on the disk they lie and remembers it; it knows
 * no replica and no lease of the master. {@code store/FORMAT.md} says what is on the disk. Backends are thread-safe.
 */
package io.kvtier.store.storage;
