/**
 * Runs the master's state machine.
 *
 * <p>Embedded, the calling thread applies its own command under one lock, so that no call waits for another thread to
 * be scheduled. Time comes in here; what to do about effects goes out here, after the lock is released.
 */
package io.kvtier.store.master;
