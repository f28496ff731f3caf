/**
 * Block devices as such: what lies in front of the values, and what is looked at before one is given to the store.
 *
 * <p>A device is an NVMe-oF namespace that the kernel's initiator has attached, any other block device, or a file. Who
 * reads and writes values on it is {@code store.client.device}; where they lie is the master's business.
 */
package io.kvtier.store.nof;
