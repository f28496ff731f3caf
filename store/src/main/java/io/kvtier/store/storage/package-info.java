/**
 * A client's own disk: backends that keep values under (key, version) and find them again after a restart.
 *
 * <p>A backend moves bytes through the transfer engine, decides where on the disk they lie and remembers it; it knows
 * no replica and no lease of the master. {@code store/FORMAT.md} says what is on the disk. Backends are thread-safe.
 *
 * <p>{@link io.kvtier.store.storage.GdsStorageManager} is no backend: it has one file of values that the engine moves
 * straight between the disk and the memory that they are in, and goes by what the master says of each replica.
 */
package io.kvtier.store.storage;
