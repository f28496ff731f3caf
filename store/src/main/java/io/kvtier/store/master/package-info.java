/**
 * Runs the master's state machine: {@code Running} is the machine with its clock, and what it asks for.
 *
 * <p>Embedded, the calling thread applies its own command under one lock, so that no call waits for another thread to
 * be scheduled, and tells the effects after the lock is released. For many connections a conductor applies commands,
 * its own and others', lets time pass when nobody asks anything, and serves those who wait for effects.
 */
package io.kvtier.store.master;
