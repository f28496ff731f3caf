/**
 * Block devices: those of others as this process reaches them, and those that it lends.
 *
 * <p>What a device holds is the master's business; the label is that of {@code store.nof}. Thread-safe;
 * {@code kvtier-nof} looks after what is lent.
 */
package io.kvtier.store.client.device;
