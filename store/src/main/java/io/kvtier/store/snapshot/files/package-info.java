/**
 * Snapshots as files, as {@code store/FORMAT.md} has them: written in order, found again, and refused when they are not
 * whole. What is in them is {@code io.kvtier.store.snapshot}.
 */
package io.kvtier.store.snapshot.files;
