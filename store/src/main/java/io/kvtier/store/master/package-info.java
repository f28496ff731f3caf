/**
 * Runs the master's state machine: {@code Running} is the machine with its clock, and what it asks for.
 *
 * <p>Embedded, the calling thread applies its own command under one lock, so that no call waits for another thread to
 * be scheduled, and tells the effects after the lock is released. For many connections whoever brings a command applies
 * it and others', and serves those who wait for effects; a thread lets time pass when nobody asks anything.
 */
package io.kvtier.store.master;
