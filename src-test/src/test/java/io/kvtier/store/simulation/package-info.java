/**
 * A deterministic simulation of a master and its clients: one thread, virtual time, one seed.
 *
 * <p>The master's state machine is the real one; so are the commands, the replies and the choice of a replica. Clients,
 * network, clocks, memory, disks and files for GDS replicas are simulated, as badly as they can behave. What clients
 * see is written into a history and judged there, apart from everything that the master says of itself.
 */
package io.kvtier.store.simulation;
